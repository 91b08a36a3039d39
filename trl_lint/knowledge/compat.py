"""Compatibility facts from `rules/compat`: advisories (`advisories.toml`), ranges that no history knows
(`others.toml`), extras that tell what is supported (`extras.toml`), where packages are developed
(`repositories.toml`), and those that bring nothing of the stack (`independent.toml`).

The tables are data; their fields are explained at their heads.
What releases declare to require is in the histories; `knowledge/requirements.py` puts the two together.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from trl_lint.finding import Severity
from trl_lint.knowledge.rows import Range, Ranges, read_rows
from trl_lint.records import NamedTuple

Impact = Literal["crash-at-start", "crash-later", "silent", "waste", "tool"]


class RangeRow(NamedTuple):
    """What the releases of `package` in `releases` require: a specifier for each dependency.

    `extra` is "" where the requirement binds every installation, else the extra that brings it.
    """

    package: str
    releases: Range
    requires: Ranges
    extra: str = ""
    evidence: tuple[str, ...] = ()


class Settings(NamedTuple):
    """What a config document of one kind (`project/documents.py`) says: for each dotted key the values that count."""

    kind: str
    values: dict[str, tuple[str | int | float | bool, ...]]


class Repair(NamedTuple):
    """A package that mends the fault of an advisory when it is imported first, in these releases.

    `how` is the function that does it.
    """

    package: str
    releases: Range
    how: str
    evidence: tuple[str, ...]


class Support(NamedTuple):
    """Extras of a package whose range tells which releases of a dependency it supports.

    `uses` are words, and `switches` names of options set to true, of which the code must have one for that to matter;
    both empty where it always does. `patched_by`: packages that replace the part for whoever imports them first.
    `is_advice`: other releases work as well.
    """

    package: str
    dependency: str
    extras: tuple[str, ...]
    uses: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    patched_by: tuple[Repair, ...] = ()
    is_advice: bool = False


class Advisory(NamedTuple):
    """A known-bad release or combination; see `advisories.toml` for the fields.

    `otherwise` is the level where no run uses one of `documents`, None where nothing is said then.
    `packages` maps names to specifiers, `extras` the names whose pin must ask for an extra to that extra.
    """

    id: str
    packages: Ranges
    title: str
    message: str
    severity: Severity
    impact: Impact
    fix: Ranges
    evidence: tuple[str, ...]
    extras: dict[str, str] = {}
    uses: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    patched: tuple[str, ...] = ()
    patched_by: tuple[Repair, ...] = ()
    unless: Ranges = {}
    main: bool = False
    documents: tuple[Settings, ...] = ()
    otherwise: Severity | None = None

    @property
    def reported_at(self) -> str:
        """The package whose pin carries the finding."""
        return next(iter(self.fix or self.packages))

    def fault(self) -> str:
        """What is wrong with the row as a whole, "" if nothing is."""
        if self.patched_by and not (self.uses or self.switches):
            return "`patched_by` asks what the files that match `uses` or `switches` import, and there is neither"
        others = sorted({*self.fix, *self.extras} - self.packages.keys())
        return f"`{others[0]}` is none of `packages`" if others else ""


class Repository(NamedTuple):
    """The repositories of a package, as owner/name, and how its releases are tagged ("" if nobody can tell)."""

    package: str
    at: tuple[str, ...]
    tag: str = "v{version}"


class Independent(NamedTuple):
    """A package, by the names of it and of its repository, that brings none of the stack; what it `requires`."""

    names: tuple[str, ...]
    requires: tuple[str, ...]
    evidence: tuple[str, ...]


class _Advisories(NamedTuple):
    advisory: tuple[Advisory, ...]


class _Others(NamedTuple):
    evidence: tuple[str, ...]
    range: tuple[RangeRow, ...]


class _Extras(NamedTuple):
    support: tuple[Support, ...]


class _Repositories(NamedTuple):
    evidence: tuple[str, ...]
    repository: tuple[Repository, ...]


class _Independents(NamedTuple):
    independent: tuple[Independent, ...]


# Each of these raises KnowledgeError if its table is malformed.


def advisories() -> tuple[Advisory, ...]:
    """Every advisory, and behind them those of the settings in use."""
    from trl_lint.knowledge.own import own_rows

    return (*recorded_advisories(), *own_rows(Advisory))


@cache
def recorded_advisories() -> tuple[Advisory, ...]:
    """Every advisory of `rules/`."""
    return read_rows("compat/advisories.toml", _Advisories).advisory


@cache
def ranges() -> tuple[RangeRow, ...]:
    """Every range that no history knows."""
    return read_rows("compat/others.toml", _Others).range


@cache
def ranges_of(package: str) -> tuple[RangeRow, ...]:
    """The ranges of one package."""
    return tuple(row for row in ranges() if row.package == package)


@cache
def supports() -> dict[tuple[str, str], Support]:
    """(package, dependency) -> the extras whose range holds for everybody."""
    return {(row.package, row.dependency): row for row in read_rows("compat/extras.toml", _Extras).support}


@cache
def repositories() -> dict[str, tuple[str, ...]]:
    """Package -> the repositories that are its own, as owner/name in lower case."""
    return {row.package: tuple(place.lower() for place in row.at) for row in _repositories()}


@cache
def tags() -> dict[str, str]:
    """Package -> how a release is tagged in its repository, with `{version}` in it; "" where nobody can tell."""
    return {row.package: row.tag for row in _repositories()}


@cache
def _repositories() -> tuple[Repository, ...]:
    return read_rows("compat/repositories.toml", _Repositories).repository


@cache
def independent_packages() -> tuple[Independent, ...]:
    """Every package that requires nothing of the stack."""
    return read_rows("compat/independent.toml", _Independents).independent


@cache
def independents() -> frozenset[str]:
    """The names of the packages, and repositories, that require nothing of the stack."""
    return frozenset(name for row in independent_packages() for name in row.names)
