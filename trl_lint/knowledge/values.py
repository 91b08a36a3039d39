"""Text values that a trainer refuses although its config takes them: `rules/semantics/values.toml`."""

from __future__ import annotations

from functools import cache

from trl_lint.knowledge.rows import read_table
from trl_lint.records import NamedTuple


class ValueRule(NamedTuple):
    """The values a field may have with some releases of trl; the fields are explained in the table."""

    config: str
    field: str
    releases: str
    allowed: tuple[str, ...]
    fails: str
    when: str


@cache
def value_rules(config: str) -> tuple[ValueRule, ...]:
    """The rules of a config class (its dotted public name)."""
    return tuple(rule for rule in _rules() if rule.config == config)


@cache
def _rules() -> tuple[ValueRule, ...]:
    rows = read_table("semantics/values.toml")["value"]
    return tuple(
        ValueRule(row["class"], row["field"], row["releases"], tuple(row["allowed"]), row["fails"], row.get("when", ""))
        for row in rows
    )
