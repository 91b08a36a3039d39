"""How many objects functions of libraries give, and what is in a batch: `rules/semantics/results.toml`."""

from __future__ import annotations

from functools import cache

from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple


class Result(NamedTuple):
    """One function in some releases; the fields are explained in the table."""

    call: str
    package: str
    releases: Range
    number: int
    shown: str


class Batch(NamedTuple):
    """Columns that trainers put into a batch in some releases of trl, and the methods that get it."""

    trainers: tuple[str, ...]
    methods: frozenset[str]
    columns: frozenset[str]
    releases: Range

    @property
    def others(self) -> str:
        """The releases that do not."""
        sign, since = self.releases[: -len(self.releases.lstrip("<>="))], self.releases.lstrip("<>=")
        return f">={since}" if sign == "<" else f"<{since}"

    def fault(self) -> str:
        """What is wrong with a row, "" if nothing is."""
        return "" if self.releases[:1] in "<>" and "," not in self.releases else "`releases`: one bound is expected"


class _Table(NamedTuple):
    evidence: tuple[str, ...]
    result: tuple[Result, ...]
    batch: tuple[Batch, ...]


def results() -> tuple[Result, ...]:
    """Every row about results. Raises KnowledgeError if the table is malformed."""
    return _table().result


def batches_of(trainer: str) -> tuple[Batch, ...]:
    """The rows about the batches of a trainer, by its dotted name."""
    return tuple(row for row in _table().batch if trainer in row.trainers)


@cache
def _table() -> _Table:
    return read_rows("semantics/results.toml", _Table, "trl")
