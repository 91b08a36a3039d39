"""Where a release does not know a keyword of a config, nothing that it would say of the values is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

BEST = "save_strategy='steps', load_best_model_at_end=True"
ONE_TOLD = [  # the pin, the arguments, and the one rule that tells
    ("transformers==4.40.2", f"eval_strategy='steps', {BEST}", "TRL301"),
    ("transformers>=4.36,<4.50", f"eval_strategy='steps', {BEST}", "TRL301"),
    ("transformers==4.40.2", f"eval_strategy='no', {BEST}", "TRL301"),
    ("transformers==4.57.1", f"made_up=1, {BEST}", "TRL301"),
    ("transformers==4.57.1", f"**{{'made_up': 1}}, {BEST}", "TRL301"),
    ("transformers==5.20.0", "made_up=1, bf16=True, fp16=True", "TRL301"),
    ("transformers==4.57.1", f"evaluation_strategy='steps', {BEST}", "TRL301"),
    ("transformers==4.40.2", BEST, "TRL403"),
    ("transformers==4.40.2", f"evaluation_strategy='no', {BEST}", "TRL403"),
    ("transformers==4.57.1", f"eval_strategy='no', {BEST}", "TRL403"),
    ("transformers==4.57.1", f"eval_strategy='epoch', {BEST}", "TRL403"),
]
NOTHING = [
    ("transformers==4.40.2", f"evaluation_strategy='steps', {BEST}"),
    ("transformers==4.57.1", f"eval_strategy='steps', {BEST}"),
    ("transformers>=4.41,<5", f"eval_strategy='steps', {BEST}"),
]


def told(folder: Path, pin: str, arguments: str) -> set[str]:
    (folder / "requirements.txt").write_text(f"{pin}\n")
    (folder / "train.py").write_text(
        "from transformers import Trainer, TrainingArguments\n"
        f"args = TrainingArguments(output_dir='o', {arguments})\n"
        "Trainer(model=model, args=args, train_dataset=data, eval_dataset=data).train()\n"
    )
    report = check([str(folder)], Settings(str(folder)))
    return {finding.code for finding in report.findings if finding.code in ("TRL301", "TRL302", "TRL402", "TRL403")}


@pytest.mark.parametrize(("pin", "arguments", "code"), ONE_TOLD)
def test_what_comes_first_is_told(tmp_path: Path, pin: str, arguments: str, code: str):
    assert told(tmp_path, pin, arguments) == {code}


@pytest.mark.parametrize(("pin", "arguments"), NOTHING)
def test_what_fits_is_not(tmp_path: Path, pin: str, arguments: str):
    assert told(tmp_path, pin, arguments) == set()
