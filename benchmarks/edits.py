"""Random edits of the Python files of real projects: after each, a run with the cache has to say what one without says.

    python -m benchmarks.edits --edits 40 FOLDER…

A run after an edit re-uses what an earlier one found out about files that rest on nothing that has changed. What such
runs cost is printed beside what whole runs cost. The folders are copied first.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.processes import run

_COMMAND = (sys.executable, "-m", "trl_lint", ".", "--select", "ALL", "--output-format", "json")
_TYPED = ("x = 1", "import torch", "# a remark", "from trl import GRPOConfig", "import os, sys", "def f(: pass", "")

_PIECES = ("x", "\n", "(", ")", '"', "    ", "import trl\n", "def f():\n    pass\n", "# noqa\n", "é", ": ", "0")

Lines = list[bytes]


class Done(NamedTuple):
    """One edit: what was done, the seconds of work of a run with the cache and of one without, whether they agree."""

    what: str
    cached: float
    whole: float
    agree: bool


def delete_line(lines: Lines, chance: random.Random) -> None:
    del lines[chance.randrange(len(lines))]


def repeat_line(lines: Lines, chance: random.Random) -> None:
    number = chance.randrange(len(lines))
    lines.insert(number, lines[number])


def type_line(lines: Lines, chance: random.Random) -> None:
    number = chance.randrange(len(lines))
    indent = re.match(rb"[ \t]*", lines[number])
    lines.insert(number, (indent[0] if indent else b"") + chance.choice(_TYPED).encode() + b"\n")


def rename_word(lines: Lines, chance: random.Random) -> None:
    """One word of a line becomes another of the file: an argument, a class, a module."""
    words = re.findall(rb"[A-Za-z_]\w{2,}", b"".join(lines))
    places = [number for number, line in enumerate(lines) if re.search(rb"[A-Za-z_]\w{2,}", line)]
    if places:
        number = chance.choice(places)
        found = chance.choice(list(re.finditer(rb"[A-Za-z_]\w{2,}", lines[number])))
        lines[number] = lines[number][: found.start()] + chance.choice(words) + lines[number][found.end() :]


def drop_device(lines: Lines, chance: random.Random) -> None:
    """A tensor loses its device, and may meet others on a GPU."""
    places = [number for number, line in enumerate(lines) if b"device=" in line]
    if places:
        number = chance.choice(places)
        lines[number] = re.sub(rb",?\s*device=[\w.]+", b"", lines[number])


EDITS: tuple[Callable[[Lines, random.Random], None], ...] = (
    delete_line, repeat_line, type_line, type_line, rename_word, rename_word, drop_device, drop_device,
)  # fmt: skip


def random_edit(text: str, chance: random.Random) -> tuple[int, int, str]:
    """Type something, delete something, or write a line twice."""
    at = chance.randrange(len(text) + 1)
    kind = chance.random()
    if kind < 0.6:
        return at, at, chance.choice(_PIECES)
    if kind < 0.85:
        return at, min(len(text), at + chance.randrange(1, 40)), ""
    end = text.find("\n", at) + 1 or len(text)
    return end, end, text[text.rfind("\n", 0, at) + 1 : end]


def edit_python(files: Sequence[str], chance: random.Random) -> str:
    path, edit = chance.choice(files), chance.choice(EDITS)
    with open(path, "rb") as stream:
        lines = stream.read().splitlines(keepends=True) or [b"\n"]
    edit(lines, chance)
    with open(path, "wb") as stream:
        stream.write(b"".join(lines))
    return f"{edit.__name__} {os.path.relpath(path)}"


def python_files(folder: str) -> list[str]:
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.join(where, name) for name in sorted(names) if name.endswith(".py")]
    return found


def edit_project(folder: str, edits: int, chance: random.Random) -> list[Done]:
    """Edit files one after the other, one or two at a time, and compare the runs after each."""
    files = python_files(folder)
    run(_COMMAND, folder)
    done = []
    for _ in range(edits):
        what = " and ".join(edit_python(files, chance) for _ in range(chance.choice((1, 1, 1, 2))))
        whole = run((*_COMMAND, "--no-cache"), folder, keep_output=True)
        cached = run(_COMMAND, folder, keep_output=True)
        agree = (cached.output, cached.status) == (whole.output, whole.status) and whole.status in (0, 1)
        done.append(Done(what, cached.work, whole.work, agree))
    return done


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.edits")
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args(arguments)
    failed = 0
    for folder in args.folders:
        with tempfile.TemporaryDirectory() as scratch:
            copy = os.path.join(os.path.realpath(scratch), os.path.basename(os.path.abspath(folder)))
            shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".trl_lint_cache"))
            done = edit_project(copy, args.edits, random.Random(args.seed))
        wrong = [each for each in done if not each.agree]
        failed += len(wrong)
        for each in wrong:
            print(f"  {each.what}: the cache says something else")
        cached, whole = median(each.cached for each in done), median(each.whole for each in done)
        in_part = sum(each.cached < each.whole / 2 for each in done)
        print(
            f"{os.path.basename(copy)}: {len(done)} edits, {len(wrong)} wrong; {in_part} in less than half the work; "
            f"median {cached:.2f} s of work against {whole:.2f} s"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
