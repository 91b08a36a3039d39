"""What a warning of a release says that happens: `rules/semantics/warnings.toml`."""

from __future__ import annotations

from functools import cache
from typing import Literal

from trl_lint.knowledge.rows import read_rows
from trl_lint.records import NamedTuple

Effect = Literal["ignored", "wrong", "slow", "deprecated", "elsewhere", "none"]


class Warned(NamedTuple):
    """What happens according to a sentence with one of these words; `level`: how severe it is at most."""

    effect: Effect
    level: Literal["warning", "info"]
    says: tuple[str, ...]
    evidence: tuple[str, ...]


class _Table(NamedTuple):
    warning: tuple[Warned, ...]


def warned_of(sentence: str) -> Warned | None:
    """What a warning says; None where no row has its words.

    Raises KnowledgeError if the table is malformed.
    """
    return next((row for row in warned() if any(words in sentence for words in row.says)), None)


def warned() -> tuple[Warned, ...]:
    """Every row, in the order of the table."""
    return _table().warning


@cache
def _table() -> _Table:
    return read_rows("semantics/warnings.toml", _Table)
