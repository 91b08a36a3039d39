"""Training arguments that transformers and trl refuse together, or ignore: `rules/semantics/contradictions.toml`."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import read_table
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


@cache
def contradictions(config: str) -> tuple[Contradiction, ...]:
    """What is said about a config class (its dotted public name)."""
    return tuple(row for row in every_contradiction() if config in row.classes)


@cache
def every_contradiction() -> tuple[Contradiction, ...]:
    """All rows, in the order of the table. Raises ValueError if the table is malformed."""
    table = _table()
    known = frozenset(table["any"])
    return tuple(
        Contradiction(
            row.get("code", "TRL403"),
            row["package"],
            known if row["classes"] == "any" else frozenset(row["classes"]),
            row.get("trainer", ""),
            row["releases"],
            tuple(_condition(each) for each in row["when"]),
            row["message"],
            row.get("raises", ""),
        )
        for row in table["contradiction"]
    )


@lru_cache(maxsize=256)
def old_names(field: str, version: str) -> tuple[tuple[str, bool], ...]:
    """The old names of a field of transformers, and whether a release still takes each."""
    return tuple((row["old"], holds(row["releases"], version)) for row in _table()["alias"] if row["field"] == field)


@cache
def _table() -> dict[str, Any]:
    return read_table("semantics/contradictions.toml")


def _condition(row: dict[str, Any]) -> Condition:
    names = [name for name in row if name != "field"]
    if len(names) != 1 or names[0] not in OPERATORS:
        raise ValueError(f"contradictions.toml: a condition has a field and one operator, and this one has {row}")
    operand = row[names[0]]
    return Condition(str(row["field"]), names[0], tuple(operand) if isinstance(operand, list) else operand)
