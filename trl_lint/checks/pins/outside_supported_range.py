"""TRL202: a pin outside of the range that another pinned package requires or supports.

The ranges are those the releases declare themselves (`rules/compat/*.toml`). Whether that is an error depends on who
enforces it: what pip cannot resolve does not install, what is merely outside of an extra's range installs and warns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from trl_lint.checks.pins._advisories import matching
from trl_lint.checks.pins._conflicts import Conflict, conflict_id, read_conflict
from trl_lint.checks.pins._remedies import edit_specifier
from trl_lint.checks.pins._views import View, pinned_here, shown
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Severity
from trl_lint.knowledge.compat import advisories, dependents

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.environment import Package
    from trl_lint.project.pins import Manifest


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
                if conflict is not None and not has_advisory(provider, name, view):
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
            fault = conflict_id(provider, name)
            fix = edit_specifier(pin, conflict.specifier, "safe" if exact else "unsafe", view, fault)
            yield self.finding(pin.location, message, severity=severity, related=pinned_here(other), fix=fix)


def judge_conflict(conflict: Conflict, other: Package, package: Package, view: View) -> Severity:
    """Error only for what pip refuses: both pins in one manifest, and no pair of releases fits."""
    certain = conflict.always and other.source in ("pin", "target") and package.source in ("pin", "target")
    here = {pin.location for pin in view.manifest.pins if pin.kind not in ("inert", "command")}
    together = all(any(pin.location in here for pin in side.pins) for side in (other, package))
    if certain and conflict.binding and together and not view.is_inert(package.name):
        return "error"
    return "warning" if conflict.always else "info"


def has_advisory(provider: str, name: str, view: View) -> bool:
    """Whether an advisory tells more about the pin or about the two packages; then TRL201 speaks."""
    return any(
        name in advisory.packages
        and (provider in advisory.packages or advisory.reported_at == name)
        and matching(advisory, view) is not None
        for advisory in advisories()
    )


rule = OutsideSupportedRange()
