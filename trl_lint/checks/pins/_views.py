"""A package as one manifest sees it: what pip can still choose, and which pins belong together."""

from __future__ import annotations

import os

from packaging.version import Version

from trl_lint.checks.pins._together import are_together
from trl_lint.finding import Location
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import installable, newest, parse_specifier
from trl_lint.knowledge.requirements import Requirement, dependents, providers, requirement, requirements_of
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.project.installs import by_environment
from trl_lint.project.packages import Package, assumed
from trl_lint.project.pins import Manifest, Pin, is_manifest
from trl_lint.project.sequences import Replaced, replaced
from trl_lint.project.tiers import Tier, resolve
from trl_lint.records import NamedTuple


def views_of(manifest: Manifest, project: Project) -> list[View]:
    """A manifest as its rules judge it: once for each environment that its commands fill. All rules get the same."""
    table = _known_views(project)
    known = table.get(manifest.path)
    if known is None or known[0] is not manifest:
        parts = by_environment(manifest)
        views = [View(part, project, is_part=True) for part in parts.values() if part.pins]
        known = table[manifest.path] = manifest, [View(manifest, project)] if len(parts) < 2 else views
    return known[1]


@per_project
def _known_views(project: Project) -> dict[str, tuple[Manifest, list[View]]]:
    """By path, the manifest that was read last and its views."""
    return {}


class ConditionsMet(NamedTuple):
    """That the conditions of an advisory are met, and the places that show it.

    `has_document`: a run uses a config document with the values that the advisory names; `is_told`: only a command in
    documentation does.
    """

    places: tuple[Location, ...] = ()
    has_document: bool = False
    is_told: bool = False


