"""Objects that are made of others: `dataclasses.replace(args, lr=…)` constructs the class of `args` again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.checks.drift._calls import callee_of, is_patched, is_unsloth
from trl_lint.checks.drift._classes import Callee
from trl_lint.project import Project
from trl_lint.project.modules import imported_name, is_in_one_place
from trl_lint.project.stack import Choices, choices_at
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes
from trl_lint.sources import SourceError

_REPLACE = frozenset({"dataclasses.replace", "copy.replace"})


def replaced_calls(module: PythonModule, project: Project) -> Iterator[tuple[ast.Call, Callee, Choices]]:
    """The calls of `replace` on an object that one place of the project constructs, as `judged_calls`."""
    for call in module.calls:
        if len(call.args) != 1 or not call.keywords or not module.names.origins(call.func) <= _REPLACE:
            continue
        made = _made(call.args[0], module, project) if module.names.is_certain(call.func) else None
        if made is None or is_patched(made[1]) or is_unsloth(made[1]):
            continue
        callee = callee_of(*made)
        known = choices_at(module, call, project, callee.package) if callee is not None else None
        if callee is not None and known is not None:
            yield call, callee, known


def _made(node: ast.expr, module: PythonModule, project: Project) -> tuple[ast.Call, PythonModule] | None:
    """The call that makes the object of a name, if one place binds it, and the module of that."""
    name, home = key_of(node), module
    site = scopes(module).binding(node) if isinstance(node, ast.Name) else None
    if name and not isinstance(site, ast.Name):
        if not module.names.is_imported(name.partition(".")[0]) or not is_in_one_place(module, name, project):
            return None
        with suppress(OSError, SourceError):
            found = imported_name(module, node, project)
            if found is not None:
                home, name = found
                sites = scopes(home).sites_of(name).get(home.tree, [])
                site = sites[0] if len(sites) == 1 else None
    statement = home.parents.get(site) if isinstance(site, ast.Name) else None
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    return (value, home) if isinstance(value, ast.Call) else None
