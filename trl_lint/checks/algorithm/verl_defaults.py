"""TRL738: a command of verl leaves something to a default that can cost the run."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.project.launches import Launch


class VerlDefaults(Rule):
    code = "TRL738"
    launches = True

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.algorithm._verl_left import LEFT
        from trl_lint.checks.configs._verl_validation import left_alone

        for found in left_alone(launch, LEFT, self, project):
            yield self.finding(found.location, found.message, severity=found.severity, related=found.related)


rule = VerlDefaults()
