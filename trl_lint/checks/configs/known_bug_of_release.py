"""TRL206: the run sets what a known fault of the pinned release makes wrong (`rules/bugs`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from trl_lint.checks.configs._bug_words import WORDS
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding
from trl_lint.grading import milder
from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.python.module import PythonModule
from trl_lint.run.runs import Run

if TYPE_CHECKING:
    from trl_lint.checks.configs._bug_subjects import Subject
    from trl_lint.project.documents import Document


class KnownBugOfRelease(Rule):
    code: ClassVar[str] = "TRL206"
    runs: ClassVar[bool] = True
    documents: ClassVar[tuple[str, ...]] = ("accelerate", "deepspeed", "command")
    imports: ClassVar[tuple[str, ...]] = ("accelerate", "deepspeed", "peft", "transformers", "trl", "vllm")
    words: ClassVar[tuple[bytes, ...]] = WORDS

    def check_run(self, run: Run) -> Iterator[Finding]:
        from trl_lint.checks.configs._bugs_near import may_concern

        if may_concern(run):
            from trl_lint.checks.configs._bug_subjects import subjects_of

            for subject in subjects_of(run):
                yield from self._report(subject, run.environment, run.launch.is_documentation)

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        from trl_lint.checks._runs import naming_launches
        from trl_lint.checks.configs._bugs_near import near

        environment = project.environment(document.path)
        root = document.mapping
        if root is None or not root.entries or not near(environment):
            return
        from trl_lint.checks.configs._bug_documents import OfDocument
        from trl_lint.knowledge.families import arguments_of_kind

        arguments = arguments_of_kind(document.kind)
        if arguments is None:
            place = f"{document.kind} config"
        elif any(not launch.is_documentation for launch in naming_launches(document, project)):
            return  # judged with the command
        else:
            place = f"{arguments.package} {document.definition.command}"
        yield from self._report(OfDocument(document, (place,)), environment)

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.configs._bugs_near import near
        from trl_lint.knowledge.bugs import is_called

        environment = project.environment(module.path)
        known = set(filter(is_called, near(environment)))
        if known:
            from trl_lint.checks.configs._bug_subjects import calls_of

            for subject in calls_of(module, known):
                yield from self._report(subject, environment)

    def _report(self, subject: Subject, environment: Environment, is_mild: bool = False) -> Iterator[Finding]:
        from trl_lint.checks.configs._bugs_met import met_by

        for met in met_by(subject, environment):
            severity = milder(met.severity, is_mild)
            yield self.finding(met.location, met.message, severity=severity, related=met.related)


rule = KnownBugOfRelease()
