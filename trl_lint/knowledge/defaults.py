"""Defaults that changed and alter what an unchanged script does, from `rules/defaults.toml`.

The fields of the table are explained at its head.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from trl_lint.knowledge.rows import read_table
from trl_lint.records import NamedTuple

Values = dict[str, tuple[object, ...]]


class Default(NamedTuple):
    """One changed default. `old` and `new` are words for values, "" where the histories hold them; the releases
    `old_since` and `new_until` are "" where one release, `since`, says it all.
    """

    classes: tuple[str, ...]
    field: str
    package: str
    since: str
    effect: str
    level: Literal["warning", "info"]
    reference: str
    when: Values
    unless: Values
    old: str
    new: str
    body: bool
    given: bool
    old_since: str
    new_until: str
    inside: str
    beside: dict[str, str]


@cache
def defaults() -> tuple[Default, ...]:
    """Every row, the most important first. Raises ValueError if the table is malformed."""
    try:
        return tuple(_read(row) for row in read_table("defaults.toml")["default"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"defaults.toml: {type(error).__name__}: {error}") from None


def _read(row: dict[str, Any]) -> Default:
    unknown = row.keys() - Default._fields
    if unknown or row["level"] not in ("warning", "info"):
        raise TypeError(f"{row['field']}: {', '.join(sorted(unknown)) or row['level']}")
    texts = {name: row.get(name, "") for name in ("old", "new", "old_since", "new_until", "inside")}
    flags = {name: row.get(name, False) for name in ("body", "given")}
    plain = {name: row[name] for name in ("field", "package", "since", "effect", "level", "reference")}
    return Default(
        classes=tuple(row["classes"]),
        when=_values(row.get("when", {})),
        unless=_values(row.get("unless", {})),
        beside=row.get("beside", {}),
        **plain,
        **texts,
        **flags,
    )


def _values(table: dict[str, list[Any]]) -> Values:
    """TOML has no null: "None" stands for it."""
    return {name: tuple(None if value == "None" else value for value in values) for name, values in table.items()}


@cache
def defaults_of(name: str) -> tuple[Default, ...]:
    """The rows about classes (or `method`s) whose last name is this one."""
    return tuple(row for row in defaults() if any(dotted.rpartition(".")[2] == name for dotted in row.classes))
