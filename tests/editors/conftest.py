"""Shared by the tests that start other tools."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def registered() -> None:
    """flake8 knows a plugin only if the package is installed; a bare checkout is not."""
    entries = subprocess.run([sys.executable, "-m", "flake8", "--version"], capture_output=True, text=True, check=True)
    if "trl-lint" not in entries.stdout:
        pytest.skip("the package is not installed, so flake8 does not know the plugin")
