"""Scripts that construct trainers, written for a test, and what is known of the trainers in short."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

from trl_lint.project import Project
from trl_lint.run.trainer import TrainerCall, trainer_calls
from trl_lint.run.trainer.made import Made, Options
from trl_lint.settings import Settings
from trl_lint.sources import Files

HEAD = """
from datasets import load_dataset
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, HfArgumentParser, Trainer
from trl import (DPOTrainer, GRPOTrainer, ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser,
                 get_peft_config, get_quantization_config, setup_chat_format)
"""


def project_of(folder: Path, **files: str) -> Project:
    (folder / ".git").mkdir()
    for name, text in {"requirements__txt": "trl==1.16.0\ntransformers==5.23.0\n", **files}.items():
        path = folder / name.replace("__", ".")
        path.write_text(dedent(text), encoding="utf-8")
    return Project(str(folder), Files(), Settings(str(folder)))


def calls_of(folder: Path, script: str, **files: str) -> tuple[TrainerCall, ...]:
    project = project_of(folder, train__py=HEAD + dedent(script), **files)
    return trainer_calls(project.module_in(str(folder / "train.py")), project)


def call_of(folder: Path, script: str, **files: str) -> TrainerCall:
    (call,) = calls_of(folder, script, **files)
    return call


def told(options: Options) -> list[str]:
    """Each possibility in short: its kind or dotted name, its value, its tests."""
    return sorted(one_told(made) for made in options)


def one_told(made: Made) -> str:
    what = made.origin or made.kind
    what += f"={made.value!r}" if made.kind == "literal" else ""
    what += "".join(f"[{item!r}]" for item in made.item)
    tests = [("" if one.truth else "not ") + ast.unparse(one.test) for one in made.under]
    return what + (f" if {' and '.join(tests)}" if tests else "")


LOADS = "transformers.AutoModelForCausalLM.from_pretrained"
