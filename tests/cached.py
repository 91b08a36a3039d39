"""The command line with its cache, in this process, and what it says without."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from trl_lint import tracked
from trl_lint.cache.replay import replay
from trl_lint.cache.shelf import NAME
from trl_lint.cli import main
from trl_lint.project import discovery


class Said(NamedTuple):
    """What one run printed and returned."""

    status: int
    out: str
    err: str


class Cached:
    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self.was_replayed = False

    def __call__(self, *arguments: str) -> Said:
        self._capsys.readouterr()
        status = replay(list(arguments))
        self.was_replayed = status is not None
        if status is None:
            status = main(list(arguments))
        return Said(status, *self._capsys.readouterr())

    def plain(self, *arguments: str) -> Said:
        """The same run without the cache."""
        self._capsys.readouterr()
        tracked.forget()
        with self._monkeypatch.context() as patch:
            patch.setenv("TRL_LINT_NO_CACHE", "1")
            status = main(list(arguments))
        return Said(status, *self._capsys.readouterr())

    def fresh(self, *arguments: str) -> Said:
        """A run that has to do the work."""
        said = self(*arguments)
        assert not self.was_replayed
        return said

    def warm(self, *arguments: str) -> Said:
        """A run that has nothing to do."""
        said = self(*arguments)
        assert self.was_replayed
        return said


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{NAME}/*/*.report"))


def copy_project(source: Path, target: Path) -> Path:
    shutil.copytree(source, target, symlinks=True)
    for path in (target, *target.rglob("*")):
        os.utime(path, (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    return target


def source_files(folder: Path) -> list[Path]:
    """The files of a project that are there to be changed, in a fixed order."""
    found = (path for path in folder.rglob("*") if path.is_file() and NAME not in path.parts)
    return sorted(path for path in found if discovery.is_source(str(path)) or path.suffix in (".toml", ".txt"))
