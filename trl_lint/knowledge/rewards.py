"""How the trainers of trl call reward functions: `rules/semantics/rewards.toml`."""

from __future__ import annotations

from functools import cache

from trl_lint.knowledge.rows import Range, Release, read_rows
from trl_lint.records import NamedTuple


class Passed(NamedTuple):
    """Keywords that a trainer passes to every reward function in some releases."""

    trainer: str
    releases: Range
    names: tuple[str, ...]


class RewardCalls(NamedTuple):
    """The whole table; the fields are explained in it."""

    evidence: tuple[str, ...]
    passed: tuple[Passed, ...]
    withheld: frozenset[str]
    none_since: Release
    async_since: Release

    def of(self, trainer: str) -> tuple[Passed, ...]:
        """What one trainer (its dotted public name) passes, from the oldest release on."""
        return tuple(row for row in self.passed if row.trainer == trainer)


@cache
def reward_calls() -> RewardCalls:
    """The table. Raises KnowledgeError if it is malformed."""
    return read_rows("semantics/rewards.toml", RewardCalls, "trl")
