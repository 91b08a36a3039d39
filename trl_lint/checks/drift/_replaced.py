"""Objects that are made of others: `dataclasses.replace(args, lr=…)` constructs the class of `args` again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.drift._calls import callee_of, is_patched, is_unsloth
from trl_lint.checks.drift._classes import Callee
from trl_lint.checks.drift._held import bound_once
from trl_lint.project import Project
from trl_lint.project.stack import Choices, choices_at
from trl_lint.python.module import PythonModule

_REPLACE = frozenset({"dataclasses.replace", "copy.replace"})


def replaced_calls(module: PythonModule, project: Project) -> Iterator[tuple[ast.Call, Callee, Choices]]:
    """The calls of `replace` on an object that one place of the project constructs, as `judged_calls`."""
    for call in module.calls:
        if len(call.args) != 1 or not call.keywords or not module.names.origins(call.func) <= _REPLACE:
            continue
        made = bound_once(call.args[0], module, project) if module.names.is_certain(call.func) else None
        if made is None or is_patched(made.home) or is_unsloth(made.home):
            continue
        callee = callee_of(made.made, made.home) if isinstance(made.made, ast.Call) else None
        known = choices_at(module, call, project, callee.package) if callee is not None else None
        if callee is not None and known is not None:
            yield call, callee, known
