"""TRL403: settings of one config file, or of one command, that the program refuses together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.configs._constructor_refusals import ACCELERATOR, CLASSES, given_together, refusals
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding, Location

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.run.runs import Run


class ContradictionInFile(Rule):
    code = "TRL403"
    documents = ("any",)
    launches = True
    runs = True
    triggers = (*CLASSES, ACCELERATOR, "(runtime_env=)")

    def check_call(self, site: Site) -> Iterator[Finding]:
        if any(keyword.arg == "runtime_env" for keyword in site.call.keywords):
            from trl_lint.checks.configs._runtime_env import refused

            yield from refused(site, self)
            return
        yield from given_together(site, self)
        yield from refusals(site, self)

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.configs import (
            _accelerate_contradictions,
            _accelerate_stated,
            _deepspeed,
            _deepspeed_stated,
        )
        from trl_lint.checks.configs._problems import report

        if document.kind == "accelerate":
            yield from report(self, document, project, _accelerate_contradictions.contradictions(document))
            yield from report(self, document, project, _accelerate_stated.stated_contradictions(document))
        if document.kind == "deepspeed":
            yield from report(self, document, project, _deepspeed.contradictions(document))
            yield from report(self, document, project, _deepspeed_stated.stated_contradictions(document))
        if document.kind != "deepspeed":
            yield from self._check_twice(document)
        if document.definition.command:
            from trl_lint.checks.configs._command_refusals import refused_in_document

            for one in refused_in_document(document, self, project):
                yield self.finding(one.location, one.message, severity=one.severity, related=one.related)
        if document.definition.holds.script_fields:
            from trl_lint.checks.configs._recipes_alone import stated_in_recipe

            for found in stated_in_recipe(document, project, self):
                yield self.finding(found.location, found.message, severity=found.severity, related=found.related)

    def _check_twice(self, document: Document) -> Iterator[Finding]:
        """YAML loaders take the last of two values without a word."""
        from trl_lint.checks.configs._problems import written_twice

        for entry, first in written_twice(document.root, document):
            yield self.finding(
                document.place(entry),
                f"`{entry.key.value}` stands twice in one block: only this value counts",
                severity="warning",
                related=(first,),
            )

    def check_run(self, run: Run) -> Iterator[Finding]:
        from trl_lint.checks.configs._release_refusals import stated_in
        from trl_lint.checks.configs._trainer_contradictions import contradictions_in

        told: set[Location | None] = set()
        for found in contradictions_in(run, self):
            told.add(found.location)
            yield self.finding(found.location, found.message, severity=found.severity, related=found.related)
        for one in stated_in(run, self, told):
            yield self.finding(one.location, one.message, severity=one.severity, related=one.related)
        if run.launch.launcher == "megatron":
            from trl_lint.checks.configs._megatron_sizes import misfits

            for misfit in misfits(run, self):
                yield self.finding(misfit.location, misfit.message, severity=misfit.severity, related=misfit.related)

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.configs import (
            _command_flags,
            _launch_refusals,
            _launcher_options,
            _openrlhf_groups,
            _openrlhf_refusals,
            _stacks,
            _verl_asserts,
            _verl_validation,
        )

        for found in (
            *_verl_validation.contradictions(launch, _verl_asserts.ASSERTIONS, self, project),
            *_openrlhf_refusals.refused_together(launch, self, project),
            *_openrlhf_groups.misfits(launch, self, project),
            *_launch_refusals.refused_options(launch, self, project),
            *_launcher_options.given_twice(_launcher_options.called_by(launch), self),
            *_command_flags.refused_flags(launch, self, project),
            *_stacks.broken_laws(launch, self, project),
        ):
            yield self.finding(found.location, found.message, severity=found.severity, related=found.related)


rule = ContradictionInFile()
