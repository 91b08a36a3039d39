"""A few faults of the file system in the middle of a run, and that the many of `make torture` would notice more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from benchmarks import byte_edits, faults
from trl_lint import tracked

CHECK, FIX, *OTHERS = faults.COMMANDS


@pytest.fixture
def _folder() -> Iterator[None]:
    with byte_edits.scratch():
        yield


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("name", faults.FAULTS)
def test_a_look_that_fails(name: str):
    total = faults.count_looks(CHECK)
    assert total > 300
    assert faults.problems(CHECK, name, total // 3) == faults.problems(CHECK, name, total - 30) == []


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("command", OTHERS, ids=" ".join)
def test_other_commands(command: tuple[str, ...]):
    toll = faults.try_all(command, every=faults.count_looks(command) // 2 + 1, seed=1)
    assert toll.faults == 2 * len(faults.FAULTS) and toll.failures == []


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("name", ["gone", "emptied"])
def test_a_file_that_changes_before_its_repair(name: str):
    total = faults.count_looks(FIX)
    assert faults.problems(FIX, name, total - 50) == []


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize(
    ("name", "what"),
    [("emptied", "was written over"), ("gone", "came back"), ("folder", "is no folder any more")],
)
def test_what_somebody_else_did_and_is_undone_is_noticed(name: str, what: str, monkeypatch: pytest.MonkeyPatch):
    def undoing(command: tuple[str, ...]) -> byte_edits.Said:
        with suppress(OSError):
            tracked.read("train.py")
        if os.path.isdir("train.py"):
            os.rmdir("train.py")
        with open("train.py", "wb") as stream:
            stream.write(b"repaired")
        return byte_edits.Said(0, "", "")

    monkeypatch.setattr(byte_edits, "said", undoing)
    (problem,) = faults.problems(OTHERS[0], name, 1)
    assert what in problem


@pytest.mark.usefixtures("_folder")
def test_an_error_that_nobody_catches_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trl_lint.engine.collect", lambda *arguments: os.stat("nowhere"))
    assert any("internal error" in one for one in faults.problems(CHECK, "EIO", 1))
