"""How the trainers of a release check their batch sizes: `rules/semantics/groups.toml`."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import read_table
from trl_lint.records import NamedTuple


class GroupRule(NamedTuple):
    """What one release asks of the sizes of a GRPO or RLOO run; the fields are explained in the table."""

    train: Literal["none", "global", "effective", "generation"]
    whole_steps: bool
    excludes_both: bool
    eval: Literal["none", "groups", "own"]
    checks_alone: bool
    trainer: str


@cache
def _rows() -> tuple[tuple[frozenset[str], str, GroupRule], ...]:
    table = read_table("semantics/groups.toml")
    return tuple(
        (
            frozenset(row["classes"]),
            row["releases"],
            GroupRule(
                row["train"],
                row.get("whole_steps", False),
                row.get("excludes_both", False),
                row["eval"],
                row.get("checks_alone", False),
                row.get("trainer", ""),
            ),
        )
        for row in table["groups"]
    )


@lru_cache(maxsize=512)
def group_rule(config: str, version: str) -> GroupRule | None:
    """What a release of trl asks of a config class (its dotted public name), None if it asks nothing that is known."""
    rules = (rule for classes, releases, rule in _rows() if config in classes and holds(releases, version))
    return next(rules, None)
