"""TRL403: two values of one config file that do not go together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from trl_lint.checks.configs import _accelerate_contradictions, _deepspeed
from trl_lint.checks.configs._problems import Problem, report
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.documents import Document


_READERS: dict[str, Callable[[Document], Iterator[Problem]]] = {
    "accelerate": _accelerate_contradictions.contradictions,
    "deepspeed": _deepspeed.contradictions,
}


class ContradictionInFile(Rule):
    code = "TRL403"
    documents: ClassVar[tuple[str, ...]] = tuple(_READERS)

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        yield from report(self, document, project, _READERS[document.kind](document))


rule = ContradictionInFile()
