"""Which script a finding in a recipe names, where no command says which one reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_line import Shell

SCRIPT = """\
from trl import {config}, {trainer}, ModelConfig, ScriptArguments, TrlParser

script, config, model = TrlParser((ScriptArguments, {config}, ModelConfig)).parse_args_and_config()
trainer = {trainer}(model.model_name_or_path, args=config)
trainer.train()
"""
HELPER = """\
from trl import GRPOConfig, ModelConfig, ScriptArguments, TrlParser

script, config, model = TrlParser((ScriptArguments, GRPOConfig, ModelConfig)).parse_args_and_config()
print(config)
"""
COMMON = "model_name_or_path: m\noutput_dir: out\nlearning_rate: 1.0e-5\nnum_train_epochs: 1\nseed: 1\n"


@pytest.fixture
def project(sh: Shell) -> Shell:
    (sh.folder / "train.py").unlink()
    sh.write("requirements.txt", "trl>=0.19.1\ntransformers>=4.53.3\n")
    for config, trainer, name in (("DPOConfig", "DPOTrainer", "dpo"), ("SFTConfig", "SFTTrainer", "sft")):
        sh.write(f"scripts/{name}.py", SCRIPT.format(config=config, trainer=trainer))
    return sh


def told(sh: Shell, key: str) -> tuple[str, str]:
    """The message about a key of the recipe, and the script that is said to parse it."""
    report: dict[str, Any] = json.loads(sh("--select", "TRL301", "--output-format", "json").out)
    (found,) = (one for one in report["findings"] if f"`{key}`" in one["message"])
    (script,) = (place["path"] for place in found["related"] if place["message"] == "parsed here")
    return found["message"], script


@pytest.mark.parametrize(
    ("name", "key", "config"), [("dpo", "max_prompt_length: 512", "DPOConfig"), ("sft", "packing: true", "SFTConfig")]
)
def test_the_script_that_knows_most_keys(project: Shell, name: str, key: str, config: str):
    project.write("recipes/a.yaml", f"{COMMON}{key}\nevaluation_strategy: no\noverwrite_output_dir: true\n")
    message, script = told(project, "overwrite_output_dir")
    assert script == f"scripts/{name}.py"
    # The class is that of the script; the field is one that it inherits, and went with a release of transformers.
    assert message.startswith(f"transformers 5.0.0 removed the key `overwrite_output_dir` of `{config}`")


@pytest.mark.parametrize("name", ["dpo", "sft"])
def test_the_script_that_the_folder_names(project: Shell, name: str):
    project.write(f"recipes/model/{name}/config.yaml", f"{COMMON}overwrite_output_dir: true\n")
    assert told(project, "overwrite_output_dir")[1] == f"scripts/{name}.py"


def test_a_script_that_trains_comes_before_one_that_does_not(project: Shell):
    project.write("a_helper.py", HELPER)
    project.write(
        "src/grpo.py", HELPER.replace("print(config)", "GRPOTrainer(model)").replace("GRPOC", "GRPOTrainer, GRPOC", 1)
    )
    project.write("recipes/config.yaml", f"{COMMON}num_generations: 8\nbeta: 0.0\nvllm_device: auto\n")
    message, script = told(project, "vllm_device")
    assert script == "src/grpo.py" and message.startswith("trl 0.18.0 removed the key `vllm_device` of `GRPOConfig`")


def test_the_pin_that_decides_is_named(sh: Shell):
    """Not that of the package of the parser, where its dataclasses are another's."""
    sh.write("requirements.txt", "trl==0.13.0\ntransformers==4.48.0\n")
    sh.write(
        "train.py",
        "from transformers import HfArgumentParser\nfrom trl import RLOOConfig, ScriptArguments\n\n"
        "script, config = HfArgumentParser((ScriptArguments, RLOOConfig)).parse_args_into_dataclasses()\n",
    )
    sh.write("run.sh", "python train.py --output_dir out --dataset_text_field prompt\n")
    shown = sh("--select", "TRL301", "--output-format", "concise").out
    assert "`train.py` has no flag `--dataset_text_field` (pinned: trl 0.13.0)" in shown
