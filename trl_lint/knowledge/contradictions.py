"""Training arguments that transformers and trl refuse together, or ignore: `rules/semantics/contradictions.toml`."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal as Word

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple

Literal = str | int | float | bool
Operand = Literal | tuple[Literal, ...]


class Condition(NamedTuple):
    """One thing that must be true of a run; the fields and operators are explained in the table."""

    field: str
    operator: str
    operand: Operand


class Contradiction(NamedTuple):
    """Conditions that are not to be true together with some releases of a package.

    `raises`: what the program says when it stops, "" where it goes on and ignores one of them.
    """

    code: str
    package: str
    classes: frozenset[str]
    trainer: str
    releases: str
    when: tuple[Condition, ...]
    message: str
    raises: str


COMPARING = frozenset({"same_as", "differs_from", "not_below", "no_multiple_of"})  # whose operand is another field
OPERATORS = frozenset({"is", "is_not", "null", "above", "below", "written"}) | COMPARING


class ConditionRow(NamedTuple):
    """A condition as it is written: a field, and one of the operators with its operand."""

    field: str
    is_: Literal | tuple[Literal, ...] | None = None
    is_not: Literal | tuple[Literal, ...] | None = None
    null: bool | None = None
    above: float | None = None
    below: float | None = None
    same_as: str | None = None
    differs_from: str | None = None
    not_below: str | None = None
    no_multiple_of: str | None = None
    written: bool | None = None

    def fault(self) -> str:
        """What is wrong with the condition as a whole, "" if nothing is."""
        is_one = self.count(None) == len(self) - 2  # the field and one operator
        return "" if is_one else f"one operator is expected, of {', '.join(sorted(OPERATORS))}"

    def condition(self) -> Condition:
        """The field, its operator and the operand."""
        return next(
            Condition(self.field, name.rstrip("_"), operand)
            for name, operand in zip(self._fields[1:], self[1:], strict=True)
            if operand is not None
        )


class _Row(NamedTuple):
    package: str
    classes: Word["any"] | frozenset[str]
    releases: Range
    when: tuple[ConditionRow, ...]
    message: str
    code: Word["TRL403", "TRL404"] = "TRL403"
    trainer: str = ""
    raises: str = ""


class Alias(NamedTuple):
    """An old name that sets a field of transformers in some releases."""

    field: str
    old: str
    releases: Range


class _Table(NamedTuple):
    evidence: tuple[str, ...]
    any: frozenset[str]
    alias: tuple[Alias, ...]
    contradiction: tuple[_Row, ...]


@cache
def contradictions(config: str) -> tuple[Contradiction, ...]:
    """What is said about a config class (its dotted public name)."""
    return tuple(row for row in every_contradiction() if config in row.classes)


@cache
def every_contradiction() -> tuple[Contradiction, ...]:
    """All rows, in the order of the table. Raises KnowledgeError if the table is malformed."""
    return tuple(_contradiction(row, _table().any) for row in _table().contradiction)


def _contradiction(row: _Row, known: frozenset[str]) -> Contradiction:
    classes = row.classes if isinstance(row.classes, frozenset) else known
    when = tuple(each.condition() for each in row.when)
    return Contradiction(row.code, row.package, classes, row.trainer, row.releases, when, row.message, row.raises)


@lru_cache(maxsize=256)
def old_names(field: str, version: str) -> tuple[tuple[str, bool], ...]:
    """The old names of a field of transformers, and whether a release still takes each."""
    return tuple((row.old, holds(row.releases, version)) for row in _table().alias if row.field == field)


@lru_cache(maxsize=256)
def old_names_taken(version: str) -> tuple[bool, ...]:
    """Of every old name of the table, whether a release of transformers still takes it."""
    return tuple(holds(row.releases, version) for row in _table().alias)


@cache
def _table() -> _Table:
    return read_rows("semantics/contradictions.toml", _Table, "transformers")
