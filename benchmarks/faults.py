"""The file system fails or changes at any moment of a run. `make torture`, see README.md.

`python -m benchmarks.faults [--every N] [--seed N]` runs each command on a small project (`kinds.py`) again and again.
Each time another one of its looks at the disk fails, or meets a file that has gone, has become a folder or is empty by
then. Whatever happens, a command ends with 0, 1 or 2, says what is wrong in lines of its own, and does not touch what
somebody else has changed. It ends with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from io import FileIO
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks import byte_edits, kinds
from trl_lint import tracked
from trl_lint.stamps import opened

COMMANDS: tuple[tuple[str, ...], ...] = (
    byte_edits.JSON,
    (*byte_edits.CHECK, "--isolated", "--fix", "--unsafe-fixes"),
    ("environment", "."),
    ("runs", "."),
)

Fault = Callable[[str], None]
"""What happens to an absolute path right before it is looked at; it may raise OSError."""


def _refused(number: int, path: str) -> None:
    raise OSError(number, os.strerror(number), path)


def _gone(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _folder(path: str) -> None:
    _gone(path)
    os.makedirs(path)


def _emptied(path: str) -> None:
    if os.path.isfile(path):
        with open(path, "wb"):
            pass


FAULTS: dict[str, Fault] = {
    **{errno.errorcode[number]: partial(_refused, number) for number in (errno.EACCES, errno.ENOENT, errno.EIO)},
    "gone": _gone,
    "folder": _folder,
    "emptied": _emptied,
}


class _System:
    """`os` for `looks`, where somebody is told of each look beforehand."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def stat(self, path: str) -> os.stat_result:
        self._tell(path)
        return os.stat(path)

    def scandir(self, path: str) -> Any:
        self._tell(path)
        return os.scandir(path)


class Moment:
    """The look at the working folder, or at what is below it, at which a fault happens; the first has the number 1."""

    def __init__(self, number: int, fault: Fault) -> None:
        self.number = number
        self.looks = 0
        self.path = ""
        self._fault = fault
        self._root = os.getcwd()

    def tell(self, path: str) -> None:
        path = os.path.abspath(path)
        if not path.startswith(self._root):
            return
        self.looks += 1
        if self.looks == self.number:
            self.path = path
            if path != self._root:  # without its own folder a process can do nothing
                self._fault(path)


def _watched(moment: Moment) -> AbstractContextManager[object]:
    def telling(path: str) -> FileIO:
        moment.tell(path)
        return opened(path)

    return patch.multiple(tracked, opened=telling, os=_System(moment.tell))


def count_looks(command: tuple[str, ...]) -> int:
    """How often a command looks at the project, which is laid out in the working folder."""
    byte_edits.lay_out(kinds.PROJECT)
    moment = Moment(0, _gone)
    with _watched(moment):
        byte_edits.said(command)
    return moment.looks


def problems(command: tuple[str, ...], name: str, number: int) -> list[str]:
    """What is wrong with what a command does if a fault happens at one of its looks."""
    byte_edits.lay_out(kinds.PROJECT)
    moment = Moment(number, FAULTS[name])
    with _watched(moment):
        done = byte_edits.said(command)
    found = byte_edits.faults_of_report(done) if "json" in command else byte_edits.faults(done)
    path = moment.path
    was_file = os.path.relpath(path or ".") in kinds.PROJECT
    if name == "gone" and was_file and os.path.lexists(path):
        found.append(f"{path} came back")
    if name == "folder" and was_file and not os.path.isdir(path):
        found.append(f"{path} is no folder any more")
    if name == "emptied" and was_file and os.path.getsize(path):
        found.append(f"{path} was written over")
    return [f"{' '.join(command)}: {name} at look {number}: {one}" for one in found]


class Toll(NamedTuple):
    """What a number of faults came to."""

    faults: int
    failures: list[str]


def try_all(command: tuple[str, ...], every: int, seed: int) -> Toll:
    """Let each kind of fault happen at about every so many looks of a command, in the working folder."""
    chance = random.Random(f"{seed}/{command}")
    total, failures, tried = count_looks(command), [], 0
    for name in FAULTS:
        for start in range(0, total, every):
            tried += 1
            failures += problems(command, name, 1 + min(total - 1, start + chance.randrange(every)))
    return Toll(tried, failures)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description="Let the file system fail.")
    parser.add_argument("--every", type=int, default=10, metavar="N", help="a fault at every N-th look, about")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| command | faults | failures |\n|---|---|---|")
    failures = []
    with byte_edits.scratch():
        for command in COMMANDS:
            toll = try_all(command, args.every, args.seed)
            print(f"| {' '.join(command)} | {toll.faults:,} | {len(toll.failures)} |", flush=True)
            failures += toll.failures
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
