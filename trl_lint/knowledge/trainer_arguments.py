"""What is known of the arguments of trainers: what calls of libraries give, which arguments need no name,
what is read of them in any case, and when for the last time.

`rules/semantics/objects.toml`, `trainer_positions.toml`, `read_fields.toml` and `lifetimes.toml` beside it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal

from trl_lint.knowledge.condition_things import Thing
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Range, Ranges, read_rows
from trl_lint.records import NamedTuple


class Made(NamedTuple):
    """Calls that give an object of these classes, and of none beside them unless `subclasses` of them are asked for."""

    calls: tuple[str, ...]
    gives: frozenset[str]
    is_true: bool = False
    subclasses: bool = False


class _Objects(NamedTuple):
    evidence: tuple[str, ...]
    keeps_kind: frozenset[str]
    object: tuple[Made, ...]


def keeps_kind(method: str) -> bool:
    """Whether a method of a data set gives one of the same kind. Raises KnowledgeError if the table is malformed."""
    return method in _objects().keeps_kind


@lru_cache(maxsize=1024)
def made_by(dotted: str) -> Made | None:
    """What a call of a dotted name gives; None where that is not known."""
    rows = _objects().object
    return next((row for row in rows if any(_is_like(dotted, each) for each in row.calls)), None)


def thing_of(made: Made) -> Thing:
    """A new object of the kind."""
    return Thing(made.gives, is_whole=not made.subclasses, is_true=made.is_true or None)


def _is_like(dotted: str, pattern: str) -> bool:
    """Whether a name is what a pattern says: part for part, a star for the rest of a part. Libraries export their
    classes from submodules too: what stands between the package and the last parts does not count.
    """
    parts, wanted = dotted.split("."), pattern.split(".")
    if parts[0] != wanted[0] or len(parts) < len(wanted):
        return False
    return all(map(_is_word, parts[len(parts) - len(wanted) + 1 :], wanted[1:]))


def _is_word(word: str, pattern: str) -> bool:
    begin, star, end = pattern.partition("*")
    if not star:
        return word == pattern
    return word.startswith(begin) and word.endswith(end) and len(word) > len(begin) + len(end)


@cache
def _objects() -> _Objects:
    return read_rows("semantics/objects.toml", _Objects)


class Order(NamedTuple):
    """The first arguments of trainers (class names) in some releases of a package."""

    trainers: frozenset[str]
    package: str
    releases: Range
    names: tuple[str, ...]


class _Orders(NamedTuple):
    evidence: tuple[str, ...]
    order: tuple[Order, ...]


@lru_cache(maxsize=1024)
def positions_of(trainer: str, version: str) -> tuple[str, ...]:
    """The first arguments of a trainer (its dotted name) in a release of its package, as far as they are known.

    Raises KnowledgeError if the table is malformed.
    """
    package, name = trainer.partition(".")[0], trainer.rpartition(".")[2]
    rows = (row for row in orders() if row.package == package and name in row.trainers)
    return next((row.names for row in rows if version and holds(row.releases, version)), ())


@cache
def orders() -> tuple[Order, ...]:
    """Every row. Raises KnowledgeError if the table is malformed."""
    return read_rows("semantics/trainer_positions.toml", _Orders).order


class Read(NamedTuple):
    """A field of its arguments that a trainer of trl (class name) reads in any case, in some releases."""

    trainer: str
    releases: Range
    field: str


class _Reads(NamedTuple):
    evidence: tuple[str, ...]
    read: tuple[Read, ...]


def field_read_by(trainer: str, version: str) -> str:
    """The field that a trainer of trl reads of its arguments in any case in a release; "" where none is known."""
    return next((row.field for row in fields_read() if row.trainer == trainer and holds(row.releases, version)), "")


@cache
def fields_read() -> tuple[Read, ...]:
    """Every row. Raises KnowledgeError if the table is malformed."""
    return read_rows("semantics/read_fields.toml", _Reads, "trl").read


class Lifetime(NamedTuple):
    """Fields that are read for the last time at a `moment` of some classes; the head of the table has the words."""

    moment: Literal["arguments", "trainer", "training"]
    classes: tuple[str, ...]
    releases: Ranges
    fields: frozenset[str]
    effect: str


class _Lifetimes(NamedTuple):
    lifetime: tuple[Lifetime, ...]


@cache
def lifetimes() -> tuple[Lifetime, ...]:
    """Every row. Raises KnowledgeError if the table is malformed."""
    return read_rows("semantics/lifetimes.toml", _Lifetimes).lifetime
