"""What `--to` and `--from` name: a release, a range, the newest one, or a tag of the package's repository."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import Version

from trl_lint.knowledge.releases import allowed, installable, known_packages, newest, parse_specifier, parse_version
from trl_lint.knowledge.releases import versions as every_release
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.requirements import normalised
from trl_lint.words import nearest

LATEST = "latest"
_GOAL = regex(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:@(?P<tag>[^@]+)|(?P<range>[=<>!~][^@]*))?")
_TAG = regex(r"(?:refs/tags/)?v?(?P<version>\d.*)")


class GoalError(Exception):
    """A goal that cannot be read; the text says what is wrong with it."""


class Goal(NamedTuple):
    """The releases of a package (its PEP 503 name) that would do, oldest first; never none.

    `is_exact`: one release was named, and no other will do.
    """

    package: str
    releases: tuple[Version, ...]
    is_exact: bool


def read_goals(values: Iterable[str]) -> dict[str, Goal] | None:
    """What all values name together, by package; None for a bare `latest`, or for no value at all: everything.

    Raises GoalError.
    """
    given = [value.strip() for value in values]
    if not given or given == [LATEST]:
        return None
    if LATEST in given:
        raise GoalError("`latest` alone means every package; name packages as in `--to trl==latest`")
    goals: dict[str, Goal] = {}
    for value in given:
        goal = read_goal(value)
        if goal.package in goals:
            raise GoalError(f"{goal.package} is named twice")
        goals[goal.package] = goal
    return goals


def read_goal(value: str) -> Goal:
    """One value: `trl`, `trl==1.16.0`, `trl==latest`, `trl>=1.10,<1.16`, `trl@v1.16.0`. Raises GoalError."""
    match = _GOAL.fullmatch("".join(value.split()))
    if match is None:
        raise GoalError(f"`{value}` is not of the form PACKAGE==VERSION, such as trl==1.16.0")
    package = normalised(match["name"])
    if newest(package) is None:
        guess = nearest(package, known_packages())
        raise GoalError(f"the releases of {package} are not known" + (f"; did you mean {guess}?" if guess else ""))
    specifier = match["range"] or ""
    if match["tag"]:
        specifier = _of_tag(package, match["tag"])
    if specifier in ("", f"=={LATEST}"):
        return Goal(package, installable(package), False)
    if parse_specifier(specifier) is None:
        raise GoalError(f"`{specifier}` is not a version or a range, in `{value}`")
    found = allowed(package, specifier)
    if not found:
        raise GoalError(f"no known release of {package} is {specifier}; the newest known one is {newest(package)}")
    return Goal(package, found, len(found) == 1)


def _of_tag(package: str, tag: str) -> str:
    """The release that a tag names, as a specifier."""
    if tag == LATEST:
        return ""
    match = _TAG.fullmatch(tag)
    version = parse_version(match["version"]) if match is not None else None
    if version is None or version not in every_release(package):
        raise GoalError(f"no known release of {package} has the tag `{tag}`")
    return f"=={version}"
