"""Asks transformers and TRL themselves about the arguments in `training_arguments.toml`, and notes their answers.

The answers are data (`training_arguments.json`): `tests/checks/test_trainer_contradictions.py` compares them with what
trl-lint says and needs neither library. Run this again only to add arguments or to move to other releases:

    pip install torch==2.15.0 --index-url https://download.pytorch.org/whl/cpu
    pip install trl==1.16.0 transformers==5.23.0 accelerate==1.15.0    # once, and once more with
    pip install trl==0.24.0 transformers==4.57.6 accelerate==1.11.0
    python tests/oracle/training_arguments.py

Nothing is trained and no GPU is needed. The real classes are built: the config from its values, then the trainer with a
model of one layer and a tokenizer of some words. What stands in for a run:

* `use_cpu`, so that bf16 passes without a GPU.
* liger-kernel is claimed to be installed, so that what comes after that question is heard.
* `backend`: the accelerator's state says DeepSpeed or FSDP without either being there, for what the trainer asks
  about it.
* `ignored`: the field is left out, and neither the learning rates of twelve steps nor whether the trainer would
  evaluate must change; then the answer is "ignores".
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CONFIGS = HERE / "training_arguments.toml"
ANSWERS = HERE / "training_arguments.json"
WORDS = ["<pad>", "<eos>", "<unk>", "what", "is", "this", "a", "test", "yes", "no"]


def main() -> None:
    import tomli

    era = " ".join(f"{name}=={importlib.metadata.version(name)}" for name in ("trl", "transformers"))
    answers = json.loads(ANSWERS.read_text("utf-8")) if ANSWERS.exists() else {}
    answers[era] = {}
    for config in tomli.loads(CONFIGS.read_text("utf-8"))["config"]:
        verdict, said = ask(config)
        answers[era][config["name"]] = {"verdict": verdict, "said": _short(said)}
        print(f"{verdict:8} {config['name']}: {_short(said)[:110]}")
    ANSWERS.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", "utf-8")


def ask(config: dict[str, Any]) -> tuple[str, str]:
    """(refuses, accepts, ignores or unknown, what the library said)."""
    values = {name: None if value == "None" else value for name, value in config["values"].items()}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            trainer, args = built(config, values)
        except TypeError as error:
            return ("unknown" if "unexpected keyword" in str(error) else "refuses"), str(error)
        except (ValueError, NotImplementedError) as error:
            return "refuses", str(error)
        except (ImportError, NameError) as error:  # what is claimed to be installed is not there
            return "unknown", str(error)
        ignored = config.get("ignored")
        if ignored is None:
            return "accepts", ""
        other, other_args = built(config, {name: value for name, value in values.items() if name != ignored})
        same = behaviour(trainer, args) == behaviour(other, other_args)
        return ("ignores" if same else "accepts"), ""


def behaviour(trainer: Any, args: Any) -> Any:
    """What the arguments make of a run of twelve steps: its learning rates, and whether it evaluates."""
    scheduler = trainer.create_scheduler(12, trainer.create_optimizer())
    rates = []
    for _ in range(12):
        rates.append(scheduler.get_last_lr())
        trainer.optimizer.step()
        scheduler.step()
    return rates, str(args.eval_strategy)


def built(config: dict[str, Any], values: dict[str, Any]) -> tuple[Any, Any]:
    import transformers
    import trl

    library, _, name = config["config"].partition(".")
    args = getattr(trl if library == "trl" else transformers, name)(
        output_dir="out", use_cpu=True, report_to="none", **values
    )
    library, _, name = config["trainer"].partition(".")
    kind = getattr(trl if library == "trl" else transformers, name)
    _claim_liger(kind)
    undo = _claim_backend(config["backend"], config.get("zero_stage")) if "backend" in config else lambda: None
    try:
        return kind(**inputs(config, kind.__name__, args)), args
    finally:
        undo()


def inputs(config: dict[str, Any], name: str, args: Any) -> dict[str, Any]:
    """The arguments that a trainer needs beside its config."""
    from datasets import Dataset

    words = "what is this"
    rows = {
        "SFTTrainer": {"text": [words] * 8},
        "Trainer": {"input_ids": [[3, 4, 5]] * 8, "labels": [[3, 4, 5]] * 8},
        "GRPOTrainer": {"prompt": [words] * 8},
        "RLOOTrainer": {"prompt": [words] * 8},
        "DPOTrainer": {"prompt": [words] * 8, "chosen": [" yes"] * 8, "rejected": [" no"] * 8},
        "KTOTrainer": {"prompt": [words] * 8, "completion": [" yes"] * 8, "label": [True, False] * 4},
    }
    data = Dataset.from_dict(rows[name])
    found = {"model": model(), "args": args, "train_dataset": data, "processing_class": tokenizer()}
    if config.get("eval_dataset", True):
        found["eval_dataset"] = data
    if name in ("GRPOTrainer", "RLOOTrainer"):
        found["reward_funcs"] = reward
    return found


def reward(completions: list[str], **_: Any) -> list[float]:
    return [0.0 for _ in completions]


def model() -> Any:
    """A model that was loaded from a folder, where the trainer finds it once more for its reference."""
    from transformers import LlamaConfig, LlamaForCausalLM

    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    if not os.path.exists("tiny"):
        made = LlamaForCausalLM(LlamaConfig(vocab_size=len(WORDS), num_key_value_heads=2, pad_token_id=0, **size))
        made.save_pretrained("tiny")
        tokenizer().save_pretrained("tiny")
    return LlamaForCausalLM.from_pretrained("tiny")


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, **names)


def _claim_liger(kind: Any) -> None:
    module = sys.modules[kind.__module__]
    if hasattr(module, "is_liger_kernel_available"):
        module.is_liger_kernel_available = lambda *_: True


class Plugin:
    """A plugin of accelerate whose every switch is off."""

    state_dict_type = "StateDictType.FULL_STATE_DICT"

    def __init__(self, zero_stage: int | None) -> None:
        self.zero_stage = zero_stage

    def __getattr__(self, name: str) -> None:
        return None


def _claim_backend(name: str, stage: int | None) -> Any:
    """Let the state say that there is a plugin, and return what takes that back."""
    import transformers.trainer
    from accelerate.state import AcceleratorState

    for owner in (transformers.trainer, transformers.Trainer):  # a function in 5.x, a method in 4.x
        owner.propagate_args_to_deepspeed = lambda *_, **__: None  # wants the config that is not there
    attribute = "deepspeed_plugin" if name == "DEEPSPEED" else "fsdp_plugin"
    old = AcceleratorState.__dict__.get(attribute)
    plugin = Plugin(stage)
    setattr(AcceleratorState, attribute, property(lambda _: plugin, lambda *_: None))

    def undo() -> None:
        delattr(AcceleratorState, attribute) if old is None else setattr(AcceleratorState, attribute, old)
        AcceleratorState._reset_state(True)

    return undo


def _short(message: str) -> str:
    """Long enough to recognise the message."""
    text = " ".join(message.split())
    return text if len(text) <= 200 else text[:200] + " …"


if __name__ == "__main__":
    sys.exit(main())
