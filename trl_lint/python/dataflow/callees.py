"""Which function of its own module a call runs, and with which value for which parameter."""

from __future__ import annotations

import ast
from typing import TypeVar

from trl_lint.memos import per_module
from trl_lint.python.guards import functions_named, key_of
from trl_lint.python.module import FunctionNode, PythonModule

V = TypeVar("V")

# Decorators that leave alone what the function takes and returns.
_TRANSPARENT = frozenset(
    {"no_grad", "inference_mode", "enable_grad", "staticmethod", "classmethod", "compile", "script", "override"}
)


def callee(module: PythonModule, func: ast.expr, caller: FunctionNode | ast.Module) -> FunctionNode | None:
    """The one function that `name(…)` or, in a method, `self.name(…)` can mean; None where that is not certain."""
    if isinstance(func, ast.Name):
        return named(module, func.id)
    if isinstance(func, ast.Attribute) and key_of(func.value) == "self":
        # An override further down, in this module or another, would be found under the same name.
        found = functions_named(module, func.attr)
        is_own = len(found) == 1 and module.parents.get(found[0]) is module.class_of(caller)
        return found[0] if is_own and _is_plain(found[0], module) else None
    return None


def named(module: PythonModule, name: str) -> FunctionNode | None:
    """The one function at the top of a module that a name can mean there; None where that is not certain."""
    found = functions_named(module, name)
    candidates = [function for function in found if module.parents.get(function) is module.tree]
    is_only = len(found) == 1 and not _is_rebound(module, name)
    return candidates[0] if candidates and is_only and _is_plain(candidates[0], module) else None


def _is_rebound(module: PythonModule, name: str) -> bool:
    """Whether an import or an assignment gives the name another meaning somewhere in the module."""
    from trl_lint.python.guards import bindings

    return name in bindings(module) or any(
        name == (alias.asname or alias.name) for node in module.imports for alias in node.names
    )


@per_module
def _is_plain(function: FunctionNode, module: PythonModule) -> bool:
    """No generator, no coroutine, no decorator that may change the result, and no stub."""
    if isinstance(function, ast.AsyncFunctionDef):
        return False
    for decorator in function.decorator_list:
        name = key_of(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if name.rpartition(".")[2] not in _TRANSPARENT:
            return False
    yields = (*module.of(ast.Yield), *module.of(ast.YieldFrom))
    return not any(function in module.functions_around(node) for node in yields)


def bound(
    function: FunctionNode, call: ast.Call, arguments: list[V], keywords: dict[str | None, V], is_method: bool
) -> dict[str, V] | None:
    """The values of the parameters; None where `*args` or `**kwargs` hide who gets what."""
    if any(isinstance(arg, ast.Starred) for arg in call.args) or None in keywords:
        return None
    positional = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    if is_method and not _is_static(function):
        positional = positional[1:]
    names = {*positional, *(arg.arg for arg in function.args.kwonlyargs)}
    values = dict(zip(positional, arguments, strict=False))
    values.update((name, value) for name, value in keywords.items() if name in names and name is not None)
    return values


def _is_static(function: FunctionNode) -> bool:
    return any(key_of(decorator) == "staticmethod" for decorator in function.decorator_list)


def record_fields(module: PythonModule, name: str) -> list[str] | None:
    """The fields of the dataclass or NamedTuple that has this name in a module; None if there is none."""
    classes = [node for node in module.classes if node.name == name]
    if len(classes) != 1 or not _is_record(classes[0]):
        return None
    return [
        statement.target.id
        for statement in classes[0].body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    ]


def _is_record(node: ast.ClassDef) -> bool:
    """A plain dataclass or NamedTuple: no base brings fields, nothing moves them after they are set."""
    bases = [key_of(base).rpartition(".")[2] for base in node.bases]
    decorators = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    is_dataclass = any(key_of(item).rpartition(".")[2] == "dataclass" for item in decorators)
    methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return (bases == ["NamedTuple"] or (is_dataclass and not bases)) and not methods & {"__post_init__", "__init__"}
