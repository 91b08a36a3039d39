"""A package as one manifest sees it: what pip can still choose, and which pins belong together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trl_lint.finding import Applicability, Fix, Location
from trl_lint.knowledge.compat import dependents, requirement
from trl_lint.knowledge.releases import parse_specifier
from trl_lint.project.environment import Package, resolve
from trl_lint.project.pins import Manifest, Pin, is_manifest

if TYPE_CHECKING:
    from packaging.version import Version

    from trl_lint.project import Project
    from trl_lint.project.environment import Environment

# A branch moves on; a tag or a commit does not.
_MOVING = re.compile(r"git\+[^@]*://[^@#]*(?:@(?:main|master|HEAD))?(?:#.*)?$")


class View:
    """The packages a manifest and its surroundings pin.

    An inert pin counts only here, and only where nothing else in the manifest pins the package: it documents what the
    authors install by hand.
    """

    def __init__(self, manifest: Manifest, project: Project) -> None:
        self.manifest = manifest
        self.environment: Environment = project.environment(manifest.path)
        self.names = {pin.package for pin in manifest.pins}
        self._inert = {pin.package for pin in manifest.pins if pin.kind == "inert"}
        self._is_document = manifest.kind in ("readme", "shell", "makefile")
        self._inert -= {pin.package for pin in manifest.pins if pin.kind != "inert"}

    def package(self, name: str) -> Package:
        if name in self._inert:
            pins = [pin._replace(kind="requirement") for pin in self.manifest.pins if pin.package == name]
            found = resolve(name, pins)
            if found is not None:
                return found
        package = self.environment.package(name)
        if self._is_document and package.source != "target":
            # What a README or script installs is one way among several: only its own commands belong together.
            return resolve(name, self.manifest.pins) or Package(name)
        return package

    def is_inert(self, name: str) -> bool:
        return name in self._inert

    def is_mentioned(self, name: str) -> bool:
        """Whether anything says that the package gets installed."""
        package = self.package(name)
        return (bool(package.pins) or package.source == "target") and not package.is_own

    def reported(self, name: str) -> list[Pin]:
        """The pins of a package that a finding of this manifest may stand at, each place once.

        They are the ones that limit it, where any does. Those of an included file belong to that file where it is a
        manifest by its own name; a constraint belongs to whoever includes it. Where a lock decides, it is the place.
        """
        if not self.manifest.is_lock and self.package(name).source == "lock":
            return []
        mine = [
            pin
            for pin in self.manifest.pins
            if pin.package == name
            and pin.kind != "url"
            and (
                pin.location.path == self.manifest.path
                or pin.kind == "constraint"
                or not is_manifest(pin.location.path)
            )
        ]
        limiting = [pin for pin in mine if pin.specifier] or mine
        return list({pin.location: pin for pin in limiting}.values())

    def candidates(self, name: str) -> tuple[Version, ...] | None:
        """The allowed releases of a package, less those that an exactly pinned package rules out; None if unknown."""
        package = self.package(name)
        allowed = package.allowed
        if allowed is None or (len(allowed) == 1 and package.source != "assumed"):
            return allowed
        if package.source == "assumed":
            from trl_lint.knowledge.releases import installable

            allowed = installable(name)
        for other in dependents(name):
            provider = self.package(other)
            if provider.resolved is None or provider.source == "assumed" or len(provider.allowed or ()) != 1:
                continue
            needed = requirement(other, provider.resolved, name, requested_extras(provider))
            specifiers = parse_specifier(needed[0]) if needed is not None and needed[1] else None
            if specifiers is not None:
                narrowed = tuple(v for v in allowed if specifiers.contains(v, prereleases=True))
                allowed = narrowed or allowed
        return allowed[-1:] if package.source == "assumed" else allowed


def requested_extras(package: Package) -> frozenset[str]:
    """The extras that some pin of the package asks for."""
    return frozenset(extra for pin in package.pins for extra in pin.extras)


def may_be_together(first: tuple[Pin, ...], second: tuple[Pin, ...]) -> bool:
    """Whether the pins of two packages can hold in one installation: not in two extras, not under two markers."""
    if not first or not second:
        return True
    return any(_fit(one, other) for one in first for other in second)


def _fit(one: Pin, other: Pin) -> bool:
    groups = not one.group or not other.group or one.group == other.group
    markers = not one.marker or not other.marker or one.marker == other.marker
    return groups and markers


def is_moving_branch(package: Package) -> bool:
    """Whether the package comes from the tip of a repository: newer than every release that is listed."""
    urls = [pin.url for pin in package.pins if pin.kind == "url"]
    return bool(urls) and all(_MOVING.match(url) for url in urls)


def pinned_here(package: Package) -> tuple[Location, ...]:
    """The places that pin a package, as related places of a finding."""
    return tuple(pin.location._replace(message=f"{package.name} is pinned here") for pin in package.pins[:3])


def shown(name: str, package: Package) -> str:
    """A package with its version or pin, for a message."""
    if package.source in ("assumed", "unknown") and package.resolved is not None:
        return f"{name} {package.resolved} (assumed: the newest known release)"
    if package.source == "unknown":
        return f"{name} from its repository" if any(pin.url for pin in package.pins) else f"{name}{package.specifier}"
    if package.allowed is not None and len(package.allowed) == 1:
        return f"{name} {package.resolved}"
    return f"{name}{package.specifier}"


def edit_specifier(pin: Pin, specifier: str, applicability: Applicability) -> Fix | None:
    """Bring a pin into a range; None where its text cannot be edited.

    Withheld for inert pins (nothing would change), locks (they are generated), and everything that is not one
    contiguous stretch of text.
    """
    from trl_lint.finding import Edit

    place = pin.specifier_location
    if place is None or pin.kind in ("inert", "lock", "url"):
        return None
    wanted = nearest_pin(pin, specifier)
    if wanted == pin.specifier:
        return None
    return Fix(f"require {pin.package}{wanted}", applicability, (Edit(place.path, place.start, place.end, wanted),))


def nearest_pin(pin: Pin, specifier: str) -> str:
    """The range itself, but an exact pin stays exact: the release in the range that is nearest to it."""
    from trl_lint.knowledge.releases import allowed, parse_version

    exact = pin.specifier.startswith("==") and "," not in pin.specifier and "*" not in pin.specifier
    version = parse_version(pin.specifier[2:]) if exact else None
    fitting = allowed(pin.package, specifier) if version is not None else None
    if version is None or not fitting:
        return specifier
    lower = [candidate for candidate in fitting if candidate < version]
    higher = [candidate for candidate in fitting if candidate > version]
    return f"=={higher[0] if higher else lower[-1]}" if lower or higher else specifier
