"""TRL508: a script that does not start what it is meant to, or starts it on the wrong machines."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.launch import _nodes, _script_order
from trl_lint.checks.launch._concern import level_at
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.scripts import Script


class ScriptStartsWrong(Rule):
    code = "TRL508"
    launches = True
    scripts = True

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        for fault in _script_order.misnamed(launch, project):
            yield self.finding(fault.location, fault.message, severity=level_at(launch, project, "warning"))

    def check_script(self, script: Script, project: Project) -> Iterator[Finding]:
        for fault in (
            *_nodes.faults(script, project),
            *_script_order.unreached(script, project),
            *_script_order.cut_short(script),
            *_script_order.same_port(script, project),
            *_script_order.wrong_folder(script, project),
        ):
            yield self.finding(fault.location, fault.message, severity="warning", related=fault.related)


rule = ScriptStartsWrong()
