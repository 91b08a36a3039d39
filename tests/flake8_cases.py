"""What tests of the flake8 plugin have in common: files with one finding each, and what is found in a buffer."""

from __future__ import annotations

import os
import time
from pathlib import Path

from trl_lint.editors.flake8_plugin import findings

FAULT = """import torch
from accelerate import Accelerator


def mask(ids: torch.Tensor):
    return torch.arange(ids.size(1)) <= ids
"""
# A name that no release of TRL has ever taken.
PINNED = "from trl import GRPOConfig\n\nconfig = GRPOConfig(output_dir='out', max_completion_len=8)\n"


def codes(path: Path, text: str | None = None) -> list[str]:
    return [
        message.split()[0] for _, _, message in findings(str(path), path.read_text("utf-8") if text is None else text)
    ]


def age(folder: Path) -> None:
    """Make everything a minute older, as it would be in the second run of an editor."""
    past = time.time() - 60
    for base, _, names in os.walk(folder):
        for path in [base, *(os.path.join(base, name) for name in names)]:
            os.utime(path, (past, past))
