"""Compatibility facts from `rules/compat`: advisories (`advisories.toml`), ranges that no history knows
(`others.toml`), extras that tell what is supported (`extras.toml`), where packages are developed
(`repositories.toml`), and those that bring nothing of the stack (`independent.toml`).

The tables are data; their fields are explained at their heads.
What releases declare to require is in the histories; `knowledge/requirements.py` puts the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from trl_lint.finding import Severity
from trl_lint.knowledge.rows import read_table
from trl_lint.records import NamedTuple

T = TypeVar("T")

_ADVISORY = (
    "id", "packages", "title", "message", "severity", "impact", "fix", "evidence", "uses", "switches", "patched",
    "patched_by", "unless", "main", "documents", "otherwise",
)  # fmt: skip


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


class Repair(NamedTuple):
    """A package that mends the fault of an advisory when it is imported first, in these releases (PEP 440).

    `how` is the function that does it.
    """

    package: str
    releases: str
    how: str
    evidence: tuple[str, ...]


class Support(NamedTuple):
    """Extras of a package whose range tells which releases of a dependency it supports.

    `uses` are words, and `switches` names of options set to true, of which the code must have one for that to matter;
    both empty where it always does. `patched_by`: packages that replace the part for whoever imports them first.
    """

    extras: tuple[str, ...]
    uses: tuple[str, ...]
    switches: tuple[str, ...]
    patched_by: tuple[Repair, ...]


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
    switches: tuple[str, ...]
    patched: tuple[str, ...]
    patched_by: tuple[Repair, ...]
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
    _refuse_others(row, _ADVISORY, f"advisory {row['id']}")
    if row.get("patched_by") and not (row.get("uses") or row.get("switches")):
        raise TypeError(
            f"advisory {row['id']}: `patched_by` asks what the files that match `uses` or `switches` import"
        )
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
        switches=tuple(row.get("switches", ())),
        patched=tuple(row.get("patched", ())),
        patched_by=tuple(_read_repair(repair) for repair in row.get("patched_by", ())),
        unless=row.get("unless", {}),
        main=row.get("main", False),
        documents=tuple(
            Settings(wanted["kind"], {key: tuple(values) for key, values in wanted["values"].items()})
            for wanted in row.get("documents", ())
        ),
        otherwise=row.get("otherwise"),
    )


def _read_repair(row: dict[str, Any]) -> Repair:
    _refuse_others(row, ("package", "releases", "how", "evidence"), "patched_by")
    return Repair(row["package"], row["releases"], row["how"], tuple(row["evidence"]))


def _refuse_others(row: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    """Raises TypeError for a field that nothing reads: a misspelt condition would be none."""
    others = sorted(row.keys() - set(known))
    if others:
        raise TypeError(f"{what} has no field {', '.join(map(repr, others))}")


def _read_support(row: dict[str, Any], table: dict[str, Any]) -> tuple[tuple[str, str], Support]:
    _refuse_others(row, ("package", "dependency", "extras", "uses", "switches", "patched_by"), "support")
    repairs = tuple(_read_repair(repair) for repair in row.get("patched_by", ()))
    found = Support(tuple(row["extras"]), tuple(row.get("uses", ())), tuple(row.get("switches", ())), repairs)
    return (row["package"], row["dependency"]), found


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
def supports() -> dict[tuple[str, str], Support]:
    """(package, dependency) -> the extras whose range holds for everybody. Raises ValueError as the others do."""
    return dict(_read_rows("compat/extras.toml", "support", _read_support))


@cache
def repositories() -> dict[str, tuple[str, ...]]:
    """Package -> the repositories that are its own, as owner/name in lower case. Raises ValueError as the others do."""
    return dict(_read_rows("compat/repositories.toml", "repository", _read_repository))


def _read_repository(row: dict[str, Any], table: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    return row["package"], tuple(place.lower() for place in row["at"])


@cache
def independents() -> frozenset[str]:
    """The packages, and repositories, that require nothing of the stack. Raises ValueError as the others do."""
    rows = _read_rows("compat/independent.toml", "independent", lambda row, table: tuple(row["names"]))
    return frozenset(name for names in rows for name in names)
