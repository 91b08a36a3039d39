"""TRL402: a value of a config file, a command or a run that its key does not take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.configs._constructor_refusals import CLASSES, refusals
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.project.scripts import Script
    from trl_lint.run.runs import Run


class ValueNotAllowed(Rule):
    code = "TRL402"
    documents = ("accelerate", "deepspeed", "command")
    holding = ("script_fields",)
    launches = True
    scripts = True
    runs = True
    triggers = CLASSES

    def check_call(self, site: Site) -> Iterator[Finding]:
        yield from refusals(site, self)

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        if document.definition.holds.script_fields:
            from trl_lint.checks.configs._recipes_alone import stated_in_recipe

            for found in stated_in_recipe(document, project, self):
                yield self.finding(found.location, found.message, severity=found.severity, related=found.related)
        if document.definition.command:
            from trl_lint.checks.configs._command_refusals import refused_in_document
            from trl_lint.checks.configs._data_index import wrong_data_sets
            from trl_lint.checks.configs._data_rows import unfit_rows
            from trl_lint.checks.configs._template_names import unknown_template

            for one in (
                *refused_in_document(document, self, project),
                *wrong_data_sets(document, self, project),
                *unfit_rows(document, self, project),
                *unknown_template(document, self, project),
            ):
                yield self.finding(one.location, one.message, severity=one.severity, related=one.related)
            return
        if document.kind not in self.documents:
            return
        from trl_lint.checks.configs import _accelerate_stated, _accelerate_values, _deepspeed, _deepspeed_stated
        from trl_lint.checks.configs._problems import report

        is_accelerate = document.kind == "accelerate"
        read = _accelerate_values.refused_values if is_accelerate else _deepspeed.refused_values
        stated = _accelerate_stated.stated_values if is_accelerate else _deepspeed_stated.stated_values
        yield from report(self, document, project, (*read(document), *stated(document)), may_be_new=True)

    def check_run(self, run: Run) -> Iterator[Finding]:
        from trl_lint.checks.configs._release_refusals import stated_in
        from trl_lint.checks.configs._trainer_values import refused_flags, refused_values

        if run.is_launched and run.framework == "verl":
            from trl_lint.checks.configs._verl_reward_function import missing_function
            from trl_lint.checks.configs._verl_scorers import misread_rows, unscored

            for found in (*unscored(run, self), *misread_rows(run, self), *missing_function(run, self)):
                yield self.finding(found.location, found.message, severity=found.severity, related=found.related)
        stated = list(stated_in(run, self, set()))
        for one in stated:
            yield self.finding(one.location, one.message, severity=one.severity, related=one.related)
        told = {one.location for one in stated}
        for refused in (*refused_values(run, self), *refused_flags(run, self)):
            if refused.setting.location not in told:
                yield self.finding(
                    refused.setting.location or run.launch.location,
                    refused.message,
                    severity=refused.verdict.severity,
                    related=refused.verdict.related,
                )

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.configs import (
            _command_flags,
            _command_values,
            _launcher_options,
            _openrlhf,
            _openrlhf_refusals,
            _own_flags,
            _verl_asserts,
            _verl_validation,
        )

        for wrong in (
            *_verl_validation.contradictions(launch, _verl_asserts.VALUES, self, project),
            *_openrlhf.wrong_values(launch, self, project),
            *_openrlhf_refusals.refused_together(launch, self, project),
            *_own_flags.wrong_values(launch, self, project),
            *_command_values.refused_values(launch, self, project),
            *_command_flags.wrong_types(launch, self, project),
            *_command_flags.refused_flags(launch, self, project),
            *_launcher_options.wrong_values(_launcher_options.called_by(launch), self, project),
        ):
            yield self.finding(wrong.location, wrong.message, severity=wrong.severity, related=wrong.related)

    def check_script(self, script: Script, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.configs._launcher_options import called_in, wrong_values

        for wrong in wrong_values(called_in(script), self, project):
            yield self.finding(wrong.location, wrong.message, severity=wrong.severity, related=wrong.related)


rule = ValueNotAllowed()
