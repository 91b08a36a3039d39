"""How the trainers of a release check their batch sizes: `rules/semantics/groups.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Literal

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple


class GroupRule(NamedTuple):
    """What some releases ask of the sizes of a run that compares answers in groups; the table tells the fields."""

    releases: Range
    train: Literal["none", "global", "effective", "generation"]
    eval: Literal["none", "groups", "own"]
    classes: frozenset[str] = frozenset()
    package: str = "trl"
    command: str = ""
    method: Mapping[str, str] = {}
    takes_one: bool = False
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
def group_rule_of_command(package: str, command: str, version: str) -> GroupRule | None:
    """What a release of a framework asks of a command, None if it asks nothing that is known."""
    rules = (rule for rule in group_rules() if (rule.package, rule.command) == (package, command))
    return next((rule for rule in rules if holds(rule.releases, version)), None) if command else None


@lru_cache(maxsize=512)
def group_rule(config: str, version: str) -> GroupRule | None:
    """What a release of trl asks of a config class (its dotted public name), None if it asks nothing that is known."""
    rules = (rule for rule in group_rules() if config in rule.classes and holds(rule.releases, version))
    return next(rules, None)
