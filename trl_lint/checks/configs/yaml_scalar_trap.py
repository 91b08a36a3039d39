"""TRL405: a YAML scalar that is read as another type than its field needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Fix, Location, Severity
from trl_lint.run.runs import run_of

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.sources.nodes import Scalar

# accelerate 0.19 to 0.33 turned a False `mixed_precision` back into "no".
_ACCELERATE_FAILS = {"accelerate": ">=0.34.0"}


class YamlScalarTrap(Rule):
    code = "TRL405"
    documents = ("accelerate", "command")
    holding = ("script_fields",)
    launches = True

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        if document.source.language == "yaml":
            is_accelerate = document.kind == "accelerate"
            yield from (self._check_accelerate if is_accelerate else self._check_recipe)(document, project)

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        """A recipe that nothing but the command which names it shows to be one."""
        run = run_of(launch, project)
        if run.link("recipe") is None:
            return
        from trl_lint.run.loaders import recipe_by_command

        document = recipe_by_command(run)
        if document is not None and document.source.language == "yaml":
            yield from self._check_recipe(document, project)

    def _check_accelerate(self, document: Document, project: Project) -> Iterator[Finding]:
        from trl_lint.checks._runs import accelerate_launches, after_flags, launcher_option
        from trl_lint.checks.configs._scalar_traps import accelerate_traps, quoted
        from trl_lint.checks.verdict import judge_pins

        for trap in accelerate_traps(document):
            verdict = judge_pins(project.environment(document.path), _ACCELERATE_FAILS, self.page.severity)
            if verdict is None:
                return
            launches = accelerate_launches(document, project)
            severity = after_flags(verdict.severity, (trap.name,), launches, launcher_option)
            if severity is not None:
                message = f"{trap.message} ({verdict.scope})"
                yield self._report(document, trap.node, message, severity, quoted(trap.node), verdict.related)

    def _check_recipe(self, document: Document, project: Project) -> Iterator[Finding]:
        from trl_lint.checks._runs import after_commands
        from trl_lint.checks.configs._scalar_traps import harm_of, recipe_traps

        for trap in recipe_traps(document):
            harm = harm_of(trap, document, project, self.page.severity)
            severity = None if harm is None else after_commands(harm.severity, (trap.name,), document, project)
            if harm is not None and severity is not None:
                written = f": write {trap.spelling}" if trap.spelling else ""
                message = f"{trap.told}, and {harm.why}{written}{harm.scope}"
                yield self._report(document, trap.node, message, severity, trap.spelling, harm.related)

    def _report(
        self,
        document: Document,
        node: Scalar,
        message: str,
        severity: Severity,
        spelling: str,
        related: tuple[Location, ...] = (),
    ) -> Finding:
        fix = None
        # An alias shows a value that stands elsewhere and may serve other fields: no edit here is certain to be meant.
        if spelling and not node.alias:
            edit = document.source.edit(node.start, node.end, spelling)
            fix = Fix(f"Write `{spelling}`", "safe", (edit,))
        location = document.source.location(node.start, node.end)
        return self.finding(location, message, severity=severity, related=related, fix=fix)


rule = YamlScalarTrap()
