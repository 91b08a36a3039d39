"""Where a parameter was, or is, outside the releases in use."""

from __future__ import annotations

from typing import NamedTuple

from trl_lint.checks.drift._calls import accepts, parameter
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.presence import points_of_parameter, stretches


class Past(NamedTuple):
    """Where a parameter is found outside the releases in use.

    `package`: the one whose releases differ. `releases`: those that have it, oldest first. `successor`: the parameter
    that the last of the older ones announced to use instead; `is_rename`: with the same value.
    """

    package: str
    releases: tuple[str, ...]
    successor: str
    is_rename: bool


def read_past(dotted: str, name: str, newest: dict[str, str]) -> Past | None:
    """Find the releases that have a parameter which those in use lack: of the callee's package, else of a base's."""
    points = points_of_parameter(dotted, name)
    packages = sorted(newest, key=lambda package: package != dotted.partition(".")[0])
    for package in packages:
        having = [
            stretch
            for stretch in stretches(package, releases(package), points.get(package, frozenset()))
            if accepts(dotted, name, {**newest, package: stretch[-1]})
        ]
        if having:
            at = positions(package)[newest[package]]
            older = [stretch[-1] for stretch in having if positions(package)[stretch[-1]] < at]
            last = parameter(dotted, name, {**newest, package: older[-1]}) if older else None
            announced = last is not None and last.deprecated
            return Past(
                package,
                tuple(version for stretch in having for version in stretch),
                last.successor if last is not None and announced else "",
                last.is_rename if last is not None and announced else False,
            )
    return None
