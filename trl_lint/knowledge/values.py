"""Text values that a trainer refuses although its config takes them: `rules/semantics/values.toml`."""

from __future__ import annotations

from functools import cache

from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple


class ValueRule(NamedTuple):
    """The values a field may have with some releases of trl; the fields are explained in the table."""

    config: str
    field: str
    releases: Range
    allowed: tuple[str, ...]
    fails: str
    when: str = ""


class _Table(NamedTuple):
    evidence: tuple[str, ...]
    value: tuple[ValueRule, ...]


@cache
def value_rules(config: str) -> tuple[ValueRule, ...]:
    """The rules of a config class (its dotted public name). Raises KnowledgeError if the table is malformed."""
    return tuple(rule for rule in _rules() if rule.config == config)


@cache
def _rules() -> tuple[ValueRule, ...]:
    return read_rows("semantics/values.toml", _Table, "trl").value
