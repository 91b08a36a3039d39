"""Which columns the trainers of trl need: `rules/models/columns.toml`."""

from __future__ import annotations

from functools import cache

from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple


class Needs(NamedTuple):
    """The columns that trainers need in some releases of trl; the fields are explained in the table."""

    trainers: tuple[str, ...]
    releases: Range
    one_of: tuple[tuple[str, ...], ...]
    fails: str
    evidence: tuple[str, ...]
    spared_by: tuple[str, ...] = ()


class Alone(NamedTuple):
    """A column with which a trainer asks for a second one."""

    trainers: tuple[str, ...]
    column: str
    asks: str
    releases: Range
    fails: str
    evidence: tuple[str, ...]
    spared_by: tuple[str, ...] = ()
    spared_by_columns: tuple[str, ...] = ()


class Columns(NamedTuple):
    """The whole table."""

    needs: tuple[Needs, ...]
    alone: tuple[Alone, ...]


@cache
def trainer_columns() -> Columns:
    """The table. Raises KnowledgeError if it is malformed."""
    return read_rows("models/columns.toml", Columns, "trl")
