"""The text of `rules/api/<package>.txt`: one symbol's lines are found by a search, nothing else of the file is parsed.

The form of the lines is told in `trl_lint.knowledge.refresher.write`, the facts in
`trl_lint.knowledge.refresher.release`.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache, lru_cache

from trl_lint.knowledge import read_history, read_text
from trl_lint.regexes import regex

Changes = tuple[tuple[int, str], ...]
"""(position of a release, value from then on), oldest first; the value "-" is absent."""

ABSENT_VALUE = "-"
_HEADER = regex(r"\n[^ ]")

# The kinds of which there are many. A search through the whole text for one that is not there takes a seventh of the
# time of finding them all, and most of what is asked for is not there: a class of that name, then a function.
_INDEXED = regex(r"\n((?:module|class|def) [^ \n]+) ")


class Block:
    """One symbol: when it was there, and its facts as lines that are parsed when asked for."""

    __slots__ = ("_index", "_known", "_rows", "_turns", "life", "lines", "package")

    def __init__(self, package: str, life: Changes, lines: tuple[str, ...]) -> None:
        self.package = package
        self.life = life
        self.lines = lines
        self._index: dict[str, str] | None = None
        self._known: dict[str, Changes] = {}
        self._rows: list[tuple[list[str], Changes]] | None = None
        self._turns: list[int] | None = None

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
                    for each in names.split(",") if "," in names else (names,):
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
        for names, changes in self._read_rows():
            value = value_at(changes, at)
            if value is not None:
                for name in names:
                    found[name] = value
        return found

    def last_change(self, at: int) -> int:
        """The last position up to another one at which any fact changed: all releases since have the same facts."""
        if self._turns is None:
            self._turns = sorted({position for _, changes in self._read_rows() for position, _ in changes})
        number = bisect_right(self._turns, at)
        return self._turns[number - 1] if number else at

    def _read_rows(self) -> list[tuple[list[str], Changes]]:
        if self._rows is None:
            parts = (line.partition(" ") for line in self.lines)
            start = self.life[0][0]
            self._rows = [(names.split(","), read_changes(self.package, rest, start)) for names, _, rest in parts]
        return self._rows

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
def text_of(package: str) -> str:
    """The whole history of a package, "" if it is not recorded.

    `models/PACKAGE`: of what it states about models, `requirements/PACKAGE`: of what it requires.
    """
    folder, _, name = package.rpartition("/")
    if not name.replace("-", "_").isidentifier() or folder not in ("", "models", "requirements"):
        return ""  # never a path of its own
    if folder:
        try:
            return read_text(f"{folder}/{name}.txt")
        except OSError:
            return ""
    text = read_history(f"api/{name}")
    return text if text is not None else read_history(f"api/{_project_of(name)}") or ""


def _project_of(module: str) -> str:
    """The project on the index whose modules begin with a name, where the two are not the same."""
    from trl_lint.knowledge.families import families

    known = (family.arguments for family in families() if family.arguments is not None)
    return next((found.package for found in known if found.imported_as == module), module)


@cache
def releases(package: str) -> tuple[str, ...]:
    """The releases of a package whose API is known, oldest first; empty if the package is not recorded."""
    text = text_of(package)
    start = text.find("\nreleases\n") + 1
    lines = _lines(text, start + len("releases\n")) if start else ()
    return tuple(version for line in lines for version in line.split())


@cache
def positions(package: str) -> dict[str, int]:
    """Release -> its position in `releases`."""
    return {version: position for position, version in enumerate(releases(package))}


@lru_cache(maxsize=4096)
def block(package: str, symbol: str) -> Block | None:
    """The block of a symbol such as `class trl.trainer.grpo_config:GRPOConfig`, None if it never was recorded."""
    text = text_of(package)
    if symbol.startswith(("module ", "class ", "def ")):
        start = _starts(package).get(symbol, -1)
    else:
        start = text.find(f"\n{symbol} ") + 1 or -1
    if start < 0:
        return None
    end_of_head = text.find("\n", start)
    head = text[start + len(symbol) + 1 : end_of_head]
    life = tuple(
        (positions(package)[version], mark or "+")
        for version, _, mark in (part.partition(" ") for part in head.split(" | "))
    )
    return Block(package, life, _lines(text, end_of_head + 1))


@lru_cache(maxsize=512)
def modules_with(package: str, name: str) -> tuple[str, ...]:
    """The modules of a package that had a name in some release."""
    text = text_of(package)
    # The tables of the modules stand together.
    first, last = text.find("\nmodule "), text.rfind("\nmodule ")
    behind = _HEADER.search(text, last + 1)
    if first < 0 or behind is None:
        return ()
    end = behind.start()
    found: dict[str, None] = {}
    at = text.find(name, first, end)
    while at >= 0:
        line = text.rfind("\n", 0, at) + 1
        if text[line] == " " and name in text[line + 1 : text.find(" ", line + 1)].split(","):
            head = text.rfind("\nmodule ", 0, line)
            found[text[head + 8 : text.find(" ", head + 8)]] = None
        at = text.find(name, at + 1, end)
    return tuple(found)


@cache
def _starts(package: str) -> dict[str, int]:
    """Where the modules, classes and functions of a package begin."""
    return {match[1]: match.start() + 1 for match in _INDEXED.finditer(text_of(package))}


def _lines(text: str, start: int) -> tuple[str, ...]:
    """The indented lines from a place on, without their indentation."""
    if not text.startswith(" ", start):
        return ()
    behind = _HEADER.search(text, start)
    end = behind.start() if behind else len(text) - 1  # the line end of the last line
    return tuple(text[start + 1 : end].split("\n "))


@lru_cache(maxsize=1024)
def is_word_of(package: str, name: str) -> bool:
    """Whether some release of a package has a name anywhere: of a module's contents, a parameter or an attribute."""
    text = text_of(package)
    return any(f"{before}{name}{after}" in text for before in ("\n ", ",") for after in (" ", ","))
