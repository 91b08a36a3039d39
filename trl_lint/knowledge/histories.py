"""The text of `rules/api/<package>.txt`: one symbol's lines are found by a search, nothing else of the file is parsed.

The form of the lines is told in `trl_lint.knowledge.refresher.write`, the facts in
`trl_lint.knowledge.refresher.release`.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache

from trl_lint.knowledge import rules_dir

Changes = tuple[tuple[int, str], ...]
"""(position of a release, value from then on), oldest first; the value "-" is absent."""

ABSENT_VALUE = "-"
_OTHER_SECTIONS = ("class ", "def ", "outside", "messages", "config ", "flags ")


class Block:
    """One symbol: when it was there, and its facts as lines that are parsed when asked for."""

    __slots__ = ("_index", "_known", "life", "lines", "package")

    def __init__(self, package: str, life: Changes, lines: tuple[str, ...]) -> None:
        self.package = package
        self.life = life
        self.lines = lines
        self._index: dict[str, str] | None = None
        self._known: dict[str, Changes] = {}

    def exists(self, at: int) -> bool:
        return value_at(self.life, at) is not None

    def changes(self, name: str) -> Changes:
        """The history of one fact, empty if it never was there. Names in module tables share lines."""
        found = self._known.get(name)
        if found is None:
            if self._index is None:
                self._index = {}
                for line in self.lines:
                    names, _, rest = line.partition(" ")
                    for each in names.split(","):
                        self._index.setdefault(each, rest)
            text = self._index.get(name)
            found = () if text is None else read_changes(self.package, text, self.life[0][0])
            self._known[name] = found
        return found

    def value(self, name: str, at: int) -> str | None:
        """The value of a fact in the release at a position, None if it is absent there."""
        return value_at(self.changes(name), at)

    def values(self, at: int) -> dict[str, str]:
        """Every fact of the release at a position."""
        found: dict[str, str] = {}
        for line in self.lines:
            names, _, rest = line.partition(" ")
            value = value_at(read_changes(self.package, rest, self.life[0][0]), at)
            if value is not None:
                found.update((name, value) for name in names.split(","))
        return found

    def names(self) -> list[str]:
        """The names of all facts that ever were."""
        return [name for line in self.lines for name in line.partition(" ")[0].split(",")]


def read_changes(package: str, text: str, start: int) -> Changes:
    """`VALUE | RELEASE VALUE | RELEASE -`; an empty first part says that the fact came after the symbol."""
    if "\\x7c" in text:
        text = text.replace("\\x7c", "\x00")  # a bar inside a value
        return tuple((at, value.replace("\x00", "|")) for at, value in read_changes(package, text, start))
    head, *others = text.split(" | ") if not text.startswith("| ") else ["", *text[2:].split(" | ")]
    changes = [(start, head)] if head else []
    for part in others:
        version, _, value = part.partition(" ")
        changes.append((positions(package)[version], value))
    return tuple(changes)


def value_at(changes: Changes, at: int) -> str | None:
    found: str | None = None
    for position, value in changes:
        if position > at:
            break
        found = value
    return None if found == ABSENT_VALUE else found


@cache
def _text(package: str) -> str:
    if not package.isidentifier():  # never a path of its own
        return ""
    try:
        with open(os.path.join(rules_dir(), "api", f"{package}.txt"), encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


@cache
def releases(package: str) -> tuple[str, ...]:
    """The releases of a package whose API is known, oldest first; empty if the package is not recorded."""
    lines = _lines(_text(package), "\nreleases\n")
    return tuple(version for line in lines or () for version in line.split())


@cache
def positions(package: str) -> dict[str, int]:
    """Release -> its position in `releases`."""
    return {version: position for position, version in enumerate(releases(package))}


@lru_cache(maxsize=4096)
def block(package: str, symbol: str) -> Block | None:
    """The block of a symbol such as `class trl.trainer.grpo_config:GRPOConfig`, None if it never was recorded."""
    text = _text(package)
    start = text.find(f"\n{symbol} ")
    if start < 0:
        return None
    end_of_head = text.find("\n", start + 1)
    head = text[start + len(symbol) + 2 : end_of_head]
    life = tuple(
        (positions(package)[version], mark or "+")
        for version, _, mark in (part.partition(" ") for part in head.split(" | "))
    )
    return Block(package, life, tuple(_lines(text, f"\n{symbol} {head}\n") or ()))


@lru_cache(maxsize=512)
def modules_with(package: str, name: str) -> tuple[str, ...]:
    """The modules of a package that had a name in some release."""
    text = _text(package)
    found: dict[str, None] = {}
    at = text.find(name)
    while at >= 0:
        line = text.rfind("\n", 0, at) + 1
        if text[line] == " " and name in text[line + 1 : text.find(" ", line + 1)].split(","):
            head = text.rfind("\nmodule ", 0, line)
            other = max(text.rfind(f"\n{section}", 0, line) for section in _OTHER_SECTIONS)
            if head > other:
                found[text[head + 8 : text.find(" ", head + 8)]] = None
        at = text.find(name, at + 1)
    return tuple(found)


def _lines(text: str, header: str) -> list[str] | None:
    """The indented lines below a header, without their indentation."""
    start = text.find(header)
    if start < 0:
        return None
    start += len(header)
    end = start
    while text.startswith(" ", end):
        end = text.find("\n", end) + 1
    return [line[1:] for line in text[start:end].splitlines()]
