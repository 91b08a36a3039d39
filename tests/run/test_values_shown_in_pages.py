"""Words that a page shows in place of values: `--phase N` asks for a number, and names none."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

TRAIN = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--phase", type=int)
parser.add_argument("--lr", type=float)
parser.add_argument("--mode", choices=["sft", "dpo"])
parser.add_argument("--sharding", choices=["FULL", "NONE"])
args = parser.parse_args()
"""
STAND_INS = [
    *("--phase N", "--phase n", "--phase PHASE", "--phase NUM_PHASES", "--phase X", "--phase K1", "--phase ..."),
    *(
        "--phase=N",
        "--lr LR",
        "--lr TODO",
        "--lr YOUR_RATE",
        "--lr x",
        "--mode MODE",
        "--mode sft/dpo",
        "--mode sft,dpo",
    ),
    *("--mode sft,dpo", "--mode 'sft|dpo'", "--lr ?", "--phase __N__"),
    *("--mode [sft|dpo]", "--mode [sft]", "--phase [num-phases]", "--phase [n]", "--mode [sft | dpo] --phase [n]"),
]
WRONG = [
    "--phase two",
    "--phase 1.5",
    "--lr fast",
    "--mode ppo",
    "--mode sft/ppo",
    "--sharding FULLY",
    "--sharding N",
    "--phase [1]",
    "--phase [1,2]",
    "--mode '[\"sft\"]'",
]


def told(folder: Path, name: str, text: str) -> list[str]:
    (folder / "train.py").write_text(TRAIN)
    (folder / name).write_text(text)
    report = check([str(folder)], Settings(str(folder)))
    return [finding.code for finding in report.findings if finding.code == "TRL402"]


def page(words: str) -> str:
    return f"# Use\n\n```bash\npython train.py {words}\n```\n"


@pytest.mark.parametrize("words", STAND_INS)
def test_a_word_that_stands_for_a_value(tmp_path: Path, words: str):
    assert told(tmp_path, "README.md", page(words)) == []


@pytest.mark.parametrize("words", WRONG)
def test_a_word_that_is_a_wrong_value(tmp_path: Path, words: str):
    assert told(tmp_path, "README.md", page(words)) == ["TRL402"]


@pytest.mark.parametrize("words", ["--phase N", "--lr LR", "--mode MODE"])
def test_a_script_shows_nothing(tmp_path: Path, words: str):
    assert told(tmp_path, "run.sh", f"python train.py {words}\n") == ["TRL402"]


@pytest.mark.parametrize("words", ["--mode [sft|dpo]", "--phase [num-phases]", "--phase [n] --mode [sft|dpo]"])
def test_a_synopsis_in_a_docstring(tmp_path: Path, words: str):
    usage = f'"""\nUsage:\npython train.py {words}\n"""\n'
    (tmp_path / "train.py").write_text(usage + TRAIN)
    report = check([str(tmp_path)], Settings(str(tmp_path)))
    assert [finding.code for finding in report.findings if finding.code == "TRL402"] == []