class View:
    """The packages a manifest and its surroundings pin.

    An inert pin counts only here, and only where nothing else pins the package, in the manifest or in what installs it:
    it documents what the authors install by hand. `is_part`: the manifest is what one environment gets of a document.
    """

    def __init__(self, manifest: Manifest, project: Project, is_part: bool = False) -> None:
        self.manifest = manifest
        self.project = project
        self.evidence: dict[str, ConditionsMet | None] = {}  # by advisory; it does not depend on what the pins allow
        self.faults: dict[str, frozenset[str]] = {}  # what is wrong with the pins of a package, once that was asked
        self.solved = [0]  # how many installations were solved for repairs of this manifest
        self._tried: Package | None = None
        self._packages: dict[str, Package] = {}
        self._candidates: dict[str, tuple[Version, ...] | None] = {}
        self._is_part = is_part
        self._is_document = manifest.kind in ("readme", "shell", "makefile")
        self.environment: Environment = project.environment(manifest.path)
        if is_part:  # what the other environments get is not beside it
            self.environment = project.environment(os.path.join(os.path.dirname(manifest.path), ""))
        self.tier: Tier | None = None
        if is_part or self._is_document:
            self.tier = Tier([*manifest.pins, *project.folders.brought(manifest)])
        self.names = {pin.package for pin in manifest.pins}
        self.paths = {pin.location.path for pin in manifest.pins}
        # Of these the project replaces all requirements by its own.
        self.overridden = frozenset(pin.package for pin in manifest.pins if pin.kind == "override")
        self._extras: dict[str, tuple[Package, frozenset[str]]] = {}
        self._providers: tuple[str, ...] | None = None
        self._mentioned: dict[str, tuple[str, ...]] = {}
        self._twins: dict[tuple[str, str, str], list[Pin]] | None = None
        self._inert = {pin.package for pin in manifest.pins if pin.kind == "inert"}
        self._inert -= {pin.package for pin in manifest.pins if pin.kind != "inert"}
        self.names -= {name for name in self._inert if self._is_installed(name)}
        self._inert &= self.names

    def _is_installed(self, name: str) -> bool:
        """Whether something says which release of a package gets installed."""
        return self.environment.package(name).source in ("pin", "lock")

    def package(self, name: str) -> Package:
        """What is known about a package, as the manifest sees it."""
        found = self._packages.get(name)
        if found is None:
            found = self._packages[name] = self._package(name)
        return found

    def _package(self, name: str) -> Package:
        if self._tried is not None and name == self._tried.name:
            return self._tried
        if name in self._inert:
            pins = [pin._replace(kind="requirement") for pin in self.manifest.pins if pin.package == name]
            found = resolve(name, pins)
            if found is not None:
                return found
        package = self.environment.package(name)
        if package.source == "told":  # named elsewhere, and not beside these pins; or for those who ask for an extra
            stated = self.environment.stated(name)
            package = stated if stated.source == "pin" else assumed(name, ())
        if package.source == "lock" and self._contradicts(package.pins):
            package = assumed(name, ())
        if self.tier is not None and package.source != "target":
            found = self.tier.resolve(name)
            # What a README or script installs is one way among several: only its own commands belong together.
            return found or (Package(name) if self._is_document else package)
        return package

    def _contradicts(self, locked: tuple[Pin, ...]) -> bool:
        """Whether the lock that these pins stand in holds a release that the manifest does not take: it is another
        installation then, such as the one that a list of packages was written down of."""
        path = locked[0].location.path if locked else self.manifest.path
        lock = self.project.manifest_in(path) if path != self.manifest.path else None
        held = {pin.package: pin.specifier.removeprefix("==") for pin in (lock.pins if lock is not None else ())}
        asked = (pin for pin in self.manifest.pins if pin.kind == "requirement" and not pin.marker and pin.specifier)
        return any(held.get(pin.package) and not holds(pin.specifier, held[pin.package]) for pin in asked)

    def with_specifier(self, pin: Pin, specifier: str) -> View | None:
        """The same view with another specifier in one pin; None where the pin is not what decides the release."""
        package = self.package(pin.package)
        pins = [*package.pins, *(p for p in self.manifest.pins if p.kind == "constraint" and p not in package.pins)]
        if pin not in pins or package.source in ("target", "lock") or package.is_own:
            return None
        twins = self.twins(pin)
        changed = resolve(pin.package, [p._replace(specifier=specifier) if p in twins else p for p in pins])
        mine = tuple(p._replace(specifier=specifier) if p in twins else p for p in self.manifest.pins)
        view = View(self.manifest._replace(pins=mine), self.project, self._is_part)
        view.evidence, view.solved = self.evidence, self.solved
        view._tried = changed
        view._take_over(self, pin.package)
        return view

    def _take_over(self, before: View, changed: str) -> None:
        """Keep what is known of all packages but one, in whose pins this view differs."""
        if self.tier is None:
            self._packages = {name: found for name, found in before._packages.items() if name != changed}
        if before.is_mentioned(changed) == self.is_mentioned(changed):
            self._providers, self._mentioned = before._providers, before._mentioned

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

    def mentioned_requirements(self, name: str) -> tuple[str, ...]:
        """The packages that some release of this one requires anything of, and that anything says get installed."""
        if name not in self._mentioned:
            self._mentioned[name] = tuple(other for other in requirements_of(name) if self.is_mentioned(other))
        return self._mentioned[name]

    def required(self, provider: str, version: Version, name: str) -> Requirement | None:
        """What a release of one package requires of another with the extras that are asked for; None if unknown."""
        package = self.package(provider)
        known = self._extras.get(provider)
        if known is None or known[0] is not package:
            known = self._extras[provider] = (package, requested_extras(package))
        return requirement(provider, version, name, known[1], self.manifest.python or "")

    def reported(self, name: str) -> list[Pin]:
        """The pins of a package that a finding of this manifest may stand at, each place once.

        They are the ones that limit it, where any does. Those of an included file belong to that file where it is a
        manifest by its own name; a constraint belongs to whoever includes it. Where a lock decides, it is the place.
        Commands of a document that ask for the same are told at the first of them.
        """
        if not self.manifest.is_lock and self.package(name).source == "lock":
            return []
        mine = [
            pin
            for pin in self.manifest.pins
            if pin.package == name
            and pin.kind != "url"
            and (pin.kind == "override" or name not in self.overridden)
            and (
                pin.location.path == self.manifest.path
                or pin.kind == "constraint"
                or not is_manifest(pin.location.path)
            )
        ]
        limiting = [pin for pin in mine if pin.specifier] or mine
        found: dict[object, Pin] = {}
        for pin in limiting:  # a document that says the same in two commands is told once
            found.setdefault(pin.location if pin.step is None else (pin.specifier, pin.kind), pin)
        return list(found.values())

    def replaced(self) -> list[Replaced]:
        """The pins of a document that a later command of it replaces, as far as they stand in the document itself."""
        if not any(pin.step is not None for pin in self.manifest.pins):
            return []
        tier = self.tier or Tier([*self.manifest.pins, *self.project.folders.brought(self.manifest)])
        return [found for found in replaced(tier.pins) if found.pin.location.path == self.manifest.path]

    def are_together(self, first: tuple[Pin, ...], second: tuple[Pin, ...]) -> bool:
        """Whether the pins of two packages hold in one installation, as far as the files tell."""
        return are_together(first, second, self.paths, self.project)

    def twins(self, pin: Pin) -> tuple[Pin, ...]:
        """The commands of a document that ask for the same of a package, the first of them first; alone elsewhere."""
        if pin.step is None:
            return (pin,)
        if self._twins is None:
            self._twins = {}
            for other in self.manifest.pins:
                self._twins.setdefault((other.package, other.specifier, other.kind), []).append(other)
        return tuple(self._twins[pin.package, pin.specifier, pin.kind])

    def candidates(self, name: str) -> tuple[Version, ...] | None:
        """The allowed releases of a package, less those that an exactly pinned package rules out; None if unknown."""
        if name not in self._candidates:
            self._candidates[name] = self._find_candidates(name)
        return self._candidates[name]

    def _find_candidates(self, name: str) -> tuple[Version, ...] | None:
        package = self.package(name)
        allowed = package.allowed
        if allowed is None or (len(allowed) == 1 and package.source != "assumed"):
            return allowed
        if package.source == "assumed":
            if self._tried is None and self.tier is None:
                return allowed  # what an installer takes
            allowed = installable(name)
        for other in self.dependents(name):
            provider = self.package(other)
            if provider.resolved is None or provider.source == "assumed" or len(provider.allowed or ()) != 1:
                continue
            needed = self.required(other, provider.resolved, name)
            if needed is not None and needed.may_bind:
                allowed = tuple(v for v in allowed if holds(needed.specifier, v)) or allowed
        older = self._up_to_fitting(name, allowed)
        return older[-1:] if older is not None and package.source == "assumed" else older

    def is_held_back(self, name: str) -> bool:
        """Whether the newest release that the pin allows asks for what the pins of other packages exclude."""
        package = self.package(name)
        if package.source == "assumed" and package.resolved != newest(name):
            return True
        return package.resolved is not None and self._fits(name, package.resolved) is False

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
            pinned = bool(package.pins) and package.source in ("pin", "lock", "target") and not package.is_own
            if not needed.is_binding or not pinned or not self.are_together(self.package(name).pins, package.pins):
                continue
            is_read = parse_specifier(needed.specifier) is not None
            if is_read and not any(holds(needed.specifier, one) for one in reversed(package.allowed or ())):
                return False
        return verdict


def requested_extras(package: Package) -> frozenset[str]:
    """The extras that some pin of the package asks for."""
    return frozenset(extra for pin in package.pins for extra in pin.extras)


def said_again(pin: Pin, view: View) -> tuple[Location, ...]:
    """The other commands of the document that ask for the same, as related places of a finding."""
    others = (twin for twin in view.twins(pin) if twin.location != pin.location)
    return tuple(twin.location._replace(message="and here") for twin in others)


def shown(name: str, view: View) -> str:
    """A package with its version or pin, for a message."""
    package = view.package(name)
    if package.source in ("assumed", "unknown") and package.resolved is not None:
        taken = (view.candidates(name) or (package.resolved,))[-1]
        why = "assumed: the newest known release" if taken == newest(name) else "what pip takes beside the other pins"
        return f"{name} {taken} ({why})"
    if package.source == "unknown":
        return f"{name} from its repository" if any(pin.url for pin in package.pins) else f"{name}{package.specifier}"
    if package.allowed is not None and len(package.allowed) == 1:
        return f"{name} {package.resolved}"
    return f"{name}{package.specifier}"
