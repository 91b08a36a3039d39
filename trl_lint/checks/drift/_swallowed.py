"""Keywords that a class takes by `**kwargs` and drops: a misspelt one has no effect, and nobody says so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.drift._calls import signature_of
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.project.stack import choices_at
from trl_lint.python.module import PythonModule
from trl_lint.python.names import is_from
from trl_lint.words import nearest

# What it does with what it has no name for goes to the log, at a level that nobody sees: `__init__` in
# utils/quantization_config.py of transformers 4.40.2, 4.51.3, 4.57.6 and 5.9.0. Names that it takes out by itself:
SWALLOWING = {"transformers.BitsAndBytesConfig": frozenset({"quant_method", "_load_in_4bit", "_load_in_8bit"})}
_LIKENESS = 0.7


def swallowed(module: PythonModule, project: Project, rule: Rule) -> Iterator[Finding]:
    """The keywords that no release in use has a parameter for."""
    for dotted, known in SWALLOWING.items():
        if dotted.rpartition(".")[2] not in module.text:
            continue
        for call in module.calls:
            origins = module.names.origins(call.func)
            if origins and all(is_from(one, dotted) for one in origins) and module.names.is_certain(call.func):
                yield from _of_call(call, dotted, known, module, project, rule)


def _of_call(
    call: ast.Call, dotted: str, known: frozenset[str], module: PythonModule, project: Project, rule: Rule
) -> Iterator[Finding]:
    package, name = dotted.partition(".")[0], dotted.rpartition(".")[2]
    choices = choices_at(module, call, project, package)
    chosen = choices.get(package) if choices is not None else None
    if chosen is None or chosen.is_tip or chosen.package.is_own:
        return
    for keyword in call.keywords:
        said = keyword.arg
        if said is None or said in known:
            continue

        def is_dropped(version: str, said: str = said) -> bool:
            found = signature_of(dotted, {package: version})
            return found is not None and said not in found.parameters

        verdict = judge_releases(chosen, is_dropped, Level("warning"))
        if verdict is None:
            continue
        found = signature_of(dotted, {package: chosen.newest})
        guess = nearest(said, set(found.parameters) if found is not None else set(), _LIKENESS)
        meant = f": did you mean `{guess}`?" if guess else ""
        message = f"`{name}` has no argument `{said}` and drops it without a word{meant} ({verdict.scope})"
        yield rule.finding(module.location(keyword), message, severity=verdict.severity, related=verdict.related)
