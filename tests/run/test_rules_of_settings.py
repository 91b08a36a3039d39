"""Each rule about a setting with each framework that has it: bad and fine values, in the notations people use.

The cells are made of one table. What is fine lies beside the border of what is bad, or is what switches it off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

Options = Mapping[str, object]

AXOLOTL = """\
base_model: Qwen/Qwen2.5-7B
micro_batch_size: 1
sequence_len: 2048
num_epochs: 1
datasets:
  - path: a/b
    type: chat_template
output_dir: out
rl: grpo
"""
LLAMAFACTORY = """\
model_name_or_path: Qwen/Qwen2.5-7B
stage: dpo
do_train: true
template: qwen
cutoff_len: 2048
dataset: dpo_en_demo
output_dir: out
"""
VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=a.parquet data.val_files=b.parquet "
    "data.train_batch_size=256 data.filter_overlong_prompts=true actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
    "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.actor.ppo_mini_batch_size=64 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4 trainer.nnodes=1"
)
OPENRLHF = (
    "python3 -m openrlhf.cli.train_ppo_ray --prompt_data a/b --actor_num_gpus_per_node 2 --ref_num_gpus_per_node 2 "
    "--reward_num_gpus_per_node 1 --critic_num_gpus_per_node 1 --reward_pretrain c/d --pretrain Qwen/Qwen2.5-7B"
)
SCRIPT = """\
from trl import GRPOConfig, GRPOTrainer
{imports}

def reward(completions, **kwargs):
    return [1.0 for _ in completions]


