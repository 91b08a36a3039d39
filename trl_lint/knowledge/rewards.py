"""How the trainers of trl call reward functions: `rules/semantics/rewards.toml`."""

from __future__ import annotations

from functools import cache

from trl_lint.knowledge.rows import read_table
from trl_lint.records import NamedTuple


class Passed(NamedTuple):
    """Keywords that a trainer passes to every reward function in some releases."""

    trainer: str
    releases: str
    names: tuple[str, ...]


class RewardCalls(NamedTuple):
    """The whole table; the fields are explained in it."""

    passed: tuple[Passed, ...]
    withheld: frozenset[str]
    none_since: str
    async_since: str

    def of(self, trainer: str) -> tuple[Passed, ...]:
        """What one trainer (its dotted public name) passes, from the oldest release on."""
        return tuple(row for row in self.passed if row.trainer == trainer)


@cache
def reward_calls() -> RewardCalls:
    table = read_table("semantics/rewards.toml")
    passed = tuple(Passed(row["trainer"], row["releases"], tuple(row["names"])) for row in table["passed"])
    return RewardCalls(passed, frozenset(table["withheld"]), table["none_since"], table["async_since"])
