"""Tensors that a helper in another module of the project makes on the CPU, seen where the helper is called."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from trl_lint.checks.distribution._device import (
    certain_conflicts,
    function_conflicts,
    is_followed,
    is_followed_file,
    is_for_accelerators,
    is_prepared,
    may_be_on_cpu,
)
from trl_lint.memos import per_module
from trl_lint.project.modules import imported_file, imported_name
from trl_lint.python.dataflow.callees import named
from trl_lint.python.dataflow.interpreter import dotted
from trl_lint.python.dataflow.torch_facts import DATA_FACTORIES, FACTORIES
from trl_lint.python.guards import last_name
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.triage import GAP
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import SourceError

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.python.dataflow.conflicts import Conflict, ConflictKind
    from trl_lint.sources import SourceFile

_FACTORIES = FACTORIES | DATA_FACTORIES
_FACTORY_CALL = regex(rb"\b(?:" + "|".join(sorted(_FACTORIES)).encode() + rb")" + GAP.encode() + rb"[(\[]")
# The functions that call helpers of other modules: each helper, and its first call there.
_Callers = dict[FunctionNode, dict["FunctionNode | None", ast.Call]]


class ImportedConflict(NamedTuple):
    """A call of an imported helper, and what the tensor that is made in there meets."""

    call: ast.Call
    conflict: Conflict


def imported_conflicts(
    module: PythonModule, project: Project, conflict_kind: ConflictKind
) -> Iterator[ImportedConflict]:
    """The first conflict of each helper's tensor in the functions of a module that call such helpers."""
    if not is_for_accelerators(module):
        return
    for function, calls in _calling_functions(module, project).items():
        seen: set[ast.Call] = set()
        for conflict in certain_conflicts([function_conflicts(module, function, project)], conflict_kind):
            if conflict.source is module or conflict.factory in seen or is_prepared(conflict):
                continue
            origin = conflict.source.function(conflict.factory)
            call = calls.get(origin) or next(
                (c for maker, c in calls.items() if maker in conflict.source.functions), None
            )
            if call is not None:
                seen.add(conflict.factory)
                yield ImportedConflict(call, conflict)


@per_module
def _calling_functions(module: PythonModule, project: Project) -> _Callers:
    """The functions of a module that call helpers of others which make tensors: each helper, and its first call."""
    table: _Callers = {}
    makers: dict[str, FunctionNode | None] = {}
    for call in module.calls:
        text = dotted(call.func)
        if text is None or not module.names.is_imported(text.partition(".")[0]):
            continue
        if text not in makers:
            makers[text] = _maker(module, call.func, project)
        maker, function = makers[text], module.function(call)
        if maker is not None and function is not None:
            table.setdefault(function, {}).setdefault(maker, call)
    return table


def _maker(module: PythonModule, func: ast.expr, project: Project) -> FunctionNode | None:
    """The function of another module that a name means, if it, or one that it calls there, makes a tensor."""
    path = imported_file(module, func, project)
    if path is None or not _may_bring_makers(module, path, project):
        return None
    found = imported_name(module, func, project)
    return maker_in(*found) if found is not None and is_followed(found[0]) else None


def _may_bring_makers(module: PythonModule, path: str, project: Project) -> bool:
    """Whether a file may have a function that makes a tensor, or pass one on, by its bytes: most need no tree."""
    with suppress(OSError, SourceError):  # reported when the file itself is checked
        file = project.files.get(path, by=module.path)
        return os.path.basename(path) == "__init__.py" or may_hold_makers(file)
    return False


def may_hold_makers(file: SourceFile) -> bool:
    """Whether the bytes of a file name a function of torch that makes tensors."""
    return is_followed_file(file.path, file.data) and _FACTORY_CALL.search(file.data) is not None


def maker_in(module: PythonModule, name: str) -> FunctionNode | None:
    """The function at the top of a module that a name means, if it, or one that it calls there, makes a tensor."""
    function = named(module, name)
    return function if function is not None and function in _makers(module) else None


@per_module
def _makers(module: PythonModule) -> set[FunctionNode]:
    """The functions of a module that make a tensor, or call one at its top that does."""
    found: set[FunctionNode] = set()
    callers: dict[FunctionNode, set[FunctionNode]] = {}
    for call in module.calls:
        if last_name(call) in _FACTORIES:
            found.update(one for one in module.functions_around(call) if may_be_on_cpu(call, one))
        callee = named(module, call.func.id) if isinstance(call.func, ast.Name) else None
        if callee is not None:
            callers.setdefault(callee, set()).update(module.functions_around(call))
    left = list(found)
    while left:
        new = callers.get(left.pop(), set()) - found
        found |= new
        left.extend(new)
    return found
