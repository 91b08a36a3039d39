"""Compatibility facts from `rules/compat`: advisories (`advisories.toml`), ranges that no history knows
(`others.toml`), and extras that tell what is supported (`extras.toml`).

The tables are data; their fields are explained at their heads.
What releases declare to require is in the histories; `knowledge/requirements.py` puts the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from trl_lint.finding import Severity
from trl_lint.knowledge.toml_tables import read_table
from trl_lint.records import NamedTuple

T = TypeVar("T")


class Range(NamedTuple):
    """What the releases of `package` in `releases` require: a specifier for each dependency.

    `extra` is "" where the requirement binds every installation, else the extra that brings it.
    """

    package: str
    releases: str
    extra: str
    requires: dict[str, str]
    evidence: tuple[str, ...]


class Settings(NamedTuple):
    """What a config document of one kind (`project/documents.py`) says: for each dotted key the values that count."""

    kind: str
    values: dict[str, tuple[str | int | float | bool, ...]]


class Advisory(NamedTuple):
    """A known-bad release or combination; see `advisories.toml` for the fields.

    `otherwise` is the level where no run uses one of `documents`, None where nothing is said then.
    `packages` maps names to specifiers, `extras` the names whose pin must ask for an extra to that extra.
    """

    id: str
    packages: dict[str, str]
    extras: dict[str, str]
    title: str
    message: str
    severity: Severity
    impact: str
    fix: dict[str, str]
    evidence: tuple[str, ...]
    uses: tuple[str, ...]
    patched: tuple[str, ...]
    unless: dict[str, str]
    main: bool
    documents: tuple[Settings, ...]
    otherwise: Severity | None

    @property
    def reported_at(self) -> str:
        """The package whose pin carries the finding."""
        return next(iter(self.fix or self.packages))


def _read_rows(path: str, kind: str, read: Callable[[dict[str, Any], dict[str, Any]], T]) -> tuple[T, ...]:
    """The rows of a table, each read with the table that it stands in."""
    table = read_table(path)
    try:
        return tuple(read(row, table) for row in table[kind])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: {type(error).__name__}: {error}") from None


def _read_range(row: dict[str, Any], table: dict[str, Any]) -> Range:
    evidence = tuple(row.get("evidence", table.get("evidence", ())))
    return Range(row["package"], row["releases"], row.get("extra", ""), row["requires"], evidence)


def _read_advisory(row: dict[str, Any], table: dict[str, Any]) -> Advisory:
    packages: dict[str, str] = {}
    extras: dict[str, str] = {}
    for key, specifier in row["packages"].items():
        name, _, extra = key.partition("[")
        packages[name] = specifier
        if extra:
            extras[name] = extra.rstrip("]")
    return Advisory(
        id=row["id"],
        packages=packages,
        extras=extras,
        title=row["title"],
        message=row["message"],
        severity=row["severity"],
        impact=row["impact"],
        fix=row["fix"],
        evidence=tuple(row["evidence"]),
        uses=tuple(row.get("uses", ())),
        patched=tuple(row.get("patched", ())),
        unless=row.get("unless", {}),
        main=row.get("main", False),
        documents=tuple(
            Settings(wanted["kind"], {key: tuple(values) for key, values in wanted["values"].items()})
            for wanted in row.get("documents", ())
        ),
        otherwise=row.get("otherwise"),
    )


def _read_support(row: dict[str, Any], table: dict[str, Any]) -> tuple[tuple[str, str], tuple[str, ...]]:
    return (row["package"], row["dependency"]), tuple(row["extras"])


@cache
def advisories() -> tuple[Advisory, ...]:
    """Every advisory. Raises ValueError if a table is malformed."""
    return _read_rows("compat/advisories.toml", "advisory", _read_advisory)


@cache
def ranges() -> tuple[Range, ...]:
    """Every range. Raises ValueError if a table is malformed."""
    return _read_rows("compat/others.toml", "range", _read_range)


@cache
def ranges_of(package: str) -> tuple[Range, ...]:
    """The ranges of one package."""
    return tuple(row for row in ranges() if row.package == package)


@cache
def supports() -> dict[tuple[str, str], tuple[str, ...]]:
    """(package, dependency) -> the extras whose range holds for everybody. Raises ValueError as the others do."""
    return dict(_read_rows("compat/extras.toml", "support", _read_support))
