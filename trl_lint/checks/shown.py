"""What a page of Markdown shows of code and recipes, for the rules that look at it: hints, since nothing runs there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding
from trl_lint.knowledge.needles import may_be_document
from trl_lint.project import Project
from trl_lint.python.triage import Triage
from trl_lint.sources import SourceFile

Hook = Callable[[], Iterable[Finding]]


def hooks_of_page(file: SourceFile, rules: Iterable[Rule], triage: Triage, project: Project) -> list[tuple[Rule, Hook]]:
    """For each block and each of the `rules` that wants it what to call, the blocks of Python first."""
    found: list[tuple[Rule, Hook]] = []
    if active := {rule for rule in triage.active(file.data, file.path, is_rough=True) if rule.fences}:
        from trl_lint.python.fences import modules_shown

        for module in modules_shown(file):
            found += ((rule, partial(rule.check_module, module, project)) for rule in triage.importing(module, active))
    if may_be_document(file.data):
        from trl_lint.project.documents import documents_shown

        for document in documents_shown(file):
            wanting = (rule for rule in rules if rule.fences and rule.wants(document))
            found += ((rule, partial(rule.check_document, document, project)) for rule in wanting)
    return [(rule, partial(_as_hints, hook)) for rule, hook in found]


def _as_hints(hook: Hook) -> Iterator[Finding]:
    return (finding._replace(severity="info") for finding in hook())
