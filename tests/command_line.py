"""A project with one finding, and the command line to run in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT

from trl_lint import tracked
from trl_lint.cli import main

SCRIPT = """\
import torch
from accelerate import Accelerator


def answer_mask(sequences: torch.Tensor, last_token: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(sequences.size(1)).unsqueeze(0)
    return positions <= last_token.cuda()
"""
FIXED = SCRIPT.replace("size(1))", "size(1), device=sequences.device)")
FOUND = "train.py:6:17: TRL103 [*] error: "


class Run:
    """What one run of the command line printed."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err

    @property
    def codes(self) -> list[str]:
        return [finding["code"] for finding in json.loads(self.out)["findings"]]


class Shell:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Run:
        tracked.forget()
        self._capsys.readouterr()
        status = main(list(arguments))
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err
        return Run(status, captured.out, captured.err)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def read(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()


def process(arguments: list[str], folder: Path, **more: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("env", {})}  # type: ignore[dict-item]
    command = [sys.executable, "-m", "trl_lint", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, **more)  # type: ignore[call-overload, no-any-return]
