"""The release that a removed name is advised to be pinned to: all of the file works there."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

CONFIG = "from trl import PPOConfig\n"
OLD = "PPOConfig(model_name='gpt2', ppo_epochs=1)\n"
HEAD = "from trl import AutoModelForCausalLMWithValueHead\n"
PINS = {  # the file, and the pin that it is told
    CONFIG: "trl<0.29.0",
    CONFIG + OLD: "trl<0.12.0",
    CONFIG + "PPOConfig(output_dir='o', num_ppo_epochs=2)\n": "trl<0.29.0",
    "from trl import PPOConfig as P\nP(model_name='gpt2')\n": "trl<0.12.0",
    HEAD: "trl<0.29.0",
    HEAD + "from trl.core import LengthSampler\n": "trl<0.25.0",
    HEAD + CONFIG + OLD: "trl<0.12.0",
    "from trl import PPOTrainer\nPPOTrainer(config=c, model=m, tokenizer=t, dataset=d)\n": "trl<0.12.0",
}


def told(folder: Path, text: str) -> list[str]:
    (folder / "train.py").write_text(text)
    report = check([str(folder)], Settings(str(folder)))
    return [finding.message for finding in report.findings if finding.code == "TRL302"]


@pytest.mark.parametrize("text", PINS)
def test_the_pin_helps(tmp_path: Path, text: str):
    pins = [message for message in told(tmp_path, text) if "; pin " in message]
    assert pins and all(f"; pin {PINS[text]} (" in message for message in pins)
    (tmp_path / "requirements.txt").write_text(PINS[text])
    assert told(tmp_path, text) == []


def test_where_no_release_runs_it_none_is_named(tmp_path: Path):
    messages = told(tmp_path, CONFIG + OLD + "from trl import GRPOConfig\n")
    assert messages and not any("; pin " in message for message in messages)