args = GRPOConfig(output_dir="out", {arguments})
trainer = GRPOTrainer(model="Qwen/Qwen2.5-7B", args=args, reward_funcs=reward, train_dataset=data)
trainer.train()
"""


class Framework(NamedTuple):
    """A command that works as it is, its config, the pin, and the notations in which options are added to them."""

    command: str
    pin: str
    notations: tuple[str, ...]
    config: str = ""


FLAGS = ("flag", "equals", "dashes")
FRAMEWORKS = {
    "trl": Framework(
        "trl grpo --model_name_or_path Qwen/Qwen2.5-7B --dataset_name a/b --output_dir out "
        "--reward_funcs accuracy_reward", "trl==1.16.0", (*FLAGS, "recipe"),
    ),
    "trl sft": Framework(
        "trl sft --model_name_or_path Qwen/Qwen2.5-7B --dataset_name a/b --output_dir out", "trl==1.16.0",
        (*FLAGS, "recipe"),
    ),
    "script": Framework("accelerate launch --num_processes 4 train.py", "trl==1.16.0", ("constructor", "dict")),
    "swift": Framework(
        "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B --dataset a/b --reward_funcs accuracy", "ms-swift==3.9.0",
        FLAGS,
    ),
    "swift 4": Framework(
        "swift rlhf", "ms-swift==4.6.0", ("first file", *FLAGS),
        "rlhf_type: grpo\nmodel: Qwen/Qwen2.5-7B\ndataset: a/b\nreward_funcs: accuracy\n",
    ),
    "llamafactory": Framework(
        "llamafactory-cli train cfg.yaml", "llamafactory==0.9.3", ("file", "words"), LLAMAFACTORY
    ),
    "axolotl": Framework("axolotl train cfg.yaml", "axolotl==0.12.2", ("file", "dashes"), AXOLOTL),
    "axolotl by accelerate": Framework(
        "accelerate launch --num_processes 1 -m axolotl.cli.train cfg.yaml", "axolotl==0.12.2", ("file",), AXOLOTL
    ),
    "axolotl 0.21": Framework("axolotl train cfg.yaml", "axolotl==0.21.0", ("file", "dashes"), AXOLOTL),
    "axolotl and trl": Framework("axolotl train cfg.yaml", "axolotl==0.12.2\ntrl==0.21.0", ("file",), AXOLOTL),
    "axolotl by its launcher": Framework("axolotl train cfg.yaml", "axolotl==0.21.0", ("dashes",), AXOLOTL),
    "axolotl by torchrun": Framework(
        "axolotl train cfg.yaml --launcher torchrun --", "axolotl==0.21.0", ("flag", "dashes"), AXOLOTL
    ),
    "axolotl server": Framework("axolotl vllm-serve cfg.yaml", "axolotl==0.12.2", ("file",), AXOLOTL),
    "verl": Framework(VERL, "verl==0.6.1", ("words", "quoted")),
    "openrlhf": Framework(OPENRLHF, "openrlhf==0.8.5", ("flag", "equals")),
    "openrlhf 0.9.6": Framework(OPENRLHF, "openrlhf==0.9.6", ("flag", "equals")),
    "openrlhf sft": Framework(
        "deepspeed --module openrlhf.cli.train_sft --pretrain Qwen/Qwen2.5-7B --dataset a/b --bf16", "openrlhf==0.8.5",
        ("flag",),
    ),
}  # fmt: skip

R = "actor_rollout_ref.rollout"
VLLM = {"use_vllm": True, "vllm_mode": "colocate"}
SERVED = {"trl.use_vllm": True}
COLOCATED = {"trl.use_vllm": True, "trl.vllm_mode": "colocate"}
GROUPS = {"num_generations": 8, "per_device_train_batch_size": 1, "gradient_accumulation_steps": 1}


class Row(NamedTuple):
    """A rule and a framework: options that are bad, and options that are fine. `level`: of the finding."""

    code: str
    framework: str
    bad: tuple[Options, ...]
    fine: tuple[Options, ...]
    level: str = "error"
    before: str = ""  # what stands before the command


def clipping(framework: str, name: str) -> Row:
    return Row("TRL601", framework, ({name: 0}, {name: 0.0}), ({name: 1.0}, {name: 0.1}, {}), "warning")


ROWS = (
    *(clipping(name, "max_grad_norm") for name in ("trl", "script", "swift", "swift 4", "llamafactory", "axolotl")),
    clipping("openrlhf", "max_norm"),
    Row("TRL601", "verl", ({"actor_rollout_ref.actor.grad_clip": 0},), ({"actor_rollout_ref.actor.grad_clip": 1.0},
        {"actor_rollout_ref.actor.grad_clip": 0.5}), "warning"),
    *(Row("TRL602", name, ({"fp16": True, "bf16": False},), ({"bf16": True}, {"fp16": False}, {}), "info")
      for name in ("trl", "script", "swift", "axolotl")),
    *(Row("TRL602", name, ({"fp16": True, "bf16": True},), ({"bf16": True, "fp16": False}, {"bf16": True}), level)
      for name, level in (("trl", "error"), ("trl sft", "error"), ("script", "error"), ("swift", "error"),
                          ("swift 4", "error"), ("llamafactory", "error"), ("axolotl", "info"))),
    Row("TRL602", "swift", ({"torch_dtype": "float16"},), ({"torch_dtype": "bfloat16"}, {"torch_dtype": "float16",
        "bf16": True}, {"torch_dtype": "float32"}), "info"),
    Row("TRL602", "openrlhf 0.9.6", ({"param_dtype": "fp16"},), ({"param_dtype": "bf16"}, {}), "info"),
    Row("TRL602", "verl", ({"actor_rollout_ref.actor.fsdp_config.dtype": "float16"},),
        ({"actor_rollout_ref.actor.fsdp_config.dtype": "bfloat16"}, {f"{R}.dtype": "bfloat16"}), "info"),
    Row("TRL701", "trl", ({**GROUPS, "num_processes": 4}, {**GROUPS, "num_generations": 3, "num_processes": 4}),
        ({**GROUPS, "per_device_train_batch_size": 8, "num_processes": 2},
        {**GROUPS, "num_generations": 4, "per_device_train_batch_size": 4,
        "num_processes": 1})),
    Row("TRL701", "script", (GROUPS, {**GROUPS, "num_generations": 3}), ({**GROUPS, "num_generations": 4},
        {**GROUPS, "gradient_accumulation_steps": 2}, {**GROUPS, "per_device_train_batch_size": 2})),
    Row("TRL701", "swift", (GROUPS, {**GROUPS, "num_generations": 6}), ({**GROUPS, "num_generations": 4},
        {**GROUPS, "per_device_train_batch_size": 2}, {**GROUPS, "gradient_accumulation_steps": 2}),
        before="NPROC_PER_NODE=4 "),
    Row("TRL701", "axolotl by accelerate", ({"trl.num_generations": 8, "gradient_accumulation_steps": 4},
        {"gradient_accumulation_steps": 4}, {"trl.num_generations": 3, "gradient_accumulation_steps": 4}),
        ({"trl.num_generations": 4, "gradient_accumulation_steps": 4}, {"trl.num_generations": 2,
        "gradient_accumulation_steps": 2}, {"gradient_accumulation_steps": 8}, {"trl.num_generations": 8,
        "gradient_accumulation_steps": 4, "batch_size": 64}), "warning"),
    Row("TRL701", "axolotl", (), ({"trl.num_generations": 8, "gradient_accumulation_steps": 4},)),
    Row("TRL701", "verl", ({f"{R}.n": 1}, {}), ({f"{R}.n": 2}, {f"{R}.n": 8}), "warning"),
    Row("TRL701", "openrlhf", ({"n_samples_per_prompt": 1, "advantage_estimator": "group_norm"},
        {"advantage_estimator": "rloo"}), ({"n_samples_per_prompt": 2, "advantage_estimator": "group_norm"},
        {"n_samples_per_prompt": 1}, {"advantage_estimator": "reinforce"})),
    Row("TRL807", "trl", ({**VLLM, "vllm_tensor_parallel_size": 3, "num_processes": 3}, {**VLLM,
        "vllm_tensor_parallel_size": 8, "num_processes": 8}), ({**VLLM, "vllm_tensor_parallel_size": 4,
        "num_processes": 4}, {"use_vllm": True, "vllm_mode": "server", "vllm_tensor_parallel_size": 3},
        {"vllm_tensor_parallel_size": 3})),
    Row("TRL807", "script", ({**VLLM, "vllm_tensor_parallel_size": 8},), ({**VLLM, "vllm_tensor_parallel_size": 4},
        {**VLLM, "vllm_tensor_parallel_size": 2}, {"vllm_tensor_parallel_size": 8})),
    *(Row("TRL807", name, ({**VLLM, "vllm_tensor_parallel_size": 3}, {**VLLM, "vllm_tensor_parallel_size": 8}),
          ({**VLLM, "vllm_tensor_parallel_size": 4}, {**VLLM, "vllm_tensor_parallel_size": 14},
           {**VLLM, "vllm_tensor_parallel_size": 3, "vllm_server_host": "10.0.0.1"}, {"vllm_tensor_parallel_size": 3}))
      for name in ("swift", "swift 4")),
    Row("TRL807", "axolotl", ({**COLOCATED, "vllm.tensor_parallel_size": 3},), ({**COLOCATED,
        "vllm.tensor_parallel_size": 2}, {"vllm.tensor_parallel_size": 3}, COLOCATED)),
    Row("TRL807", "axolotl", ({**SERVED, "vllm.tensor_parallel_size": 3},), ({**SERVED,
        "vllm.tensor_parallel_size": 7}, SERVED), "warning"),
    Row("TRL807", "axolotl server", ({"vllm.tensor_parallel_size": 3}, {**SERVED, "vllm.tensor_parallel_size": 8}),
        ({"vllm.tensor_parallel_size": 4}, SERVED)),
    Row("TRL807", "verl", ({f"{R}.tensor_model_parallel_size": 3, "trainer.n_gpus_per_node": 6},
        {f"{R}.tensor_model_parallel_size": 8}), ({f"{R}.tensor_model_parallel_size": 4},
        {f"{R}.tensor_model_parallel_size": 1}, {f"{R}.tensor_model_parallel_size": 8,
        "+actor_rollout_ref.model.override_config.num_attention_heads": 32})),
    Row("TRL807", "openrlhf", ({"vllm_num_engines": 1, "vllm_tensor_parallel_size": 3}, {"vllm_num_engines": 2,
        "vllm_tensor_parallel_size": 8}), ({"vllm_num_engines": 1, "vllm_tensor_parallel_size": 4},
        {"vllm_tensor_parallel_size": 3}, {"vllm_num_engines": 0, "vllm_tensor_parallel_size": 3})),
    *(Row("TRL803", name, ({**VLLM, "vllm_tensor_parallel_size": 4},), ({**VLLM, "vllm_tensor_parallel_size": 2},
          {**VLLM, "vllm_tensor_parallel_size": 1}, {"vllm_tensor_parallel_size": 4}), before="NPROC_PER_NODE=6 ")
      for name in ("swift", "swift 4")),
    Row("TRL803", "trl", ({**VLLM, "vllm_tensor_parallel_size": 4, "num_processes": 6},), ({**VLLM,
        "vllm_tensor_parallel_size": 2, "num_processes": 6}, {**VLLM, "vllm_tensor_parallel_size": 4,
        "num_processes": 8})),
    Row("TRL809", "trl", ({**VLLM, "vllm_max_model_length": 200000},), ({**VLLM, "vllm_max_model_length": 131072},
        {"use_vllm": True, "vllm_mode": "server", "vllm_max_model_length": 200000}, {**VLLM,
        "max_completion_length": 200000})),
    Row("TRL809", "script", ({**VLLM, "vllm_max_model_length": 131073},), ({**VLLM, "vllm_max_model_length": 4096},
        {"vllm_max_model_length": 200000})),
    *(Row("TRL809", name, ({**VLLM, "vllm_max_model_len": 200000}, {**VLLM, "vllm_max_model_len": 131073}),
          ({**VLLM, "vllm_max_model_len": 131072}, {"vllm_max_model_len": 200000}, {**VLLM,
           "vllm_max_model_len": 200000, "rope_scaling": "yarn"}))
      for name in ("swift", "swift 4")),
    Row("TRL809", "axolotl server", ({"vllm.max_model_len": 200000},), ({"vllm.max_model_len": 32768}, {})),
    Row("TRL809", "axolotl", ({**SERVED, "vllm.max_model_len": 200000},), ({**COLOCATED, "vllm.max_model_len": 200000},
        {"vllm.max_model_len": 200000}), "warning"),
    Row("TRL809", "verl", ({"data.max_prompt_length": 1024, "data.max_response_length": 200000},),
        ({"data.max_prompt_length": 1024, "data.max_response_length": 7168}, {"data.max_response_length": 4096})),
    Row("TRL809", "openrlhf", ({"vllm_num_engines": 1, "generate_max_len": 200000}, {"vllm_num_engines": 1,
        "prompt_max_len": 131072}, {"vllm_num_engines": 1, "max_len": 140000}), ({"vllm_num_engines": 1,
        "generate_max_len": 130048}, {"generate_max_len": 200000}, {"vllm_num_engines": 1,
        "generate_max_len": 200000, "max_len": 4096})),
    Row("TRL801", "trl", ({"use_vllm": True, "vllm_server_host": "10.0.0.1"}, {"use_vllm": True,
        "vllm_server_port": 8001}), ({"use_vllm": True, "vllm_mode": "server", "vllm_server_host": "10.0.0.1"},
        {"use_vllm": True}, {}), "warning"),
    Row("TRL801", "axolotl 0.21", ({**SERVED, "trl.vllm_server_host": "10.0.0.1"}, {**SERVED,
        "trl.vllm_server_port": 8001}), ({**SERVED, "trl.vllm_mode": "server", "trl.vllm_server_host": "10.0.0.1"},
        {**COLOCATED, "trl.vllm_server_host": "10.0.0.1"}, SERVED, {"trl.vllm_server_host": "10.0.0.1"}, {}), "info"),
    Row("TRL801", "axolotl and trl", (), ({**SERVED, "trl.vllm_server_host": "10.0.0.1"}, SERVED)),  # a server then
    Row("TRL801", "axolotl", (), ({**SERVED, "trl.vllm_server_host": "10.0.0.1"},)),  # with a trl that nobody knows
    Row("TRL802", "trl", ({"vllm_mode": "colocate"}, {"vllm_server_host": "10.0.0.1"}, {"use_vllm": True,
        "vllm_mode": "server", "vllm_tensor_parallel_size": 2}), ({"use_vllm": True, "vllm_mode": "colocate",
        "vllm_tensor_parallel_size": 2}, {"use_vllm": False, "vllm_mode": "colocate"}, {}), "warning"),
    Row("TRL802", "axolotl and trl", ({"trl.vllm_mode": "server"}, {"trl.vllm_server_port": 8001}, {**COLOCATED,
        "trl.vllm_server_host": "10.0.0.1"}), ({**SERVED, "trl.vllm_mode": "server", "trl.vllm_server_port": 8001},
        {"trl.use_vllm": False, "trl.vllm_mode": "server"}, {}), "warning"),
    Row("TRL802", "swift", ({"vllm_mode": "colocate"}, {"vllm_tensor_parallel_size": 2}, {"vllm_max_model_len": 8192}),
        ({"use_vllm": True, "vllm_mode": "colocate", "vllm_tensor_parallel_size": 2}, {"use_vllm": False,
        "vllm_mode": "colocate"}, {}), "warning"),
    Row("TRL802", "swift 4", ({"vllm_tensor_parallel_size": 2},), ({"use_vllm": True, "vllm_mode": "colocate",
        "vllm_tensor_parallel_size": 2}, {"vllm_mode": "colocate"}, {}), "warning"),  # the last is refused
    *(Row("TRL503", name, ({key: 4}, {key: 3}), ({key: 2}, {key: 1}, {}), before="CUDA_VISIBLE_DEVICES=0,1 ")
      for name, key in (("trl", "num_processes"), ("axolotl by its launcher", "num_processes"),
                        ("axolotl by torchrun", "nproc_per_node"))),
    Row("TRL503", "axolotl by its launcher", ({"num_processes": 4},), ({"num_processes": 2},),
        before="export CUDA_VISIBLE_DEVICES=0,1\n"),
    Row("TRL503", "axolotl by its launcher", (), ({"num_processes": 4},)),
    Row("TRL704", "trl sft", ({"load_in_4bit": True}, {"load_in_8bit": True}), ({"load_in_4bit": True,
        "use_peft": True}, {"use_peft": True}, {"load_in_4bit": False}, {})),
    Row("TRL704", "trl", ({"load_in_4bit": True},), ({"load_in_4bit": True, "use_peft": True}, {})),
    *(Row("TRL704", name, ({"quant_method": "bnb", "quant_bits": 4, adapter: "full"}, {"quant_method": "bnb",
          "quant_bits": 8, adapter: "full"}), ({"quant_method": "bnb", "quant_bits": 4, adapter: "lora"},
          {"quant_method": "bnb", "quant_bits": 4}, {"quant_bits": 4, adapter: "full"}, {adapter: "full"}))
      for name, adapter in (("swift", "train_type"), ("swift 4", "tuner_type"))),
    *(Row("TRL704", name, ({"load_in_4bit": True}, {"load_in_4bit": True, "lora_rank": 0}), ({"load_in_4bit": True,
          "lora_rank": 8}, {"lora_rank": 8}, {})) for name in ("openrlhf", "openrlhf sft")),
)  # fmt: skip


def written(options: Options, notation: str) -> str:
    """Options as words of a command, as lines of a file, or as keywords."""
    if notation in ("constructor", "dict"):
        return ", ".join(f"{name}={value!r}" for name, value in options.items())
    if notation in ("file", "recipe", "first file"):
        return _lines(options)
    words = []
    for name, value in options.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if notation in ("words", "quoted"):
            words.append(f"'{name}={text}'" if notation == "quoted" else f"{name}={text}")
        else:
            flag = name.replace("_", "-") if notation == "dashes" else name
            words.append(f"--{flag}={text}" if notation == "equals" else f"--{flag} {text}")
    return " ".join(words)


def _lines(options: Options) -> str:
    """A document; `a.b` is a block."""
    blocks: dict[str, list[str]] = {}
    for name, value in options.items():
        above, _, key = name.rpartition(".")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        blocks.setdefault(above, []).append(f"{'  ' if above else ''}{key}: {text}\n")
    return "".join((f"{above}:\n" if above else "") + "".join(lines) for above, lines in blocks.items())


def laid_out(folder: Path, row: Row, options: Options, notation: str) -> Path:
    known = FRAMEWORKS[row.framework]
    (folder / ".git").mkdir()
    for name in ("a.parquet", "b.parquet"):
        (folder / name).write_text("x")
    (folder / "requirements.txt").write_text(f"{known.pin}\n")
    command, config = row.before + known.command, known.config
    more = written(options, notation)
    if row.framework.startswith("openrlhf"):  # switches of argparse take no value
        for name in ("load_in_4bit",):
            more = more.replace(f"--{name} true", f"--{name}").replace(f"--{name}=true", f"--{name}")
    if notation in ("file", "first file"):
        config += more
    elif notation == "recipe":
        config, command = more or "{}\n", f"{command} --config cfg.yaml"
    elif notation == "constructor":
        (folder / "train.py").write_text(SCRIPT.format(imports="", arguments=more))
    elif notation == "dict":
        (folder / "common.py").write_text(f"ARGUMENTS = dict({more})\n")
        script = SCRIPT.format(imports="from common import ARGUMENTS\n", arguments="**ARGUMENTS")
        (folder / "train.py").write_text(script)
    else:
        command += f" {more}"
    if known.config and "cfg.yaml" not in command:
        command = command.replace("swift rlhf", "swift rlhf cfg.yaml")
    (folder / "run.sh").write_text(command + "\n")
    if config:
        (folder / "cfg.yaml").write_text(config)
    return folder


def cells(kind: str) -> list[object]:
    return list(_cells(kind))


def _cells(kind: str) -> Iterator[object]:
    for number, row in enumerate(ROWS):
        for notation in FRAMEWORKS[row.framework].notations:
            for options in row.bad if kind == "bad" else row.fine:
                said = " ".join(f"{name}={value}" for name, value in options.items()) or "nothing"
                yield pytest.param(row, options, notation, id=f"{number} {row.code} {row.framework} {notation} {said}")


def told(folder: Path, code: str) -> list[tuple[str, str]]:
    found = check([str(folder)], Settings()).findings
    return [(one.severity, one.message) for one in found if one.code == code]


@pytest.mark.parametrize(("row", "options", "notation"), cells("bad"))
def test_what_is_bad_is_told(tmp_path: Path, row: Row, options: Options, notation: str):
    found = told(laid_out(tmp_path, row, options, notation), row.code)
    assert [level for level, _ in found] == [row.level], found


@pytest.mark.parametrize(("row", "options", "notation"), cells("fine"))
def test_what_is_fine_is_not_told(tmp_path: Path, row: Row, options: Options, notation: str):
    assert told(laid_out(tmp_path, row, options, notation), row.code) == []


# -- where the command stands ----------------------------------------------------------------------------------------


def _in_slurm(command: str) -> tuple[str, str]:
    return "job.slurm", f"#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=8\n\n{command}\n"


def _in_compose(command: str) -> tuple[str, str]:
    words = command.split(" ")
    count = next(index for index, word in enumerate(words) if "=" not in word)
    said = "".join(f"      - {word}\n" for word in words[:count])
    variables = f"    environment:\n{said}" if said else ""
    rest = json.dumps(" ".join(words[count:]))
    return (
        "compose.yaml",
        f"services:\n  train:\n    image: x/y\n    volumes: ['.:/w']\n    working_dir: /w\n{variables}"
        f"    command: {rest}\n",
    )


def _in_workflow(command: str) -> tuple[str, str]:
    step = f"      - run: |\n          {command}\n"
    head = "on: push\njobs:\n  train:\n    runs-on: gpu\n    steps:\n      - uses: actions/checkout@v4\n"
    return ".github/workflows/train.yml", head + step


def _exported(command: str) -> tuple[str, str]:
    words = command.split(" ")
    count = next(index for index, word in enumerate(words) if "=" not in word)
    lines = [f"export {word}\n" for word in words[:count]]
    return "run.sh", "".join(lines) + " ".join(words[count:]) + "\n"


PLACES: tuple[Callable[[str], tuple[str, str]], ...] = (
    _in_slurm, _in_compose, _in_workflow, _exported,
    lambda command: ("Makefile", f"train:\n\t{command}\n"),
    lambda command: ("run.sh", f"nohup env {command} > log.txt 2>&1 &\n"),
    lambda command: ("run.sh", f"if [ -d out ]; then\n  ({command}) 2>&1 | tee log.txt\nfi\n"),
)  # fmt: skip
ONE_LINE = [row for row in ROWS if "\n" not in row.before + FRAMEWORKS[row.framework].command]


@pytest.mark.parametrize(("number", "row"), list(enumerate(ONE_LINE)))
def test_it_is_told_wherever_the_command_stands(tmp_path: Path, number: int, row: Row):
    """Each row in one of the places; those of a rule and those of a framework go through all of them."""
    place, notation = PLACES[number % len(PLACES)], FRAMEWORKS[row.framework].notations[0]
    for kind, options in (("bad", row.bad[:1]), ("fine", row.fine[:1])):
        for chosen in options:
            (tmp_path / kind).mkdir()
            folder = laid_out(tmp_path / kind, row, chosen, notation)
            name, text = place((folder / "run.sh").read_text().strip())
            (folder / "run.sh").unlink()
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
            assert bool(told(folder, row.code)) is (kind == "bad"), (name, chosen)
