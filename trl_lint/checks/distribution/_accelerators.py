"""The `Accelerator` objects of a module: what they are called, and with which arguments they were made."""

from __future__ import annotations

import ast

from trl_lint.python.guards import bindings, key_of
from trl_lint.python.module import PythonModule


def constructor_of(module: PythonModule, node: ast.expr) -> ast.Call | None:
    """The call that made the `accelerate.Accelerator` an expression names; None where that is not certain."""
    key = key_of(node)
    made = bindings(module).get(key, []) if key else []
    if len(made) != 1 or not isinstance(made[0], ast.Call):
        return None
    call = made[0]
    is_certain = module.names.is_certain(call.func) and module.names.origins(call.func) == {"accelerate.Accelerator"}
    return call if is_certain else None
