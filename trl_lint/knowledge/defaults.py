"""Defaults that changed and alter what an unchanged script does, from `rules/defaults.toml`.

The fields of the table are explained at its head.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from trl_lint.knowledge.rows import Ranges, Release, read_rows
from trl_lint.records import NamedTuple

Values = dict[str, tuple[object, ...]]


class Default(NamedTuple):
    """One changed default. `old` and `new` are words for values, "" where the histories hold them; the releases
    `old_since` and `new_until` are "" where one release, `since`, says it all.
    """

    classes: tuple[str, ...]
    field: str
    package: str
    since: Release
    effect: str
    level: Literal["warning", "info"]
    reference: str
    when: Values = {}
    unless: Values = {}
    old: str = ""
    new: str = ""
    body: bool = False
    given: bool = False
    old_since: Release = ""
    new_until: Release = ""
    inside: str = ""
    beside: Ranges = {}


class _Table(NamedTuple):
    default: tuple[Default, ...]


@cache
def defaults() -> tuple[Default, ...]:
    """Every row, the most important first. Raises KnowledgeError if the table is malformed."""
    rows = read_rows("defaults.toml", _Table).default
    return tuple(row._replace(when=_values(row.when), unless=_values(row.unless)) for row in rows)


def _values(values: Values) -> Values:
    """TOML has no null: "None" stands for it."""
    return {name: tuple(None if value == "None" else value for value in each) for name, each in values.items()}


@cache
def defaults_of(name: str) -> tuple[Default, ...]:
    """The rows about classes (or `method`s) whose last name is this one."""
    return tuple(row for row in defaults() if any(dotted.rpartition(".")[2] == name for dotted in row.classes))
