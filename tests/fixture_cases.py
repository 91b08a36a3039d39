"""Reading the fixtures: which projects there are, and what each of them expects.

`fixtures/<CODE>/{ok,bad}_<case>/` is a small project. An expectation stands on its line (`# expect: TRL101`, several
with commas, `TRL101[warning]` to fix the level), or in a sidecar `<file>.expect` with one `LINE CODE` (in a notebook
`CELL:LINE CODE`) on each line where a comment is impossible. `<file>.fixed` is the file after `--fix --unsafe-fixes`.
`fixture.toml` may hold `args` (more arguments) and `only = true` (only the folder's code is selected).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tomli

from trl_lint.cli import main

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"

_EXPECT = re.compile(r"# *expect: *(.*)")
_WANTED = re.compile(r"([A-Z]+\d+)(?:\[(error|warning|info)\])?")
_SIDECAR = re.compile(r"(?:(\d+):)?(\d+) +(.+)")
_NEWLINE = re.compile(r"\r\n|\r|\n")


class Expectation(NamedTuple):
    """A code on a line; `cell` is the 1-based cell of a notebook, `level` is "" where any level will do."""

    path: str
    cell: int | None
    line: int
    code: str
    level: str = ""


class Case(NamedTuple):
    folder: Path

    @property
    def code(self) -> str:
        return self.folder.parent.name

    @property
    def is_bad(self) -> bool:
        return self.folder.name.startswith("bad")

    @property
    def id(self) -> str:
        return f"{self.code}/{self.folder.name}"

    def settings(self) -> dict[str, Any]:
        path = self.folder / "fixture.toml"
        return tomli.loads(path.read_text("utf-8")) if path.exists() else {}

    def args(self) -> list[str]:
        settings = self.settings()
        only = ["--select", self.code] if settings.get("only") else []
        return [*only, *settings.get("args", [])]

    def expectations(self) -> list[Expectation]:
        return list(_expectations(self.folder))

    def fixed(self) -> dict[str, bytes]:
        """Relative path -> the content the fixes shall give it."""
        found = sorted(self.folder.rglob("*.fixed"))
        return {_relative(path, self.folder).removesuffix(".fixed"): path.read_bytes() for path in found}

    def copy_to(self, folder: Path) -> Path:
        """The project alone, without what is said about it."""
        shutil.copytree(self.folder, folder, symlinks=True, ignore=_sidecars)
        return folder


def cases() -> list[Case]:
    """Every case of every code, sorted."""
    folders = (folder for code in sorted(FIXTURES.glob("TRL*")) for folder in sorted(code.iterdir()))
    return [Case(folder) for folder in folders if folder.is_dir()]


def run_json(args: list[str], capsys: Any) -> tuple[int, dict[str, Any]]:
    """Run the command line in this process, as users see it; the exit status and the JSON it printed."""
    capsys.readouterr()
    status = main(["check", ".", "--isolated", "--output-format", "json", *args])
    out = capsys.readouterr().out
    return status, json.loads(out)


def found(report: dict[str, Any]) -> list[Expectation]:
    """The findings of a JSON report in the words of the expectations."""
    return [
        Expectation(f["path"], f["start"].get("cell"), f["start"]["line"], f["code"], f["severity"])
        for f in report["findings"]
    ]


def unmatched(expected: list[Expectation], findings: list[Expectation]) -> tuple[list[str], list[str]]:
    """What is missing and what is too much, each as readable lines. Counts matter: two on a line are two."""
    plain = {e._replace(level="") for e in expected if not e.level}
    seen = [f._replace(level="") if f._replace(level="") in plain else f for f in findings]
    missing, extra = Counter(expected), Counter(seen)
    return sorted(map(_shown, (missing - extra).elements())), sorted(map(_shown, (extra - missing).elements()))


def _shown(wanted: Expectation) -> str:
    cell = f"cell {wanted.cell}, " if wanted.cell else ""
    level = f"[{wanted.level}]" if wanted.level else ""
    return f"{wanted.path}: {cell}line {wanted.line}: {wanted.code}{level}"


def _expectations(folder: Path) -> Iterator[Expectation]:
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        relative = _relative(path, folder)
        if path.suffix == ".expect":
            yield from _sidecar(path, relative.removesuffix(".expect"))
        elif path.suffix not in (".fixed", ".ipynb") and path.name != "fixture.toml":
            yield from _comments(path, relative)


def _comments(path: Path, relative: str) -> Iterator[Expectation]:
    text = path.read_bytes().decode("utf-8", "replace")
    for number, line in enumerate(_NEWLINE.split(text), 1):
        if match := _EXPECT.search(line):
            wanted = list(_WANTED.finditer(match[1]))
            assert wanted, f"{path}:{number}: no code after `expect:`"
            for code in wanted:
                yield Expectation(relative, None, number, code[1], code[2] or "")


def _sidecar(path: Path, relative: str) -> Iterator[Expectation]:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _SIDECAR.fullmatch(line.strip())
        codes = list(_WANTED.finditer(match[3])) if match else []
        assert match and codes, f"{path}:{number}: not `LINE CODE` or `CELL:LINE CODE`"
        for code in codes:
            yield Expectation(relative, int(match[1]) if match[1] else None, int(match[2]), code[1], code[2] or "")


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _sidecars(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name.endswith((".fixed", ".expect")) or name == "fixture.toml"}


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file of a folder and its bytes."""
    files = (Path(base, name) for base, _, names in os.walk(folder) for name in names)
    return {_relative(path, folder): path.read_bytes() for path in files if path.is_file()}
