"""Whether the pins of two packages miss each other, by the ranges their releases declare."""

from __future__ import annotations

from packaging.version import Version

from trl_lint.checks.pins._views import View
from trl_lint.knowledge.compat import supports
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import is_open, parse_specifier
from trl_lint.knowledge.requirements import Requirement
from trl_lint.project.packages import Package
from trl_lint.records import NamedTuple


class Conflict(NamedTuple):
    """A range that a pin misses. `binding`: pip enforces it; `always`: for every release both pins allow.

    `taken` is the release that pip takes.
    """

    specifier: str
    version: Version
    binding: bool
    always: bool
    taken: Version


def conflict_id(provider: str, name: str) -> str:
    """A name for the conflict of two packages, beside the ids of the advisories."""
    return f"{provider} -> {name}"


def read_conflict(provider: str, name: str, view: View) -> Conflict | None:
    """How the pins of two packages miss each other, None if they may fit or nobody knows."""
    other, package = view.package(provider), view.package(name)
    if other.source == "assumed":
        return None  # nothing limits the other package; TRL203 is about that
    if any(pin.kind == "url" or pin.is_other_build for pin in other.pins):
        return None  # built from other source: what it requires may depend on where that is done
    locked = other.source == package.source == "lock"
    # A target takes the place of the pins, and the package is installed where they stand.
    pins = package.pins or tuple(pin for pin in view.manifest.pins if pin.package == name)
    if not view.are_together(other.pins, pins) or is_only_limited(other):
        return None
    providers, candidates = view.candidates(provider), view.candidates(name)
    if not providers or not candidates:
        return None
    # Pins that may stand beside these narrow what pip takes; that nothing fits must hold without them.
    free = package.source == "assumed"
    possible = candidates if free else package.allowed or candidates
    found: dict[Version, Requirement] = {}
    fits = False
    for version in other.allowed or providers:
        needed = view.required(provider, version, name)
        if needed is None or needed.force == "conditional" or parse_specifier(needed.specifier) is None:
            return None  # one release about which nothing is certain is enough to make the pair possible
        if needed.force == "supported" and supports()[provider, name].is_advice:
            return None
        found[version] = needed
        fits = fits or any(holds(needed.specifier, candidate) for candidate in reversed(possible))
    version = providers[-1] if fits else next(reversed(found))
    specifier, binding = found[version].specifier, found[version].is_binding
    if binding and all(pin.is_alone for pin in other.pins) and other.pins:
        return None  # `--no-deps`: whoever wrote it knows what it requires
    if binding and locked:
        return None  # a resolver wrote both: it takes such a pair only where the project overrides the requirement
    if not binding and is_only_limited(package):
        return None
    if not fits:
        # A bare name leaves the choice to pip, and pip chooses what fits if it is told what must.
        return None if binding and free else Conflict(specifier, version, binding, not free, candidates[-1])
    if binding or " | " in other.specifier + package.specifier:
        return None  # pip finds the releases that fit; of alternatives nobody knows which is installed
    if is_open(provider, other.specifier):
        return None  # its next release may support what is newest today
    if holds(specifier, candidates[-1]):
        return None
    return Conflict(specifier, version, binding, False, candidates[-1])


def is_only_limited(package: Package) -> bool:
    """Whether nothing but constraints names a package: they install nothing."""
    return bool(package.pins) and all(pin.kind == "constraint" for pin in package.pins)
