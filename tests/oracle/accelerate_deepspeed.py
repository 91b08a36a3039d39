"""Asks accelerate and DeepSpeed themselves about the configs in `accelerate_deepspeed.toml`, and notes their answers.

The answers are data: `tests/checks/test_configs_oracle.py` compares them with what trl-lint says and needs neither
library. Run this again only to add configs or to move to other releases:

    python -m venv oracle && . oracle/bin/activate
    pip install torch==2.13.0+cpu --index-url https://download.pytorch.org/whl/cpu
    pip install accelerate==1.15.0 transformers==5.23.0 tomli setuptools wheel
    DS_BUILD_OPS=0 pip install --no-build-isolation deepspeed==0.19.8
    python tests/oracle/accelerate_deepspeed.py

Nothing is launched and no GPU is needed. What is real and what stands in for a run:

* accelerate: the parser of `accelerate launch`, `_validate_launch_command`, and the function that prepares the
  environment of the processes; then, with that environment set, the plugin that each process builds
  (`FullyShardedDataParallelPlugin`, `DeepSpeedPlugin`, `ParallelismConfig` with its check of the accelerator).
  Stand-ins: a CUDA device 0 is claimed to exist (the FSDP plugin asks for one), and the accelerator that
  `ParallelismConfig` checks is a namespace with the number of processes.
* DeepSpeed: `DeepSpeedConfig`, the whole class, as `deepspeed.initialize` calls it. It is asked with 1, 2, 4, 8 and 16
  processes, and accepts a config if it does so for one of them.
* `reader = "transformers"`: `HfTrainerDeepSpeedConfig` fills the "auto" values from TrainingArguments before that.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DATA = HERE / "accelerate_deepspeed.toml"
SIZES = (1, 2, 4, 8, 16)


def main() -> None:
    import tomli

    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    data = tomli.loads(DATA.read_text("utf-8"))
    for config in data["config"]:
        before = dict(os.environ)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "config." + config["suffix"])
            path.write_text(config["text"], "utf-8")
            for name, text in config.get("files", {}).items():
                Path(folder, name).write_text(text, "utf-8")
            os.chdir(folder)
            try:
                ask = {"accelerate": ask_accelerate, "deepspeed": ask_deepspeed, "transformers": ask_transformers}
                ask[config["reader"]](path)
                config["verdict"], config["said"] = "accepts", ""
            except Exception as error:
                config["verdict"] = "refuses"
                config["said"] = f"{type(error).__name__}: {error}".replace(str(path), path.name)
            finally:
                os.chdir(HERE)
                os.environ.clear()
                os.environ.update(before)
    DATA.write_text(rendered(data, DATA.read_text("utf-8")), "utf-8")
    print(f"{len(data['config'])} configs, {sum(c['verdict'] == 'refuses' for c in data['config'])} refused")


# -- accelerate -------------------------------------------------------------------------------------------------------


def ask_accelerate(path: Path) -> None:
    import torch
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils import dataclasses, launch

    dataclasses.is_cuda_available = lambda: True
    torch.cuda.current_device = lambda: 0
    args = launch_command_parser().parse_args(["--config_file", str(path), "train.py"])
    args, defaults, precision_from_file = _validate_launch_command(args)
    # As accelerate.commands.launch.launch_command goes on.
    if args.use_deepspeed and not args.cpu:
        fields = list(defaults.deepspeed_config)
        if precision_from_file:
            fields.append("mixed_precision")
        args.deepspeed_fields_from_accelerate_config = ",".join(fields)
        _, environment = launch.prepare_deepspeed_cmd_env(args)
    elif args.use_fsdp or args.use_megatron_lm or args.multi_gpu:
        environment = launch.prepare_multi_gpu_env(args)
    elif args.tpu:
        _, environment = launch.prepare_tpu(args, dict(os.environ))
    else:
        _, environment = launch.prepare_simple_launcher_cmd_env(args)
    os.environ.update(environment)
    _in_a_process(args)


def _in_a_process(args: Any) -> None:
    """What `Accelerator()` and its state build from the environment."""
    from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin

    is_fsdp2 = False
    if args.use_fsdp:
        is_fsdp2 = getattr(FullyShardedDataParallelPlugin(), "fsdp_version", 1) == 2
    if args.use_deepspeed:
        plugin = DeepSpeedPlugin()
        plugin.set_mixed_precision(os.environ["ACCELERATE_MIXED_PRECISION"])
        config = dict(plugin.deepspeed_config)
        # Accelerator._prepare_deepspeed fills these from the data loader.
        for key in ("gradient_accumulation_steps", "train_micro_batch_size_per_gpu"):
            if config.get(key, "auto") == "auto":
                config[key] = 1
        if config.get("train_batch_size") == "auto":
            del config["train_batch_size"]
        if config.get("gradient_clipping") == "auto":
            config["gradient_clipping"] = 1.0
        _validate_deepspeed(config)
    if os.environ.get("ACCELERATE_USE_PARALLELISM_CONFIG", "false") == "true":
        from accelerate.parallelism_config import ParallelismConfig
        from accelerate.utils import DistributedType

        kind = "FSDP" if args.use_fsdp else "DEEPSPEED" if args.use_deepspeed else "MULTI_GPU"
        accelerator = types.SimpleNamespace(
            num_processes=int(args.num_processes),
            multi_device=kind == "MULTI_GPU" and int(args.num_processes) > 1,
            is_fsdp2=is_fsdp2,
            distributed_type=DistributedType(kind),
            is_main_process=True,
        )
        ParallelismConfig()._validate_accelerator(accelerator)


# -- DeepSpeed --------------------------------------------------------------------------------------------------------


def ask_deepspeed(path: Path) -> None:
    _validate_deepspeed(str(path))


def ask_transformers(path: Path) -> None:
    from transformers import TrainingArguments
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    config = HfTrainerDeepSpeedConfig(str(path))
    args = TrainingArguments(output_dir="out", bf16=True, use_cpu=True, report_to="none", max_grad_norm=1.0)
    config.trainer_config_process(args)
    if config.config.get("train_batch_size") == args.train_batch_size * args.gradient_accumulation_steps:
        del config.config["train_batch_size"]  # filled in for one process, asked for several
    _validate_deepspeed(config.config)


def _validate_deepspeed(config: Any) -> None:
    import deepspeed.comm
    from deepspeed.runtime.config import DeepSpeedConfig

    deepspeed.comm.get_rank = lambda *_: 0
    errors: list[Exception] = []
    for size in SIZES:
        deepspeed.comm.get_world_size = lambda *_, size=size: size
        try:
            DeepSpeedConfig(json.loads(json.dumps(config)) if isinstance(config, dict) else config)
            return
        except Exception as error:
            errors.append(error)
    raise errors[0]


# -- the file ---------------------------------------------------------------------------------------------------------


def rendered(data: dict[str, Any], old: str) -> str:
    """The data as it stands in the file: the comment at its head, then one table for each config."""
    import importlib.metadata

    head = old[: old.index("\n[releases]")] if "\n[releases]" in old else old[: old.index("\n[[config]]")]
    lines = [head, "[releases]"]
    lines += [f'{name} = "{importlib.metadata.version(name)}"' for name in ("accelerate", "deepspeed", "transformers")]
    for config in data["config"]:
        lines += ["", "[[config]]", f'name = "{config["name"]}"', f'reader = "{config["reader"]}"']
        lines += [f'suffix = "{config["suffix"]}"', f"expect = {json.dumps(config['expect'])}"]
        said = json.dumps(_short(config["said"]), ensure_ascii=False)
        lines += [f'verdict = "{config["verdict"]}"', f"said = {said}"]
        lines += ["text = '''", config["text"].rstrip("\n"), "'''"]
        for name, text in config.get("files", {}).items():
            lines += [f"files.{json.dumps(name)} = '''", text.rstrip("\n"), "'''"]
    return "\n".join(lines) + "\n"


def _short(message: str) -> str:
    """Long enough to recognise the message."""
    text = " ".join(message.split())
    return text if len(text) <= 200 else text[:200] + " …"


if __name__ == "__main__":
    sys.exit(main())
