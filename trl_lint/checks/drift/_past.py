"""Where something is found that the releases in use lack: which package's releases have it, and what they announced."""

from __future__ import annotations

from collections.abc import Iterable

from trl_lint.checks.drift._calls import accepts, parameter
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.presence import ChangePoints, Lookup, intervals, points_of_parameter
from trl_lint.records import NamedTuple


class Elsewhere(NamedTuple):
    """The releases of a package that have something, oldest first, and the newest of those before the one in use."""

    package: str
    releases: tuple[str, ...]
    older: str


class Past(NamedTuple):
    """Where a parameter is found outside the releases in use.

    `successor`: the parameter that the last of the older releases announced to use instead; `is_rename`: with no
    conditions, or it is known to have taken every value over.
    """

    elsewhere: Elsewhere
    successor: str
    is_rename: bool


def elsewhere(dotted: str, points: ChangePoints, newest: dict[str, str], ask: Lookup) -> Elsewhere | None:
    """Find the releases that have something which those in use lack: of the name's own package, else of a base's."""
    packages = sorted(newest, key=lambda package: package != dotted.partition(".")[0])
    for package in packages:
        having = [
            interval
            for interval in intervals(package, releases(package), points.get(package, frozenset()))
            if ask({**newest, package: interval[-1]})
        ]
        if having:
            at = positions(package)[newest[package]]
            older = [interval[-1] for interval in having if positions(package)[interval[-1]] < at]
            versions = tuple(version for interval in having for version in interval)
            return Elsewhere(package, versions, older[-1] if older else "")
    return None


def read_past(dotted: str, name: str, newest: dict[str, str]) -> Past | None:
    """Find the releases that have a parameter which those in use lack, and what they announced for it."""
    found = elsewhere(dotted, points_of_parameter(dotted, name), newest, lambda v: accepts(dotted, name, v))
    if found is None:
        return None
    last = parameter(dotted, name, {**newest, found.package: found.older}) if found.older else None
    from trl_lint.knowledge.renames import is_same_value, own_rename

    if last is None or not last.deprecated or not last.successor:
        own = own_rename(dotted, name)
        return Past(found, own.new if own is not None else "", own is not None)
    return Past(found, last.successor, last.is_rename or is_same_value(dotted, name, last.successor))


def successors(dotted: str, keywords: Iterable[str], newest: dict[str, str]) -> frozenset[str]:
    """The names that older releases announced for the keywords which those in use do not take."""
    pasts = (read_past(dotted, name, newest) for name in keywords if accepts(dotted, name, newest) is False)
    return frozenset(past.successor for past in pasts if past is not None and past.is_rename)
