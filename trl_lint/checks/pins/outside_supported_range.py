"""TRL202: a pin outside of the range that another pinned package requires or supports.

The ranges are those the releases declare themselves (`rules/compat/*.toml`). Whether that is an error depends on who
enforces it: what pip cannot resolve does not install, what is merely outside of an extra's range installs and warns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from trl_lint.checks.pins._views import (
    View,
    edit_specifier,
    may_be_together,
    pinned_here,
    requested_extras,
    shown,
)
from trl_lint.checks.pins.known_bad_release import matching
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Severity
from trl_lint.knowledge.compat import advisories, dependents, requirement
from trl_lint.knowledge.releases import parse_specifier

if TYPE_CHECKING:
    from packaging.version import Version

    from trl_lint.project import Project
    from trl_lint.project.environment import Package
    from trl_lint.project.pins import Manifest


class Conflict(NamedTuple):
    """A range that a pin misses. `binding`: pip enforces it; `always`: for every release both pins allow."""

    specifier: str
    version: Version
    binding: bool
    always: bool


class OutsideSupportedRange(Rule):
    code: ClassVar[str] = "TRL202"
    manifests: ClassVar[bool] = True

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        if manifest.kind == "constraints":
            return  # limits what others ask for: judged with the file that includes it
        view = View(manifest, project)
        for name in sorted(view.names):
            for provider in dependents(name):
                if provider == name or not view.is_mentioned(provider) or not view.is_mentioned(name):
                    continue
                conflict = read_conflict(provider, name, view)
                if conflict is not None and not has_advisory(provider, name, view, project):
                    yield from self._report(provider, name, conflict, view)

    def _report(self, provider: str, name: str, conflict: Conflict, view: View) -> Iterator[Finding]:
        other, package = view.package(provider), view.package(name)
        exact = len(other.allowed or ()) == 1 and other.source not in ("assumed", "unknown")
        verb = "requires" if conflict.binding else "supports"
        wanted = f"{provider} {conflict.version} {verb} {name}{conflict.specifier}"
        if conflict.always:
            message = f"{wanted}, and {shown(name, package)} is outside of it"
        else:
            message = f"{wanted}, but pip takes {name} {package.resolved}, the newest release the pin allows"
        if view.is_inert(name):
            message += "; nothing installs from this table, so pip does not see the pin"
        severity = judge_conflict(conflict, other, package, view)
        for pin in view.reported(name):
            fix = edit_specifier(pin, conflict.specifier, "safe" if exact else "unsafe")
            yield self.finding(pin.location, message, severity=severity, related=pinned_here(other), fix=fix)


def judge_conflict(conflict: Conflict, other: Package, package: Package, view: View) -> Severity:
    """Error only for what pip refuses: both pins in one manifest, and no pair of releases fits."""
    certain = conflict.always and other.source in ("pin", "target") and package.source in ("pin", "target")
    here = {pin.location for pin in view.manifest.pins if pin.kind not in ("inert", "command")}
    together = all(any(pin.location in here for pin in side.pins) for side in (other, package))
    if certain and conflict.binding and together and not view.is_inert(package.name):
        return "error"
    return "warning" if conflict.always else "info"


def read_conflict(provider: str, name: str, view: View) -> Conflict | None:
    """How the pins of two packages miss each other, None if they may fit or nobody knows."""
    other, package = view.package(provider), view.package(name)
    if other.source == "assumed":
        return None  # nothing limits the other package; TRL203 is about that
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


def has_advisory(provider: str, name: str, view: View, project: Project) -> bool:
    """Whether an advisory tells more about the pin or about the two packages; then TRL201 speaks."""
    return any(
        name in advisory.packages
        and (provider in advisory.packages or advisory.reported_at == name)
        and matching(advisory, view, project) is not None
        for advisory in advisories()
    )


rule = OutsideSupportedRange()
