"""What a reward function of a project takes and gives, whoever calls it."""

from __future__ import annotations

import ast

from trl_lint.memos import per_module
from trl_lint.project import Project
from trl_lint.project.modules import imported_name
from trl_lint.python.guards import bindings, functions_named, key_of
from trl_lint.python.module import FunctionNode, PythonModule, own_nodes

# What gives one number, text or truth for the whole batch.
_SCALAR_CALLS = frozenset({"float", "int", "bool", "len", "str"})
# What makes an array of numbers, by its module.
_ARRAY_CALLS = frozenset({"array", "as_tensor", "asarray", "cat", "full", "ones", "stack", "tensor", "zeros"})
_PARTS = (ast.Attribute, ast.Subscript)  # what is taken of a value is no question whether there is one
_ARRAY_MODULES = frozenset({"np", "numpy", "torch"})


def function_named(module: PythonModule, name: ast.expr, project: Project) -> tuple[PythonModule, FunctionNode] | None:
    """The one function of the project, undecorated and at the top of its module, that a name certainly stands for."""
    imported = imported_name(module, name, project)
    if imported is None and not isinstance(name, ast.Name):
        return None
    home, text = imported or (module, key_of(name))
    found = top_function(home, text)
    if found is None or (imported is None and module.names.is_imported(text)):
        return None
    return home, found


def top_function(module: PythonModule, name: str) -> FunctionNode | None:
    """The one function of that name at the top of a module, if nothing decorates or replaces it."""
    found = functions_named(module, name)
    is_plain = len(found) == 1 and not found[0].decorator_list and name not in bindings(module)
    return found[0] if is_plain and module.parents.get(found[0]) is module.tree else None


def required_of(function: FunctionNode) -> set[str]:
    """The parameters without a default."""
    spec = function.args
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    named = [arg.arg for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None]
    return {*positional[: len(positional) - len(spec.defaults)], *named}


def takes(function: FunctionNode, name: str) -> bool:
    """Whether a function can be given an argument by this name."""
    spec = function.args
    return spec.kwarg is not None or any(arg.arg == name for arg in (*spec.args, *spec.kwonlyargs))


def parameter_of(function: FunctionNode, name: str) -> ast.arg | None:
    """The parameter of that name."""
    spec = function.args
    return next((one for one in (*spec.args, *spec.kwonlyargs) if one.arg == name), None)


def returns_of(function: FunctionNode) -> list[ast.Return] | None:
    """The statements by which a function returns; None for a generator."""
    inner = own_nodes(function)
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in inner):
        return None
    return [node for node in inner if isinstance(node, ast.Return)]


def read_result(function: FunctionNode) -> str | None:
    """What a function returns on every way if that is certainly no list; None if it may be one."""
    returned = returns_of(function)
    if returned is None:
        return None
    if not returned:
        return None if _is_stub(function) else "nothing"
    kinds = {kind_of(node.value, function) for node in returned}
    kind = kinds.pop() if len(kinds) == 1 else None
    return None if kind in ("a list", "a tensor") else kind


def kind_of(value: ast.expr | None, function: FunctionNode) -> str | None:
    """A word for what an expression certainly is; None for what may be anything."""
    if value is None or is_none(value):
        return "nothing"
    if isinstance(value, (ast.Dict, ast.DictComp)):
        return "a dict"
    if isinstance(value, (ast.List, ast.ListComp, ast.Tuple)):
        return "a list"
    if isinstance(value, (ast.JoinedStr, ast.Constant)):
        return "one value"
    if isinstance(value, ast.Name):
        made = made_once(function, value.id)
        return None if made is None or isinstance(made, ast.Name) else kind_of(made, function)
    if not isinstance(value, ast.Call):
        return None
    if isinstance(value.func, ast.Name) and value.func.id in _SCALAR_CALLS:
        return "one value"
    name, _, member = key_of(value.func).rpartition(".")
    return "a tensor" if name in _ARRAY_MODULES and member in _ARRAY_CALLS else None


