"""TRL504, TRL505 and TRL507 are hints at a command that starts nothing that has to do with models."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.selection import Selection
from trl_lint.settings import Settings

_TORCH, _OTHER = "import torch\n", "import tensorflow as tf\nimport numpy\n"


def levels(folder: Path, code: str, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    report = check([str(folder)], Settings(str(folder), layers=[Selection(select=(code,))]))
    return [finding.severity for finding in report.findings]


@pytest.mark.parametrize("script", ["tools/plot.py", "tools/foo.py", "tests/foo.py"])
@pytest.mark.parametrize("beside", [{}, {"tools/more.py": _OTHER}])
def test_a_missing_script_of_a_project_about_something_else(tmp_path: Path, script: str, beside: dict[str, str]):
    files = {"Makefile": f"all:\n\tpython {script}\n", "tools/a.py": _OTHER, "tests/b.py": _OTHER, **beside}
    assert levels(tmp_path, "TRL504", files) == ["info"]


@pytest.mark.parametrize("script", ["tools/plot.py", "tools/eval.py", "tools/train.py", "tools/download.py"])
@pytest.mark.parametrize("beside", [_TORCH, "from transformers import pipeline\n", "", "from lib import run\n"])
def test_a_missing_script_of_a_project_about_models(tmp_path: Path, script: str, beside: str):
    files = {"Makefile": f"all:\n\tpython {script}\n", "tools/a.py": _OTHER, "tools/b.py": beside, "lib.py": _TORCH}
    assert levels(tmp_path, "TRL504", files) == ["error"]


def test_what_is_called_training_is_no_hint_whatever_lies_beside_it(tmp_path: Path):
    files = {"run.sh": "python tools/train_dpo.py\naccelerate launch tools/gone.py\n", "tools/a.py": _OTHER}
    assert levels(tmp_path, "TRL504", files) == ["error", "error"]


_CUT = "python {0} \\\n  --a 1 \\  # why\n  --b 2\n"
_UNSET = "name=1\npython {0} --a $folder_of_data --name $name\n"


@pytest.mark.parametrize(("code", "text", "high"), [("TRL505", _CUT, "error"), ("TRL507", _UNSET, "warning")])
@pytest.mark.parametrize(
    ("script", "source", "is_hint"),
    [
        ("plot.py", _OTHER, True),
        ("tests/test_data.py", _TORCH, True),
        ("plot.py", _TORCH, False),
        ("plot.py", "from lib import draw\n", False),
        ("plot.py", "print(1)\n", False),
        ("train.py", _OTHER, False),
    ],
)
def test_the_other_rules(tmp_path: Path, code: str, text: str, high: str, script: str, source: str, is_hint: bool):
    files = {"run.sh": text.format(script), script: source, "lib.py": _TORCH}
    assert levels(tmp_path, code, files) == ["info" if is_hint else high]
