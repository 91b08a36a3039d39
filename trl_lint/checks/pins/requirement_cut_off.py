"""TRL205: the shell takes the versions of a requirement for a redirection, and any release is installed."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Severity
from trl_lint.grading import milder
from trl_lint.project import Project
from trl_lint.project.pins import CutOff, Manifest


class RequirementCutOff(Rule):
    code = "TRL205"
    manifests = True
    workflows = True

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        for cut in manifest.cut_off:
            # Where only the floor is lost, the newest release is installed all the same, unless an older one is there.
            severity: Severity = "error" if cut.stops else "warning"
            if manifest.kind == "readme":
                severity = milder(severity)
            yield self.finding(cut.location, worded(cut), severity=severity, fix=cut.fix)


def worded(cut: CutOff) -> str:
    """What the shell makes of a requirement that is not in quotes."""
    signs = cut.text[len(cut.name) :].strip()
    if cut.stops:
        return (
            f"the shell takes `{signs}` for a redirection and stops, because there is no file `{cut.file}`: nothing is "
            f"installed; quote `{cut.text}`"
        )
    return (
        f"the shell takes `{signs}` for a redirection: pip installs any release of `{cut.name}`, and what it prints "
        f"goes to a file `{cut.file}`; quote `{cut.text}`"
    )


rule = RequirementCutOff()
