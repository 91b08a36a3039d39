"""Shared by all tests. Being here also puts this folder on the path, so that tests can import its helpers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SCRIPT, Shell

from trl_lint.checker import Checker

# The tests start the tool hundreds of times: it is compiled once, even where the environment asks for no such files.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours, widths, settings or checkouts from the terminal or the CI service that happens to run the tests."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TRL_LINT_DEBUG", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    # A test sees the code as it is, patched perhaps; tests of the cache turn it on.
    monkeypatch.setenv("TRL_LINT_NO_CACHE", "1")


@pytest.fixture
def sh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A project with one script that has one finding, TRL103 on line 6, with a safe fix."""
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    shell.write("train.py", SCRIPT)
    return shell


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are checked from now on."""
    names: list[str] = []
    plain = Checker.check_path

    def watched(self: Checker, path: str, explicit: bool) -> None:
        names.append(Path(path).name)
        plain(self, path, explicit)

    monkeypatch.setattr(Checker, "check_path", watched)
    return names


@pytest.fixture(scope="session")
def registered() -> None:
    """flake8 knows a plugin only if the package is installed; a bare checkout is not."""
    entries = subprocess.run([sys.executable, "-m", "flake8", "--version"], capture_output=True, text=True, check=True)
    if "trl-lint" not in entries.stdout:
        pytest.skip("the package is not installed, so flake8 does not know the plugin")
