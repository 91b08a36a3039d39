"""Whether the pins of two packages miss each other, by the ranges their releases declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from trl_lint.checks.pins._views import View, may_be_together, requested_extras
from trl_lint.knowledge.compat import requirement
from trl_lint.knowledge.releases import parse_specifier

if TYPE_CHECKING:
    from packaging.version import Version


class Conflict(NamedTuple):
    """A range that a pin misses. `binding`: pip enforces it; `always`: for every release both pins allow."""

    specifier: str
    version: Version
    binding: bool
    always: bool


def conflict_id(provider: str, name: str) -> str:
    """A name for the conflict of two packages, beside the ids of the advisories."""
    return f"{provider} -> {name}"


def read_conflict(provider: str, name: str, view: View) -> Conflict | None:
    """How the pins of two packages miss each other, None if they may fit or nobody knows."""
    other, package = view.package(provider), view.package(name)
    if other.source == "assumed":
        return None  # nothing limits the other package; TRL203 is about that
    locked = other.source == package.source == "lock"
    if not may_be_together(other.pins, package.pins):
        return None
    providers, candidates = view.candidates(provider), view.candidates(name)
    if not providers or not candidates:
        return None
    extras = requested_extras(other)
    found: list[tuple[Version, str, bool, bool]] = []
    for version in providers:
        needed = requirement(provider, version, name, extras)
        if needed is None:
            return None  # one release about which nothing is known is enough to make the pair possible
        specifiers = parse_specifier(needed[0])
        if specifiers is None:
            return None
        fits = any(specifiers.contains(candidate, prereleases=True) for candidate in candidates)
        found.append((version, needed[0], needed[1], fits))
    version, specifier, binding, fits = found[-1]
    if binding and locked:
        return None  # a resolver wrote both: it takes such a pair only where the project overrides the requirement
    if not any(fit for *_, fit in found):
        # A bare name leaves the choice to pip, and pip chooses what fits if it is told what must.
        free = package.source == "assumed"
        return None if binding and free else Conflict(specifier, version, binding, not free)
    if binding or " | " in other.specifier + package.specifier:
        return None  # pip finds the releases that fit; of alternatives nobody knows which is installed
    newest = parse_specifier(specifier)
    if newest is None or newest.contains(candidates[-1], prereleases=True):
        return None
    return Conflict(specifier, version, binding, False)
