"""How the trainers of a release check their batch sizes: `rules/semantics/groups.toml`."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple


class GroupRule(NamedTuple):
    """What some releases ask of the sizes of a GRPO or RLOO run; the fields are explained in the table."""

    classes: frozenset[str]
    releases: Range
    train: Literal["none", "global", "effective", "generation"]
    eval: Literal["none", "groups", "own"]
    whole_steps: bool = False
    excludes_both: bool = False
    checks_alone: bool = False
    trainer: str = ""


class _Table(NamedTuple):
    evidence: tuple[str, ...]
    groups: tuple[GroupRule, ...]


@cache
def group_rules() -> tuple[GroupRule, ...]:
    """Every row. Raises KnowledgeError if the table is malformed."""
    return read_rows("semantics/groups.toml", _Table, "trl").groups


@lru_cache(maxsize=512)
def group_rule(config: str, version: str) -> GroupRule | None:
    """What a release of trl asks of a config class (its dotted public name), None if it asks nothing that is known."""
    rules = (rule for rule in group_rules() if config in rule.classes and holds(rule.releases, version))
    return next(rules, None)
