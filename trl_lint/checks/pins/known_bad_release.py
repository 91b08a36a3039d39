"""TRL201: a pinned release, or a pair of pinned releases, that is known not to work.

The facts are in `rules/compat/advisories.toml`; this module only decides whether the pins bring them about.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from trl_lint.checks.pins._advisories import Match, matching
from trl_lint.checks.pins._remedies import edit_specifier
from trl_lint.checks.pins._views import View, said_again, shown, views_of
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding
from trl_lint.knowledge.compat import Advisory, advisories
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import installable, releases
from trl_lint.project import Project
from trl_lint.project.pins import Manifest


class KnownBadRelease(Rule):
    code: ClassVar[str] = "TRL201"
    manifests: ClassVar[bool] = True

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        if manifest.kind == "constraints":
            return  # limits what others ask for: judged with the file that includes it
        for view in views_of(manifest, project):
            for advisory in advisories():
                if advisory.reported_at in view.names and (match := matching(advisory, view)):
                    yield from self._report(advisory, match, view)
            yield from self._check_yanked(view)

    def _report(self, advisory: Advisory, match: Match, view: View) -> Iterator[Finding]:
        name = advisory.reported_at
        versions = " with ".join(shown(package, view) for package in advisory.packages)
        advice = " or ".join(_told(package, specifier, advisory, view) for package, specifier in advisory.fix.items())
        # Of a table that nothing installs from, what it tells people is the fault: pip never sees it.
        named = "Named here, where nothing is installed from" if view.is_inert(name) else "Pinned"
        message = f"{advisory.title}: {advisory.message}. {named}: {versions}. Use {advice}"
        related = match.related
        for other in advisory.packages:
            if other != name:
                related += view.package(other).places
        for pin in view.reported(name):
            fix = edit_specifier(pin, advisory.fix[name], "unsafe", view, advisory.id) if name in advisory.fix else None
            places = (*said_again(pin, view), *related)
            yield self.finding(pin.location, message, severity=match.severity, related=places, fix=fix)

    def _check_yanked(self, view: View) -> Iterator[Finding]:
        """An exact pin of a release its authors have withdrawn."""
        for pin in view.manifest.pins:
            if pin.kind in ("inert", "constraint", "url") or not pin.specifier.startswith("==") or "," in pin.specifier:
                continue
            version = pin.specifier.lstrip("=")
            if is_yanked(pin.package, version) and pin in view.reported(pin.package):
                message = f"{pin.package} {version} was withdrawn by its authors (yanked from the index)"
                yield self.finding(pin.location, f"{message}. Use another release", severity="warning")


def _told(package: str, specifier: str, advisory: Advisory, view: View) -> str:
    """What to change a package to, with what another package of the advisory asks for in the release that is pinned."""
    for other in advisory.packages:
        version = view.package(other).resolved
        if other == package or version is None or len(view.package(other).allowed or ()) != 1:
            continue
        needed = view.required(other, version, package)
        if needed is None or not needed.specifier or other in advisory.fix:
            continue
        known = [release for release in installable(package) if holds(specifier, release)]
        if any(not holds(needed.specifier, release) for release in known):
            return f"{package}{specifier} ({other} {version} asks for {package}{needed.specifier})"
    return f"{package}{specifier}"


def is_yanked(package: str, version: str) -> bool:
    return any(release.yanked and release.version == version for release in releases(package))


rule = KnownBadRelease()
