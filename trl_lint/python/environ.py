"""Variables of the environment that a script reads with a default."""

from __future__ import annotations

import ast

from trl_lint.missing import UNKNOWN
from trl_lint.python.guards import bindings
from trl_lint.python.module import PythonModule
from trl_lint.python.values import literal

_GETS = frozenset({"os.environ.get", "os.getenv"})


def variable_with_default(node: ast.expr, module: PythonModule) -> tuple[str, int] | None:
    """The variable, and the whole number that counts without it, of `int(os.environ.get("GPUS", "8"))`, also where a
    name that is assigned once stands for it; None for anything else.
    """
    if isinstance(node, ast.Name):
        found = bindings(module).get(node.id, [])
        if len(found) != 1 or not module.names.is_literal_only(node.id):
            return None
        node = found[0]
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "int":
        return None
    read = node.args[0] if len(node.args) == 1 else None
    if not isinstance(read, ast.Call) or _GETS.isdisjoint(module.names.origins(read.func)) or len(read.args) != 2:
        return None
    name, default = (literal(each) for each in read.args)
    text = str(default) if default is not UNKNOWN else ""
    return (name, int(text)) if isinstance(name, str) and text.isdecimal() and len(text) < 6 else None
