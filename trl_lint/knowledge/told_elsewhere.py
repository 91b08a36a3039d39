"""Sentences of releases that a rule of its own tells about: `rules/semantics/told_elsewhere.toml`.

A fact has one owner. What a release refuses by one of these sentences is found by the rule that the row names.
"""

from __future__ import annotations

from functools import cache

from trl_lint.knowledge.rows import read_rows
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_VALUE = regex(r"\{\w*\}")


class Owner(NamedTuple):
    """`begins`: how the sentence begins, without the exception, `{}` for values; `rule`: the code of who tells it;
    `configs`: for which config classes (dotted names), none for all.
    """

    begins: str
    rule: str
    configs: tuple[str, ...] = ()


class _Table(NamedTuple):
    sentence: tuple[Owner, ...]


@cache
def owners() -> tuple[Owner, ...]:
    """Every row. Raises KnowledgeError if the table is malformed."""
    return read_rows("semantics/told_elsewhere.toml", _Table).sentence


def plain(sentence: str) -> str:
    """A sentence with `{}` for every value, named or not."""
    return _VALUE.sub("{}", sentence)


def is_told_elsewhere(sentence: str, config: str) -> bool:
    """Whether a rule of its own tells of a sentence (with the exception before it) for a config class."""
    text = plain(sentence).partition(": ")[2]
    return any(text.startswith(owner.begins) for owner in owners() if not owner.configs or config in owner.configs)
