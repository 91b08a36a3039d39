"""Dicts with a name that calls unpack: `kwargs = dict(…)`, `kwargs["key"] = …`, `Config(**kwargs)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.drift._classes import Argument
from trl_lint.memos import per_module
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes
from trl_lint.records import NamedTuple


class Unpacked(NamedTuple):
    """A dict of which all uses are seen: what is put into it where it is made, then what is assigned or read by key,
    and the calls that unpack it. `bound`: the name where it is made.
    """

    bound: ast.Name
    made: tuple[Argument, ...]
    later: tuple[Argument, ...]
    readers: tuple[ast.Call, ...]


def unpacked(value: ast.expr, module: PythonModule) -> Unpacked | None:
    """What a `**value` unpacks, where one place binds its name to a dict that is written out, and nothing uses the name
    but calls that unpack it and keys that are written out; None where that is not certain.
    """
    bound = scopes(module).binding(value) if isinstance(value, ast.Name) else None
    return dict_bound_by(bound, module) if isinstance(bound, ast.Name) else None


@per_module
def dict_bound_by(bound: ast.Name, module: PythonModule) -> Unpacked | None:
    """As `unpacked`, for the place that binds the name."""
    assign = module.parents.get(bound)
    if not isinstance(assign, ast.Assign) or len(assign.targets) != 1 or not is_dict(assign.value):
        return None
    later, readers = [], []
    for use in module.named(bound.id):
        if use is bound:
            continue
        parent = module.parents[use]
        if scopes(module).binding(use) is not bound:
            return None
        if isinstance(parent, ast.Subscript) and parent.value is use and isinstance(parent.slice, ast.Constant):
            later.append(Argument(str(parent.slice.value), parent.slice))
        elif isinstance(parent, ast.keyword) and parent.arg is None and isinstance(module.parents[parent], ast.Call):
            readers.append(module.parents[parent])
        else:
            return None
    calls = tuple(call for call in readers if isinstance(call, ast.Call))
    return Unpacked(bound, tuple(_entries(assign.value)), tuple(later), calls)


@per_module
def _sites(bound: ast.Name, module: PythonModule) -> dict[str, tuple[ast.keyword | ast.expr, ...]]:
    """The nodes that spell each key of a dict."""
    found = dict_bound_by(bound, module)
    sites: dict[str, list[ast.keyword | ast.expr]] = {}
    for each in (*found.made, *found.later) if found is not None else ():
        sites.setdefault(each.name, []).append(each.node)
    return {name: tuple(nodes) for name, nodes in sites.items()}


def spelled(call: ast.Call, argument: Argument, module: PythonModule) -> tuple[ast.keyword | ast.expr, ...]:
    """All places that spell a keyword of a call; none where it stands in a dict that is not understood."""
    if isinstance(argument.node, ast.keyword) and argument.node in call.keywords:
        return (argument.node,)
    for keyword in call.keywords:
        found = unpacked(keyword.value, module) if keyword.arg is None else None
        if found is not None and argument.node in (sites := _sites(found.bound, module).get(argument.name, ())):
            return sites if _are_alike(found.bound, module) else ()
    return ()


def passes(call: ast.Call, name: str, module: PythonModule) -> bool | None:
    """Whether a call passes a keyword; None where it may do so out of a dict that is not understood."""
    answer: bool | None = False
    for keyword in call.keywords:
        if keyword.arg == name:
            return True
        if keyword.arg is None:
            found = unpacked(keyword.value, module)
            if found is not None and name in _sites(found.bound, module):
                return True
            answer = None if found is None else answer
    return answer


@per_module
def _are_alike(bound: ast.Name, module: PythonModule) -> bool:
    """Whether the calls that unpack a dict are all of the same class or function."""
    found = dict_bound_by(bound, module)
    readers = found.readers if found is not None else ()
    origins = {module.names.origins(call.func) for call in readers}
    return len(origins) == 1 and all(map(module.names.is_certain, (call.func for call in readers)))


def is_dict(value: ast.expr) -> bool:
    """Whether an expression is a dict all of whose keys are written out."""
    if isinstance(value, ast.Dict):
        return all(isinstance(key, ast.Constant) for key in value.keys)
    if not isinstance(value, ast.Call) or key_of(value.func) != "dict" or value.args:
        return False
    return all(keyword.arg is not None for keyword in value.keywords)


def _entries(value: ast.expr) -> Iterator[Argument]:
    if isinstance(value, ast.Dict):
        for key in value.keys:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield Argument(key.value, key)
    elif isinstance(value, ast.Call):
        for keyword in value.keywords:
            if keyword.arg is not None:
                yield Argument(keyword.arg, keyword)
