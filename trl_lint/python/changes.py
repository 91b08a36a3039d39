"""Whether a list, a dict or a set is changed where it stands."""

from __future__ import annotations

import ast

from trl_lint.python.module import PythonModule

_METHODS = frozenset(
    {
        "__delitem__", "__setitem__", "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem",
        "remove", "reverse", "setdefault", "sort", "update",
    }
)  # fmt: skip


def is_changed_in_place(node: ast.AST, module: PythonModule) -> bool:
    """Whether items of an expression are set, or one of its methods changes them: `x.append(…)`, `x["a"] = …`."""
    parent = module.parents[node]
    if isinstance(parent, ast.Subscript):
        return parent.value is node and not isinstance(parent.ctx, ast.Load)
    if not isinstance(parent, ast.Attribute) or parent.attr not in _METHODS:
        return False
    call = module.parents[parent]
    return isinstance(call, ast.Call) and call.func is parent
