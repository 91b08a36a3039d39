"""What releases of a package import that releases of another one do not have: `rules/contracts/<package>.txt`.

`trl_lint/knowledge/refresher/contracts_build.py` writes them. Under a line `on PACKAGE` each line is

    ENTRY | WHAT | FILE:LINE | RELEASES | RELEASES OF THE PACKAGE BELOW

`ENTRY` is `import` where the package itself cannot be imported, else the public names or modules that cannot, with
commas between them.
`WHAT` is missing: `module`, `module:name`, or `module.attribute`. `RELEASES` are ranges of releases that were read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from packaging.version import Version

from trl_lint.knowledge import KnowledgeError, read_text, text_names
from trl_lint.records import NamedTuple

Span = tuple[Version, Version]
"""The first and the last release of a range."""


class Contract(NamedTuple):
    """One line of a table. `entries`: () where the package itself cannot be imported; `lacking`: releases below."""

    package: str
    below: str
    entries: tuple[str, ...]
    what: str
    place: str
    releases: tuple[Span, ...]
    lacking: tuple[Span, ...]

    @property
    def name(self) -> str:
        """The last part of what is missing."""
        return self.what.replace(":", ".").rpartition(".")[2]

    def holds(self, version: Version, below: Version) -> bool:
        """Whether it is broken in two releases."""
        return _within(version, self.releases) and _within(below, self.lacking)


@cache
def packages() -> tuple[str, ...]:
    """The packages that have a table."""
    return tuple(name.removesuffix(".txt") for name in text_names("contracts") if name.endswith(".txt"))


@cache
def contracts(package: str) -> tuple[Contract, ...]:
    """The table of a package, () where it has none. Raises KnowledgeError where it is malformed."""
    return tuple(_rows(package)) if package in packages() else ()


def below(package: str) -> tuple[str, ...]:
    """The packages that the table of a package is about."""
    return tuple(dict.fromkeys(row.below for row in contracts(package)))


def is_broken(package: str, version: Version, other: str, release: Version, entries: tuple[str, ...]) -> bool:
    """Whether a release of a package, or one of its entries, cannot be imported beside a release of another."""
    asked = frozenset(entries)
    return any(
        row.below == other and (not row.entries or not asked.isdisjoint(row.entries)) and row.holds(version, release)
        for row in contracts(package)
    )


def _rows(package: str) -> Iterator[Contract]:
    below = ""
    for number, line in enumerate(read_text(f"contracts/{package}.txt").split("\n"), 1):
        if line.startswith("on "):
            below = line[3:]
        elif line.startswith(" "):
            parts = line[1:].split(" | ")
            if len(parts) != 5 or not below:
                raise KnowledgeError(
                    f"contracts/{package}.txt:{number}: five parts under a line `on PACKAGE` are expected"
                )
            entry, what, place, releases, lacking = parts
            entries = () if entry == "import" else tuple(entry.split(","))
            yield Contract(package, below, entries, what, place, _spans(releases), _spans(lacking))


def _spans(text: str) -> tuple[Span, ...]:
    ends = (part.partition("-") for part in text.split(","))
    return tuple((Version(first), Version(last or first)) for first, _, last in ends)


def _within(version: Version, spans: tuple[Span, ...]) -> bool:
    return any(first <= version <= last for first, last in spans)
