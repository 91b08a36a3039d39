"""Which rule tells of what a release refuses: `rules/semantics/topics.toml`."""

from __future__ import annotations

from functools import cache

from trl_lint.knowledge.rows import read_rows
from trl_lint.records import NamedTuple


class Topic(NamedTuple):
    """`rule`: the code of who tells where all names that decide are `among` these, or one of `any` of these does."""

    rule: str
    among: frozenset[str] = frozenset()
    any: frozenset[str] = frozenset()


class _Table(NamedTuple):
    topic: tuple[Topic, ...]


def topic_of(names: frozenset[str]) -> str:
    """The rule for what rests on these names, "" where none has them for its topic.

    Raises KnowledgeError if the table is malformed.
    """
    return next((row.rule for row in _rows() if row.any & names or (len(names) > 1 and names <= row.among)), "")


@cache
def _rows() -> tuple[Topic, ...]:
    return read_rows("semantics/topics.toml", _Table).topic
