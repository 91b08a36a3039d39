"""Compatibility facts from `rules/compat/*.toml`: advisories (`[[advisory]]`) and declared ranges (`[[range]]`).

The tables are data; their fields are explained at the head of `advisories.toml` and `trl.toml`.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from trl_lint.finding import Severity
from trl_lint.knowledge import rules_dir

if TYPE_CHECKING:
    from packaging.version import Version


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


@cache
def _tables() -> tuple[tuple[Range, ...], tuple[Advisory, ...]]:
    import tomli

    folder = os.path.join(rules_dir(), "compat")
    ranges: list[Range] = []
    advisories: list[Advisory] = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".toml"):
            continue
        path = os.path.join(folder, name)
        with open(path, "rb") as stream:
            table = tomli.load(stream)
        try:
            evidence = tuple(table.get("evidence", ()))
            ranges += [_read_range(row, evidence) for row in table.get("range", ())]
            advisories += [_read_advisory(row) for row in table.get("advisory", ())]
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path}: {type(error).__name__}: {error}") from None
    return tuple(ranges), tuple(advisories)


def _read_range(row: dict[str, Any], evidence: tuple[str, ...]) -> Range:
    return Range(
        row["package"], row["releases"], row.get("extra", ""), row["requires"], tuple(row.get("evidence", evidence))
    )


def _read_advisory(row: dict[str, Any]) -> Advisory:
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


def advisories() -> tuple[Advisory, ...]:
    """Every advisory. Raises ValueError if a table is malformed."""
    return _tables()[1]


def ranges() -> tuple[Range, ...]:
    """Every declared range. Raises ValueError if a table is malformed."""
    return _tables()[0]


@cache
def ranges_of(package: str) -> tuple[Range, ...]:
    """The declared ranges of one package."""
    return tuple(row for row in ranges() if row.package == package)


@cache
def dependents(package: str) -> tuple[str, ...]:
    """The packages that declare a range for `package`, in the order of the tables."""
    return tuple(dict.fromkeys(row.package for row in ranges() if package in row.requires))


@cache
def requirements_of(package: str) -> tuple[str, ...]:
    """The packages that some release of `package` declares a range for, in the order of the tables."""
    return tuple(dict.fromkeys(name for row in ranges_of(package) for name in row.requires))


@lru_cache(maxsize=8192)
def requirement(package: str, version: Version, dependency: str, extras: frozenset[str]) -> tuple[str, bool] | None:
    """What a release requires of a dependency: (specifier, whether it binds with these extras); None if unknown.

    What binds goes before what is only supported.
    """
    from trl_lint.knowledge.releases import parse_specifier

    supported: tuple[str, bool] | None = None
    for row in ranges_of(package):
        if dependency not in row.requires:
            continue
        releases = parse_specifier(row.releases)
        if releases is None or not releases.contains(version, prereleases=True):
            continue
        if not row.extra or row.extra in extras:
            return row.requires[dependency], True
        supported = row.requires[dependency], False
    return supported
