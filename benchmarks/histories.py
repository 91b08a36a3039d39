"""Random edit histories of projects: after each step a kept workspace has to say what a fresh run says.

    python -m benchmarks.histories --count 2000 [--seed 1] [--one] [--server | --structure] [FOLDER…]

A project is a folder named here, or some fixtures side by side. A few of its files are open. Each step types into an
open file (saved or not), closes or opens one, or changes something on the disk. Then each open file, or the project as
a whole, is checked by the workspace and by a run that knows nothing. With `--server` the language server stands between
(`server_edits.py`): it is told of each step as a client tells it, and its diagnostics are compared. With `--structure`
the steps change what a file holds and leave its syntax whole (`structure_edits.py`), and the cache is compared as well.
`--one` asks about one open file after each step, chosen at random, and about all and the folder at the end.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from benchmarks.edits import EDITS, random_edit
from trl_lint import tracked
from trl_lint.engine import Result, check
from trl_lint.finding import Finding
from trl_lint.selection import Selection
from trl_lint.settings import Settings
from trl_lint.workspace import Workspace

FIXTURES = Path(__file__).parent.parent / "fixtures"
_OPEN = 3  # files at most
_PINS = (b"trl==0.15.2\nvllm==0.9.0\n", b"trl>=0.11\n", b"torch==2.1.0\ntransformers==4.40.0\n", b"")
_CREATED = (
    ("requirements.txt", _PINS),
    ("train.py", (b"from trl import GRPOConfig\n\nconfig = GRPOConfig(fp16=True, max_grad_norm=0)\n", b"")),
    ("run.sh", (b"accelerate launch --num_processes 8 train.py --config recipe.yaml\n", b"")),
    ("recipe.yaml", (b"fp16: true\nbf16: true\nmax_grad_norm: 0\n", b"a: b\n")),
    ("__init__.py", (b"from .train import config\n", b"")),
)
_LEFT_ALONE = (".git", "__pycache__")


class History:
    """One project in the making. `done` is what was done, in words; `wrong` where the two runs said something else.

    `one`: only one open file is checked after each step.
    """

    one = False

    def __init__(self, folder: str, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.settings = Settings(folder, layers=[Selection(("ALL",))])
        self.settings.wants_edits = False
        self.workspace = Workspace(self.settings, record=tracked.Record())
        self.overlays: dict[str, bytes] = {}
        self.open: list[str] = []
        self.done: list[str] = []
        self.wrong: list[str] = []
        self.checks = 0

    def run(self, steps: int) -> None:
        self._open_one()
        for _ in range(steps):
            step = self.chance.choice(self.steps())
            with suppress(IndexError, OSError):  # nothing is open, or no file is left
                step()
                self.compare(self._asked())
        if self.one:
            self.compare([*([path] for path in self.open), [self.folder]])

    def steps(self) -> tuple[Callable[[], None], ...]:
        return (
            *(self.type,) * 6, *(self.type_anywhere,) * 3, self.save, self.save, self.close, self.create,
            self.edit_on_disk, self.edit_on_disk, self.delete, self.rename,
        )  # fmt: skip

    def _asked(self) -> list[list[str]]:
        asked = [[self.chance.choice(self.open)]] if self.one else [[path] for path in self.open]
        if not self.chance.randrange(6):
            asked.append([self.folder])
        self.chance.shuffle(asked)
        return asked

    def compare(self, asked: list[list[str]]) -> None:
        """Check what is asked both ways."""
        self.workspace.lay(self.overlays)
        self.workspace.look_again()
        for paths in asked:
            self.checks += 1
            kept, fresh = told(self.workspace.check(paths)), told(check(paths, self.settings, dict(self.overlays)))
            crashes = [one for one in fresh if isinstance(one, Finding) and one.code == "TRL003"]
            self.wrong += [f"{self.done[-4:]}: {one}" for one in crashes]
            if kept != fresh:
                difference = sorted({*map(repr, kept)} ^ {*map(repr, fresh)})[:3]
                names = [os.path.relpath(path, self.folder) for path in paths]
                self.wrong.append(f"{self.done[-4:]}: {names}: {difference}")

    # -- steps ----------------------------------------------------------------------------------------------------

    def type(self) -> None:
        path, edit = self.chance.choice(self.open), self.chance.choice(EDITS)
        lines = self._content(path).splitlines(keepends=True) or [b"\n"]
        edit(lines, self.chance)
        self.overlays[path] = b"".join(lines)
        self._note(f"{edit.__name__} in", path)

    def type_anywhere(self) -> None:
        """Type into the midst of a line, or take something out of it."""
        path = self.chance.choice(self.open)
        text = self._content(path).decode("utf-8", "surrogateescape")
        start, end, typed = random_edit(text, self.chance)
        self.overlays[path] = f"{text[:start]}{typed}{text[end:]}".encode("utf-8", "surrogateescape")
        self._note(f"put {typed!r} for {text[start:end]!r} at {start} in", path)

    def save(self) -> None:
        path = self.chance.choice(list(self.overlays))
        Path(path).write_bytes(self.overlays.pop(path))
        self._note("save", path)

    def close(self) -> None:
        path = self.open.pop(self.chance.randrange(len(self.open)))
        self.overlays.pop(path, None)
        self._note("close", path)
        self._open_one()

    def _open_one(self) -> None:
        found = [path for path in files_of(self.folder) if path not in self.open]
        while found and len(self.open) < _OPEN:
            path = found.pop(self.chance.randrange(len(found)))
            self.open.append(path)
            self._note("open", path)

    def create(self) -> None:
        name, contents = self.chance.choice(_CREATED)
        folders = sorted({os.path.dirname(path) for path in files_of(self.folder)} | {self.folder})
        path = os.path.join(self.chance.choice(folders), name)
        Path(path).write_bytes(self.chance.choice(contents))
        self._note("create", path)

    def edit_on_disk(self) -> None:
        path, edit = self.chance.choice(files_of(self.folder)), self.chance.choice(EDITS)
        lines = Path(path).read_bytes().splitlines(keepends=True) or [b"\n"]
        edit(lines, self.chance)
        Path(path).write_bytes(b"".join(lines))
        self._note(f"{edit.__name__} on disk in", path)

    def delete(self) -> None:
        path = self.chance.choice([path for path in files_of(self.folder) if path not in self.open])
        os.unlink(path)
        self._note("delete", path)

    def rename(self) -> None:
        path = self.chance.choice([path for path in files_of(self.folder) if path not in self.open])
        os.rename(path, os.path.join(os.path.dirname(path), f"moved_{os.path.basename(path)}"))
        self._note("rename", path)

    def _content(self, path: str) -> bytes:
        return self.overlays[path] if path in self.overlays else Path(path).read_bytes()

    def _note(self, what: str, path: str) -> None:
        self.done.append(f"{what} {os.path.relpath(path, self.folder)}")


def told(result: Result) -> list[object]:
    """All that a result says."""
    return [*result.findings, *result.notices, *sorted(result.problems)]


def files_of(folder: str) -> list[str]:
    """The files that a person may open, in order."""
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _LEFT_ALONE)
        found += [os.path.join(where, name) for name in sorted(names)]
    return found


@cache
def _fixtures() -> list[Path]:
    return sorted(FIXTURES.glob("TRL*/*/"))


def some_fixtures(folder: Path, chance: random.Random) -> None:
    """Lay a few fixtures out as the parts of one project, or one as the whole of it."""
    fixtures = chance.sample(_fixtures(), chance.choice((1, 2, 3)))
    for number, fixture in enumerate(fixtures):
        shutil.copytree(fixture, folder / f"part{number}" if len(fixtures) > 1 else folder, dirs_exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)


def play(number: int, seed: str, steps: int, projects: Sequence[str] = (), kind: type[History] = History) -> History:
    """One history from beginning to end, in a folder of its own."""
    chance = random.Random(f"{seed} {number}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(os.path.realpath(scratch), "project")
        if projects:
            ignored = shutil.ignore_patterns(".trl_lint_cache", ".git")
            shutil.copytree(chance.choice(projects), folder, symlinks=True, ignore=ignored)
            (folder / ".git").mkdir()
        else:
            folder.mkdir()
            some_fixtures(folder, chance)
        history = kind(str(folder), chance)
        history.run(steps)
        return history


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.histories")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--server", action="store_true")
    parser.add_argument("--structure", action="store_true")
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args(arguments)
    kind = History
    if args.server:
        from benchmarks.server_edits import Served

        kind = Served
    if args.structure:
        from benchmarks.structure_edits import Restructured

        kind = Restructured
    kind.one = args.one
    wrong = checks = steps = 0
    for number in range(args.first, args.first + args.count):
        history = play(number, args.seed, args.steps, args.folders, kind)
        checks += history.checks
        steps += len(history.done)
        wrong += bool(history.wrong)
        for each in history.wrong[:1]:
            print(f"history {number}: {each}", flush=True)
    print(f"{args.count} histories, {steps} steps, {checks} checks: {wrong} histories in which something else was said")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
