"""TRL202: a pin outside of the range that another pinned package requires or supports.

The ranges are those the releases declare themselves (`rules/requirements`). What an installer refuses is TRL204's: here
are the pins that it installs all the same: nobody asked for the extra, or they stand in different files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar

from trl_lint.checks.pins._advisories import has_advisory
from trl_lint.checks.pins._conflicts import Conflict, conflict_id, read_conflict
from trl_lint.checks.pins._installations import failures
from trl_lint.checks.pins._remedies import edit_specifier
from trl_lint.checks.pins._support import find_support_use
from trl_lint.checks.pins._views import View, said_again, shown, views_of
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Location, Severity
from trl_lint.project import Project
from trl_lint.project.pins import Manifest


class OutsideSupportedRange(Rule):
    code: ClassVar[str] = "TRL202"
    manifests: ClassVar[bool] = True

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        if manifest.kind == "constraints":
            return  # limits what others ask for: judged with the file that includes it
        for view in views_of(manifest, project):
            yield from self._check(view)

    def _check(self, view: View) -> Iterator[Finding]:
        yield from self._check_replaced(view)
        for name in sorted(view.names - view.overridden):
            for provider in view.dependents(name) if view.is_mentioned(name) else ():
                conflict = read_conflict(provider, name, view)
                if conflict is None or has_advisory(provider, name, view):
                    continue
                # What an installer refuses is TRL204's.
                if not any({provider, name} <= failure.names for failure in failures(view)):
                    yield from self._report(provider, name, conflict, view)

    def _report(self, provider: str, name: str, conflict: Conflict, view: View) -> Iterator[Finding]:
        other = view.package(provider)
        exact = len(other.allowed or ()) == 1 and other.source not in ("assumed", "unknown")
        verb = "requires" if conflict.binding else "supports"
        wanted = f"{provider} {conflict.version} {verb} {name}{conflict.specifier}"
        if conflict.always:
            message = f"{wanted}, and {shown(name, view)} is outside of it"
        else:
            message = f"{wanted}, but pip takes {name} {conflict.taken}, the newest release the pins allow"
        if view.is_inert(name):
            message += " (nothing installs from this table)"
        severity: Severity = "warning" if conflict.always else "info"
        related = other.places
        if not conflict.binding:
            use = find_support_use(provider, name, view)
            if use is None:
                return
            if isinstance(use, str):
                severity, message = "info", f"{message}; {use}"
            else:
                related += use
        for pin in view.reported(name):
            fault = conflict_id(provider, name)
            fix = edit_specifier(pin, conflict.specifier, "safe" if exact else "unsafe", view, fault)
            places = (*said_again(pin, view), *related)
            yield self.finding(pin.location, message, severity=severity, related=places, fix=fix)

    def _check_replaced(self, view: View) -> Iterator[Finding]:
        """Pins that a later command of the same document replaces."""
        for pin, by, needed in view.replaced():
            where = _words_for(by.location, view)
            message = (
                f"this pin does not survive {where}: {by.package} {by.specifier[2:]} requires {pin.package}{needed}, "
                f"so pip replaces {pin.package}{pin.specifier} there"
            )
            fault = conflict_id(by.package, pin.package)
            fix = edit_specifier(pin, needed, "safe", view, fault)
            here = by.location._replace(message=f"{by.package} is installed here")
            yield self.finding(pin.location, message, severity="warning", related=(here,), fix=fix)


def _words_for(place: Location, view: View) -> str:
    """A place in words: its line, with the file where that is another one."""
    position = view.project.files.get(place.path).position(place.start)
    if place.path != view.manifest.path:
        shown = os.path.relpath(place.path, view.project.root).replace(os.sep, "/")
        return f"line {position.line} of {shown}"
    return f"line {position.line}" if position.cell is None else f"cell {position.cell}, line {position.line}"


rule = OutsideSupportedRange()
