"""Known releases of the packages the rules are about, from `rules/releases/<package>.txt`.

One release a line: `1.16.0 2026-10-15`, with ` yanked` behind it where the index says so; the date is left out where
the index does not tell it. Thousands of lines are read as text; only what a question needs becomes a `Version`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from trl_lint import budget
from trl_lint.knowledge import read_text, text_names
from trl_lint.knowledge.specifiers import FinalSpecifiers, read_final
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version


_FLOORS = ("==", "===", ">=", "~=")
_MOST_DIGITS = 100
_ENDLESS_NUMBER = regex(rf"\d{{{_MOST_DIGITS}}}")  # no version: Python refuses to convert some thousands of digits


class Release(NamedTuple):
    """A release; `date` is ISO 8601 or ""."""

    version: str
    date: str
    yanked: bool


def known_packages() -> list[str]:
    """Packages with a list of releases."""
    return sorted(name[:-4] for name in text_names("releases") if name.endswith(".txt"))


@cache
def _lines(package: str) -> tuple[str, ...]:
    try:
        lines = read_text(f"releases/{package}.txt").splitlines()
    except OSError:
        return ()
    return tuple(line for line in lines if line and not line.startswith("#"))


@cache
def release_names(package: str) -> dict[str, None]:
    """The known releases of a package as they are spelled, oldest first; empty if nothing is known."""
    return dict.fromkeys(line.split(None, 1)[0] for line in _lines(package))


@cache
def releases(package: str) -> tuple[Release, ...]:
    """The known releases of a package (its PEP 503 name), oldest first; empty if nothing is known."""
    return tuple(map(_read_line, _lines(package)))


@cache
def days(package: str) -> dict[str, str]:
    """The day (ISO 8601) of each release of a package, "" where the list has none."""
    return {release.version: release.date for release in releases(package)}


def _read_line(line: str) -> Release:
    version, *rest = line.split()
    yanked = "yanked" in rest
    return Release(version, next((word for word in rest if word != "yanked"), ""), yanked)


def _is_endless(text: str) -> bool:
    if _ENDLESS_NUMBER.search(text) is None:
        return False
    budget.limit(_MOST_DIGITS, "a release with {} digits in a row was not understood")
    return True


@lru_cache(maxsize=4096)
def parse_version(text: str) -> Version | None:
    """The version a text spells, None if it is not one."""
    from packaging.version import InvalidVersion, Version

    if _is_endless(text):
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


@lru_cache(maxsize=4096)
def parse_specifier(text: str) -> FinalSpecifiers | SpecifierSet | None:
    """A specifier set, None if it is none. Local labels (`+cu121`) are dropped: the lists of releases have none."""
    if _is_endless(text):
        return None
    clauses = [
        clause.split("+", 1)[0] if not clause.strip().startswith("===") else clause for clause in text.split(",")
    ]
    text = ",".join(clauses)
    if (found := read_final(text)) is not None:
        return found
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None


@cache
def versions(package: str) -> tuple[Version, ...]:
    """Every known release as a Version, oldest first, pre-releases and yanked ones included."""
    found = (parse_version(release.version) for release in releases(package))
    return tuple(sorted(version for version in found if version is not None))


@cache
def installable(package: str) -> tuple[Version, ...]:
    """The releases pip would take when nothing asks for a pre-release or a yanked one, oldest first."""
    yanked = {parse_version(release.version) for release in releases(package) if release.yanked}
    return tuple(v for v in versions(package) if not v.is_prerelease and v not in yanked)


@cache
def newest(package: str) -> Version | None:
    """The newest known final release, None if nothing is known about the package."""
    return next(newest_finals(package), None)


def newest_finals(package: str) -> Iterator[Version]:
    """The final releases of a package that are not yanked, the newest first, each read when it is asked for."""
    for line in reversed(_lines(package)):  # the lists are sorted, and hundreds of releases take a while to read
        release = _read_line(line)
        version = None if release.yanked else parse_version(release.version)
        if version is not None and not version.is_prerelease:
            yield version


@lru_cache(maxsize=4096)
def ends_of(specifier: str) -> tuple[Version, ...]:
    """The releases that a range names as the first or last of what it lets in, oldest first: somebody has seen them."""
    clauses = parse_specifier(specifier)
    ends = [clause.version for clause in clauses or () if clause.operator in (">=", "<=", "~=")]
    named = {version for version in map(parse_version, ends) if version is not None}
    return tuple(sorted(version for version in named if clauses is not None and clauses.contains(version)))


@lru_cache(maxsize=4096)
def allowed(package: str, specifier: str) -> tuple[Version, ...] | None:
    """The known releases a specifier allows, oldest first, as pip chooses them; None if nothing is known.

    Pre-releases count only if the specifier names one or nothing else fits, a yanked release only if `==` asks for it.
    """
    if exact := _exact(package, specifier):
        return (exact,)
    specifiers = parse_specifier(specifier)
    if specifiers is None or not releases(package):
        return None
    if not specifier:
        return installable(package)
    yanked = _yanked(package)
    if specifiers.prereleases:
        pool = tuple(version for version in versions(package) if str(version) not in yanked)
    else:
        pool = installable(package)
    found = tuple(version for version in pool if specifiers.contains(version, prereleases=True))
    if found:
        return found
    # pip takes a yanked or a pre-release only where nothing else can satisfy the requirement.
    is_exact = any(clause.operator in ("==", "===") and not clause.version.endswith(".*") for clause in specifiers)
    rest = [v for v in versions(package) if specifiers.contains(v, prereleases=True)]
    return tuple(v for v in rest if is_exact or str(v) not in yanked)


def _exact(package: str, specifier: str) -> Version | None:
    """The release that `==1.2.3` names, if it is listed by that very name: the usual pin, which needs no more work."""
    wanted = specifier.removeprefix("==")
    is_listed = wanted != specifier and wanted in release_names(package)
    return parse_version(wanted) if is_listed else None


@lru_cache(maxsize=4096)
def is_open(package: str, specifier: str) -> bool:
    """Whether a release newer than all that are known may satisfy a specifier, or one that no list of releases has.

    The lists have every release of the index at their date, so what none of them satisfies below the newest one is not
    there. Development versions and local builds come from elsewhere, and `===` compares words.
    """
    last = newest(package)
    specifiers = parse_specifier(specifier)
    if last is None or specifiers is None or "+" in specifier:
        return True
    if any(clause.operator == "===" or ".dev" in clause.version for clause in specifiers):
        return True
    return not any(_is_capped(clause.operator, clause.version, last) for clause in specifiers)


def _is_capped(operator: str, text: str, last: Version) -> bool:
    """Whether a clause excludes every version behind the last known release."""
    version = parse_version(text.removesuffix(".*"))
    if version is None:
        return False
    if operator in ("<", "<=") or (operator == "==" and not text.endswith(".*")):
        return version <= last
    if operator not in ("==", "~="):
        return False
    # `~=1.4.2` and `==1.4.*` end where the last number but one, or the last, goes up.
    series = version.release[: -1 if operator == "~=" else None]
    return bool(series) and (*series[:-1], series[-1] + 1) <= last.release


def newer_than_known(package: str, specifier: str) -> str:
    """The version by which a specifier excludes all known releases, "1.17.0" or ">1.16.0"; "" where it does not."""
    last = newest(package)
    specifiers = parse_specifier(specifier)
    if last is None or specifiers is None or allowed(package, specifier) or not is_open(package, specifier):
        return ""
    for clause in specifiers:
        version = parse_version(clause.version.removesuffix(".*"))
        if version is not None and clause.operator == ">" and version >= last:
            return f">{version}"
        if version is not None and clause.operator in _FLOORS and version > last:
            return str(version)
    return ""


def is_impossible(package: str, version: Version) -> bool:
    """Whether there never was such a release: one before the newest known release that the list does not have."""
    last = newest(package)
    # A development version was never released, but a checkout may carry it.
    return last is not None and version < last and not version.is_devrelease and version not in versions(package)


@cache
def _yanked(package: str) -> frozenset[str]:
    return frozenset(release.version for release in releases(package) if release.yanked)
