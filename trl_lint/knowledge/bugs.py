"""Faults of published releases that a run triggers by what it sets: `rules/bugs/PACKAGE.toml`, one row a fault.

`releases` is written by `python -m trl_lint.knowledge.refresh bugs`, which looks for the faulty code in each archive;
CONTRIBUTING.md tells how a row comes about. A check reads `rules/known_bugs/PACKAGE.txt` alone, where the package is in
use, which says of each row where and when it matters; the row itself is read for a finding.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from functools import cache
from typing import Literal

from trl_lint.knowledge import read_text, rules_dir, text_names, uncommented
from trl_lint.knowledge.rows import Range, Ranges, read_rows
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.words import listed

INDEX = "known_bugs"
_ALONE = regex(r" \(\{[^{}]*\}\)")  # a value in brackets behind the name of its setting

Consequence = Literal["silent", "metric", "waste", "crash-at-start", "crash-later"]
# What a crash tells by itself: the others are said first.
QUIET = frozenset({"silent", "metric", "waste"})


class Elsewhere(NamedTuple):
    """Another file that has a part in a fault: what stands in one of its lines, and what must not."""

    file: str
    text: str = ""
    lacks: str = ""


class Code(NamedTuple):
    """The faulty code: files by a pattern, the function in them (`Class.method`; "" for the whole file), what stands in
    its lines as `ast.unparse` writes them, and what only the repaired code has.
    """

    file: str = ""
    function: str = ""
    stands: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()


class Example(NamedTuple):
    """A project for the tests of a row.

    `args`: what the class of `where`, the command or the document is given, as it is written there; `trainer`: further
    arguments of a trainer; `before`: lines above the call; `launch`: a command that starts train.py; `pins`: other
    releases than the newest of the row; `files`: further files, or others in the place of those.
    """

    args: str = ""
    trainer: str = ""
    before: str = ""
    launch: str = ""
    pins: str = ""
    files: dict[str, str] = {}


class Bug(NamedTuple):
    """One fault; the head of `rules/bugs/trl.toml` explains the fields. A wheel has neither `checked` nor `code`, which
    only the release reader and the tests ask for.
    """

    id: str
    where: tuple[str, ...]
    condition: str
    title: str
    message: str
    consequence: Consequence
    evidence: tuple[str, ...]
    checked: Literal["both", "start", "end"] = "end"
    code: Code = Code()
    releases: Range = ""
    beside: Ranges = {}
    defaults: dict[str, str | bool | int | float] = {}
    symptom: str = ""
    set: dict[str, str | bool | int | float] = {}
    instead: str = ""
    twice: str = ""
    bad: tuple[str | Example, ...] = ()
    fine: tuple[str | Example, ...] = ()

    def upgrade(self, package: str) -> str:
        """The first release after the fault, "" where there is none yet."""
        from trl_lint.knowledge.ranges import holds
        from trl_lint.knowledge.releases import installable

        after = ""
        for version in reversed(list(map(str, installable(package)))):
            if holds(self.releases, version):
                break
            after = version
        return after

    @property
    def plain_message(self) -> str:
        """The message with the names of settings in the place of their values."""
        from trl_lint.knowledge.condition_sentences import filled

        return filled(_ALONE.sub("", self.message), lambda hole: f"`{hole}`")

    def remedy(self, package: str) -> str:
        """What to do about the fault, as a sentence without full stop."""
        after = self.upgrade(package)
        ways = [f"use {package}>={after}"] if after else []
        if self.set:
            ways.append("set " + listed([f"`{name}` to {value!r}" for name, value in self.set.items()]))
        if self.instead:
            ways.append(self.instead)
        text = ", or ".join(ways) or f"no release of {package} is without it yet"
        return f"{text[0].upper()}{text[1:]}"

    def fault(self) -> str:
        """What is wrong with the row as a whole, "" if nothing is."""
        from trl_lint.knowledge.condition_language import parse

        if not self.where or not self.evidence:
            return "`where` and `evidence` have one entry or more"
        if parse(self.condition) is None:
            return f"`{self.condition}` is no expression"
        if any(mark in self.id + self.condition + "".join(self.where) for mark in "\t\n"):
            return "`id`, `where` and `condition` stand in one line each"
        return ""


class _Table(NamedTuple):
    bug: tuple[Bug, ...]


class Entry(NamedTuple):
    """What a check has to know of a row: whose releases, which, beside which of others, where, and under which
    condition. `is_read`: both ends of the releases were looked at. `defaults`: of settings that no history knows.
    `words`: one of these is written wherever the condition is true; none where it may be true by default.
    """

    package: str
    id: str
    releases: str
    beside: dict[str, str]
    where: tuple[str, ...]
    defaults: dict[str, object]
    is_read: bool
    words: tuple[str, ...]
    condition: str


def packages() -> tuple[str, ...]:
    """The packages with rows, sorted."""
    return tuple(name[: -len(".toml")] for name in text_names("bugs") if name.endswith(".toml"))


@cache
def bugs(package: str) -> tuple[Bug, ...]:
    """The rows of a package, none where it has none. Raises KnowledgeError if its table is malformed."""
    return read_rows(f"bugs/{package}.toml", _Table, package).bug if package in packages() else ()


def bug_of(entry: Entry) -> Bug:
    """The whole row. Raises KnowledgeError if its table is malformed, or has it no longer."""
    return next(row for row in bugs(entry.package) if row.id == entry.id)


def named_in(message: str) -> Bug | None:
    """The row whose name ends a message of TRL206; None where there is none."""
    name = message.rpartition("[")[2].rstrip("]")
    return next((row for package in packages() for row in bugs(package) if row.id == name), None)


@cache
def indexed() -> tuple[str, ...]:
    """The packages of which a check knows rows, sorted."""
    return tuple(name[: -len(".txt")] for name in text_names(INDEX))


@cache
def entries(package: str) -> tuple[Entry, ...]:
    """The rows of a package, in the order of its table. Raises KnowledgeError where that is asked and malformed."""
    head, *lines = read_text(f"{INDEX}/{package}.txt").splitlines()
    if os.path.isdir(os.path.join(rules_dir(), "bugs")) and head != _head(package):
        lines = index_text(package).splitlines()[1:]  # somebody is at work on the table
    return tuple(_entry(package, line) for line in lines)


def called_words() -> tuple[bytes, ...]:
    """The names of classes and functions that rows are about by themselves: a file without one meets none of them.

    Trainers are none of them, which are found by the run.
    """
    places = {place for package in indexed() for entry in entries(package) for place in entry.where}
    names = {place.rpartition(".")[2] for place in places if is_called(place)}
    return tuple(sorted(map(str.encode, names))) or (b"no-row",)  # which is no word, so that no file holds it


def is_called(place: str) -> bool:
    """Whether a place of `where` is a class or a function that is no trainer."""
    return not (" " in place or place.endswith(("Trainer", ".*")) or place.startswith(("verl.", "openrlhf.")))


def index_text(package: str, words_of: Callable[[str, Bug], tuple[str, ...]] = lambda package, row: ()) -> str:
    """The contents of `rules/known_bugs/PACKAGE.txt`. Raises KnowledgeError if the table is malformed."""
    import json

    lines = [_head(package)]
    for row in bugs(package):
        beside = ";".join(f"{name}{text}" for name, text in row.beside.items())
        checked = "read" if row.checked == "both" else "half"
        where, defaults = ";".join(row.where), json.dumps(row.defaults) if row.defaults else ""
        if row.releases:
            words = " ".join(words_of(package, row))
            lines.append("\t".join((row.id, row.releases, beside, where, defaults, checked, words, row.condition)))
    return "\n".join(lines) + "\n"


def _entry(package: str, line: str) -> Entry:
    name, releases, beside, where, defaults, checked, words, condition = line.split("\t")
    others = {}
    for text in beside.split(";") if beside else ():
        other = text[: next(at for at, sign in enumerate(text) if sign in "<>=!~")]
        others[other] = text[len(other) :]
    places, known, is_read = tuple(where.split(";")), _defaults(defaults), checked == "read"
    return Entry(package, name, releases, others, places, known, is_read, tuple(words.split()), condition)


def _defaults(text: str) -> dict[str, object]:
    if not text:
        return {}
    import json

    found: dict[str, object] = json.loads(text)
    return found


def _head(package: str) -> str:
    """A line that changes with what the table says."""
    return f"checksum {zlib.crc32(uncommented(read_text(f'bugs/{package}.toml')).encode())}"
