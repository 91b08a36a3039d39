"""TRL207: two releases that install together and cannot be imported together.

What each release imports of the other is read from the published archives (`rules/contracts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from trl_lint.checks.pins._contracts import Broken, broken, nearest
from trl_lint.checks.pins._remedies import edit_specifier
from trl_lint.checks.pins._views import View, said_again, shown, views_of
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding
from trl_lint.knowledge import contracts
from trl_lint.project import Project
from trl_lint.project.pins import Manifest
from trl_lint.words import listed

_MOST_NAMED = 2  # names; the line of the package tells the others


class IncompatibleReleases(Rule):
    code: ClassVar[str] = "TRL207"
    manifests: ClassVar[bool] = True

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        if manifest.kind == "constraints":
            return  # limits what others ask for: judged with the file that includes it
        for view in views_of(manifest, project):
            for package in contracts.packages():
                for below in contracts.below(package) if package in view.names else ():
                    if (found := broken(package, below, view)) is not None:
                        yield from self._report(found, view)

    def _report(self, found: Broken, view: View) -> Iterator[Finding]:
        row = found.contract
        message = (
            f"{_subject(found, view)} cannot be imported beside {shown(row.below, view)}, which has no {_missing(row)}"
        )
        message += f" ({row.place})"
        if not found.is_seen:
            message += "; nothing here is seen to import it"
        mine, other = nearest(row, view)
        advice = [f"{row.package} {mine}"] * (mine is not None) + [f"{row.below} {other}"] * (other is not None)
        message += f". Use {' or '.join(advice)}" if advice else ""
        related = (*found.match.related, *view.package(row.below).places)
        for pin in view.reported(row.package):
            fix = edit_specifier(pin, f">={mine}", "unsafe", view) if mine is not None else None
            places = (*said_again(pin, view), *related)
            yield self.finding(pin.location, message, severity=found.match.severity, related=places, fix=fix)


def _subject(found: Broken, view: View) -> str:
    row = found.contract
    if not row.entries:
        return shown(row.package, view)
    names = [f"`{name}`" for name in row.entries[:_MOST_NAMED]]
    more = len(row.entries) - len(names)
    return f"{listed([*names, f'{more} more'] if more else names)} of {shown(row.package, view)}"


def _missing(row: contracts.Contract) -> str:
    module, colon, name = row.what.partition(":")
    return f"`{name}` in `{module}`" if colon and module != row.below else f"`{name or module}`"


rule = IncompatibleReleases()