def made_once(function: FunctionNode, name: str) -> ast.expr | None:
    """What the only statement of a function that binds a name binds it to."""
    spec = function.args
    if any(one is not None and one.arg == name for one in (*spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)):
        return None
    inner = own_nodes(function)
    stored = [
        node for node in inner if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    made = [
        node.value
        for node in inner
        if isinstance(node, ast.Assign) and any(target in stored for target in node.targets)
    ]
    return made[0] if len(stored) == len(made) == 1 else None


# -- None --------------------------------------------------------------------------------------------------------------


def is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


@per_module
def gives_none(module: PythonModule, function: FunctionNode, project: Project) -> ast.expr | None:
    """The place by which the list that a function returns may hold None: `[None if … else …]`, `rewards.append(None)`,
    or the call of a helper that gives None in so many words. None where there is no such place.
    """
    returned = returns_of(function) or []
    names = {node.value.id for node in returned if isinstance(node.value, ast.Name)}
    items: list[ast.expr] = []
    for node in own_nodes(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.ListComp):
            items.append(node.value.elt)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.List):
            items += node.value.elts
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.ListComp):
            is_returned = any(key_of(target) in names for target in node.targets)
            items += [node.value.elt] if is_returned else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            is_added = node.func.attr == "append" and key_of(node.func.value) in names
            items += node.args if is_added else []
    return next((item for item in items if may_be_none(item, module, function, project)), None) if returned else None


def by_helper(item: ast.expr) -> str:
    """Words for what gives None where that is a helper of the project."""
    return f", by `{key_of(item.func)}`" if isinstance(item, ast.Call) else ""


def may_be_none(value: ast.expr, module: PythonModule, function: FunctionNode, project: Project) -> bool:
    """Whether an expression is None in so many words on one of its ways: itself, or as a helper of the project says."""
    if is_none(value):
        return True
    if isinstance(value, ast.IfExp):
        return is_none(value.body) or is_none(value.orelse)
    if isinstance(value, ast.Name):
        made = made_once(function, value.id)
        if made is None or isinstance(made, (ast.Name, ast.Constant)) or is_tested(module, function, value.id):
            return False
        return may_be_none(made, module, function, project)
    if isinstance(value, ast.Call):
        helper = function_named(module, value.func, project)
        return helper is not None and helper[1] is not function and returns_none(helper[1])
    return False


def is_tested(module: PythonModule, function: FunctionNode, name: str) -> bool:
    """Whether a function asks anywhere for the value of a name: what follows then is another matter."""
    tests = [
        node for node in own_nodes(function) if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert, ast.BoolOp))
    ]
    asked = [node.values if isinstance(node, ast.BoolOp) else [node.test] for node in tests]
    return any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(module.parents[node], _PARTS)
        for parts in asked
        for part in parts
        for node in ast.walk(part)
    )


def returns_none(function: FunctionNode) -> bool:
    """Whether a function gives None on one way and something else on another: by `return None`, or where its last
    statement is an `if` without `else` that returns.
    """
    returned = returns_of(function)
    if not returned or isinstance(function, ast.AsyncFunctionDef):
        return False
    kinds = [node.value is None or is_none(node.value) for node in returned]
    if any(isinstance(node.value, ast.IfExp) and _has_none(node.value) for node in returned):
        return True
    if all(kinds):
        return False
    last = function.body[-1]
    falls = isinstance(last, ast.If) and not last.orelse and isinstance(last.body[-1], ast.Return)
    return any(kinds) or falls


def _has_none(choice: ast.IfExp) -> bool:
    return is_none(choice.body) or is_none(choice.orelse)


def _is_stub(function: FunctionNode) -> bool:
    """A body that leaves by raising, or is not written yet."""
    last = function.body[-1]
    return isinstance(last, (ast.Raise, ast.Pass)) or (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    )
