"""What a framework refuses after it has read its arguments: `rules/semantics/later.toml`."""

from __future__ import annotations

from functools import lru_cache

from trl_lint.knowledge.conditions import Condition
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Ranges, read_rows
from trl_lint.records import NamedTuple


class Later(NamedTuple):
    """One row; the fields are explained in the table."""

    packages: Ranges
    command: str
    condition: str
    sentence: str
    evidence: tuple[str, ...]


class _Table(NamedTuple):
    refusal: tuple[Later, ...]


@lru_cache(maxsize=1)
def later_refusals() -> tuple[Later, ...]:
    """Every row. Raises KnowledgeError if the table is malformed."""
    return read_rows("semantics/later.toml", _Table).refusal


@lru_cache(maxsize=256)
def later_conditions(package: str, command: str, version: str) -> tuple[Condition, ...]:
    """What a release refuses later of what a command reads."""
    return tuple(
        Condition("refuse", row.condition, row.sentence, "")
        for row in later_refusals()
        if row.command == command and holds(row.packages.get(package, "<0"), version)
    )
