"""flake8 as a process, the way editors and CI start it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FAULT = """import torch
from accelerate import Accelerator


def mask(ids: torch.Tensor):
    return torch.arange(ids.size(1)) <= ids
"""


def flake8(*args: str, cwd: Path, stdin: str | None = None) -> list[str]:
    command = [sys.executable, "-m", "flake8", "--isolated", "--select=TRL,E9,F", *args]
    done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


@pytest.fixture(autouse=True)
def _registered():
    entries = subprocess.run([sys.executable, "-m", "flake8", "--version"], capture_output=True, text=True, check=True)
    if "trl-lint" not in entries.stdout:
        pytest.skip("the package is not installed, so flake8 does not know the plugin")


def test_the_findings_of_the_command_line_at_its_columns(tmp_path: Path):
    (tmp_path / "train.py").write_text(FAULT)
    (line,) = (entry for entry in flake8("train.py", cwd=tmp_path) if "TRL" in entry)
    assert line.startswith("train.py:6:12: TRL103 `torch.arange(…)` makes a tensor on the CPU")


@pytest.mark.parametrize("name", ["train.py", "{folder}/train.py"], ids=["relative", "absolute"])
def test_the_buffer_counts_and_not_the_file(tmp_path: Path, name: str):
    (tmp_path / "train.py").write_text("x = 1\n")
    shown = name.format(folder=tmp_path)
    found = flake8("-", "--stdin-display-name", shown, cwd=tmp_path, stdin="\n" + FAULT)
    assert [entry.split(":")[-3] for entry in found if "TRL103" in entry] == ["7"]


def test_noqa_is_honoured(tmp_path: Path):
    (tmp_path / "train.py").write_text(FAULT.replace("<= ids", "<= ids  # noqa: TRL103"))
    assert [entry for entry in flake8("train.py", cwd=tmp_path) if "TRL" in entry] == []


def test_settings_of_the_project_hold(tmp_path: Path):
    (tmp_path / "train.py").write_text(FAULT)
    (tmp_path / "trl-lint.toml").write_text('ignore = ["TRL103"]\n')
    assert [entry for entry in flake8("train.py", cwd=tmp_path) if "TRL" in entry] == []


def test_a_failure_is_one_finding_and_the_run_goes_on(tmp_path: Path):
    (tmp_path / "train.py").write_text(FAULT)
    (tmp_path / "trl-lint.toml").write_text("ignor = []\n")
    found = flake8("train.py", cwd=tmp_path)
    assert [entry for entry in found if "TRL003 trl-lint failed" in entry and "did you mean `ignore`?" in entry]


def test_an_empty_file_has_nothing(tmp_path: Path):
    (tmp_path / "train.py").write_text("\n\n")
    assert flake8("train.py", cwd=tmp_path) == []
