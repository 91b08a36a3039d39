"""TRL402: a value of a config file, or of a command that sets one, which the program does not take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.launches import Launch


class ValueNotAllowed(Rule):
    code = "TRL402"
    launches = True

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.configs import _openrlhf, _verl, _verl_asserts

        for wrong in (
            *_verl.contradictions(launch, _verl_asserts.VALUES, self, project),
            *_openrlhf.wrong_values(launch, self, project),
        ):
            yield self.finding(wrong.location, wrong.message, severity=wrong.severity, related=wrong.related)


rule = ValueNotAllowed()
