"""The command line in a process that modes of files bind, also where root runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT

# Linux lets root pass over modes by two capabilities, which a process can give up for itself and for its forks.
_RUN = """
import ctypes, os, struct, sys

if os.geteuid() == 0:
    system = ctypes.CDLL(None, use_errno=True)
    head = ctypes.create_string_buffer(struct.pack("<Ii", 0x20080522, 0))
    data = ctypes.create_string_buffer(24)
    if not sys.platform.startswith("linux") or system.capget(head, data):
        sys.exit(77)
    words = list(struct.unpack("<6I", data.raw))
    words[:3] = [word & ~0b110 for word in words[:3]]  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    if system.capset(head, ctypes.create_string_buffer(struct.pack("<6I", *words))):
        sys.exit(77)
from trl_lint.__main__ import run
run()
"""


def unprivileged(arguments: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the tool as a user whom modes bind; skips the test where that cannot be had."""
    if not hasattr(os, "geteuid"):
        pytest.skip("the system has no modes")
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode == 77:
        pytest.skip("root cannot give up reading everything here")
    return done
