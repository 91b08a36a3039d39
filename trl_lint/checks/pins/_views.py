"""A package as one manifest sees it: what pip can still choose, and which pins belong together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from trl_lint.knowledge.releases import parse_specifier
from trl_lint.knowledge.requirements import Requirement, dependents, providers, requirement, requirements_of
from trl_lint.project.environment import Package, resolve
from trl_lint.project.folders import SCRIPT_KINDS
from trl_lint.project.pins import Manifest, Pin, is_manifest, kind_of
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from packaging.version import Version

    from trl_lint.checks.pins._evidence import Evidence
    from trl_lint.project import Project
    from trl_lint.project.environment import Environment

# A branch moves on; a tag or a commit does not.
_MOVING = regex(r"git\+[^@]*://[^@#]*(?:@(?:main|master|HEAD))?(?:#.*)?$")


class View:
    """The packages a manifest and its surroundings pin.

    An inert pin counts only here, and only where nothing else in the manifest pins the package: it documents what the
    authors install by hand.
    """

    def __init__(self, manifest: Manifest, project: Project) -> None:
        self.manifest = manifest
        self.project = project
        self.evidence: dict[str, Evidence | None] = {}  # by advisory; it does not depend on what the pins allow
        self._tried: Package | None = None
        self.environment: Environment = project.environment(manifest.path)
        self.names = {pin.package for pin in manifest.pins}
        self._providers: tuple[str, ...] | None = None
        self._inert = {pin.package for pin in manifest.pins if pin.kind == "inert"}
        self._is_document = manifest.kind in ("readme", "shell", "makefile")
        self._inert -= {pin.package for pin in manifest.pins if pin.kind != "inert"}

    def package(self, name: str) -> Package:
        """What is known about a package, as the manifest sees it."""
        if self._tried is not None and name == self._tried.name:
            return self._tried
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

    def with_specifier(self, pin: Pin, specifier: str) -> View | None:
        """The same view with another specifier in one pin; None where the pin is not what decides the release."""
        package = self.package(pin.package)
        pins = [*package.pins, *(p for p in self.manifest.pins if p.kind == "constraint" and p not in package.pins)]
        if pin not in pins or package.source in ("target", "lock") or package.is_own:
            return None
        changed = resolve(pin.package, [p._replace(specifier=specifier) if p == pin else p for p in pins])
        mine = tuple(p._replace(specifier=specifier) if p == pin else p for p in self.manifest.pins)
        view = View(self.manifest._replace(pins=mine), self.project)
        view.evidence = self.evidence
        view._tried = changed
        return view

    def is_inert(self, name: str) -> bool:
        return name in self._inert

    def is_mentioned(self, name: str) -> bool:
        """Whether anything says that the package gets installed."""
        package = self.package(name)
        return (bool(package.pins) or package.source == "target") and not package.is_own

    def dependents(self, name: str) -> tuple[str, ...]:
        """The packages besides that require anything of this one; nothing is read about those that nobody mentions."""
        if self._providers is None:
            self._providers = tuple(other for other in providers() if self.is_mentioned(other))
        return dependents(name, self._providers)

    def required(self, provider: str, version: Version, name: str) -> Requirement | None:
        """What a release of one package requires of another with the extras that are asked for; None if unknown."""
        return requirement(
            provider, version, name, requested_extras(self.package(provider)), self.manifest.python or ""
        )

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
        for other in self.dependents(name):
            provider = self.package(other)
            if provider.resolved is None or provider.source == "assumed" or len(provider.allowed or ()) != 1:
                continue
            needed = self.required(other, provider.resolved, name)
            specifiers = parse_specifier(needed.specifier) if needed is not None and needed.may_bind else None
            if specifiers is not None:
                narrowed = tuple(v for v in allowed if specifiers.contains(v, prereleases=True))
                allowed = narrowed or allowed
        older = self._up_to_fitting(name, allowed)
        return older[-1:] if older is not None and package.source == "assumed" else older

    def is_held_back(self, name: str) -> bool:
        """Whether the newest release that the pin allows asks for what the pins of other packages exclude."""
        newest = self.package(name).resolved
        return newest is not None and self._fits(name, newest) is False

    def _up_to_fitting(self, name: str, releases: tuple[Version, ...]) -> tuple[Version, ...] | None:
        """The releases up to the newest whose own requirements the other pins can meet.

        None if pip must go back to a release whose requirements are not known. All of them if none fits: pip fails, and
        the pins are judged as they are.
        """
        for count in range(len(releases), 0, -1):
            fits = self._fits(name, releases[count - 1])
            if fits is not False:
                return releases[:count] if fits or count == len(releases) else None
        return releases

    def _fits(self, name: str, version: Version) -> bool | None:
        """Whether the other pins leave a release what it requires; None if what it requires is not known."""
        verdict: bool | None = None
        for other in requirements_of(name):
            package = self.package(other)
            needed = self.required(name, version, other)
            if needed is None:
                continue
            verdict = True if verdict is None else verdict
            specifiers = parse_specifier(needed.specifier) if needed.is_binding else None
            pinned = bool(package.pins) and package.source in ("pin", "lock", "target") and not package.is_own
            if specifiers is None or not pinned or not may_be_together(self.package(name).pins, package.pins):
                continue
            if not any(specifiers.contains(one, prereleases=True) for one in package.allowed or ()):
                return False
        return verdict


def requested_extras(package: Package) -> frozenset[str]:
    """The extras that some pin of the package asks for."""
    return frozenset(extra for pin in package.pins for extra in pin.extras)


def may_be_together(first: tuple[Pin, ...], second: tuple[Pin, ...]) -> bool:
    """Whether the pins of two packages can hold in one installation: not in two extras, not under two markers."""
    if not first or not second:
        return True
    return any(_fit(one, other) for one in first for other in second)


def are_together(first: tuple[Pin, ...], second: tuple[Pin, ...]) -> bool:
    """Whether the pins of two packages do hold in one installation, as far as the files tell.

    A script, a notebook, an extra and a group stand for themselves, and a file in another folder may be about another
    environment. A target is beside everything.
    """
    if not first or not second:
        return True
    return any(_fit(one, other) and _are_near(one, other) for one in first for other in second)


def _are_near(one: Pin, other: Pin) -> bool:
    here, there = one.location.path, other.location.path
    if here == there or "constraint" in (one.kind, other.kind):
        return True
    alone = one.is_optional or other.is_optional or any(kind_of(path) in SCRIPT_KINDS for path in (here, there))
    return not alone and os.path.dirname(here) == os.path.dirname(there)


def _fit(one: Pin, other: Pin) -> bool:
    groups = not one.group or not other.group or one.group == other.group
    markers = not one.marker or not other.marker or one.marker == other.marker
    return groups and markers


def is_moving_branch(package: Package) -> bool:
    """Whether the package comes from the tip of a repository: newer than every release that is listed."""
    urls = [pin.url for pin in package.pins if pin.kind == "url"]
    return bool(urls) and all(_MOVING.match(url) for url in urls)


def shown(name: str, package: Package) -> str:
    """A package with its version or pin, for a message."""
    if package.source in ("assumed", "unknown") and package.resolved is not None:
        return f"{name} {package.resolved} (assumed: the newest known release)"
    if package.source == "unknown":
        return f"{name} from its repository" if any(pin.url for pin in package.pins) else f"{name}{package.specifier}"
    if package.allowed is not None and len(package.allowed) == 1:
        return f"{name} {package.resolved}"
    return f"{name}{package.specifier}"
