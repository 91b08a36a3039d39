"""Names that a module serves without binding them: through `__getattr__`, `global`, or a table of its own names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from trl_lint.python.default_text import dotted, last_name, read_string

_TABLES = ("globals", "locals", "vars")


def served_names(body: list[ast.stmt], constants: Mapping[str, ast.expr]) -> tuple[str, ...] | None:
    """The names for which a module's `__getattr__` has an answer; None where that cannot be read.

    Understood are tests of the name for equality, or for being in a literal collection, with AttributeError or nothing
    else behind them. `constants`: what the names of the module are bound to once.
    """
    function = next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == "__getattr__"), None)
    if function is None or not function.args.args:
        return None
    found = _answered(function.body, function.args.args[0].arg, constants)
    return None if found is None else tuple(dict.fromkeys(found))


def _answered(body: list[ast.stmt], parameter: str, constants: Mapping[str, ast.expr]) -> list[str] | None:
    """The names for which a block returns something; None where it may do so for any."""
    found: list[str] = []
    for node in body:
        if isinstance(node, ast.If):
            tested = _tested(node.test, parameter, constants)
            after = _answered(node.orelse, parameter, constants)
            if tested is None or after is None:
                return None
            found += [*tested, *after]
        elif any(isinstance(part, ast.Return) for part in ast.walk(node)):
            return None
    return found


def _tested(test: ast.expr, parameter: str, constants: Mapping[str, ast.expr]) -> list[str] | None:
    """The values of the parameter for which a test may hold."""
    if isinstance(test, ast.BoolOp):
        parts = [_tested(part, parameter, constants) for part in test.values]
        if isinstance(test.op, ast.And):
            return next((part for part in parts if part is not None), None)
        return None if None in parts else [name for part in parts for name in part or ()]
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and dotted(test.left) == parameter):
        return None
    [operator], [right] = test.ops, test.comparators
    if isinstance(operator, ast.Eq):
        return [read_string(right)] if read_string(right) else None
    if isinstance(right, ast.Name):
        right = constants.get(right.id, right)
    items = right.keys if isinstance(right, ast.Dict) else getattr(right, "elts", None)
    if not isinstance(operator, ast.In) or items is None:
        return None
    names = [read_string(item) for item in items]
    return names if all(names) else None


def makes_names(statements: Iterable[ast.stmt]) -> bool:
    """Whether the statements of a module put names into it that are worked out: `globals()[name] = …`,
    `this_module.__dict__[name] = …`, `setattr(sys.modules[__name__], name, …)`.
    """
    return any(_puts_name(node) for node in statements)


def _puts_name(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Subscript) and _is_table(target.value) for target in targets)
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("update", "setdefault"):
        return _is_table(call.func.value)
    return dotted(call.func) in ("setattr", "exec")


def _is_table(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return dotted(node.func) in _TABLES
    return last_name(node) == "__dict__"


def global_names(tree: ast.Module) -> Iterator[str]:
    """The names that functions bind in the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names
