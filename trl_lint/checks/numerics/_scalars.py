"""Optimizers that hold single numbers, not the parameters of a model."""

from __future__ import annotations

import ast

from trl_lint.python.guards import bindings, key_of, last_name
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument


def moves_scalars(step: ast.Call, module: PythonModule) -> bool:
    """Whether the optimizer of a step holds nothing but single numbers, such as a Lagrange multiplier."""
    assert isinstance(step.func, ast.Attribute)
    owners = [step.func.value, *step.args[:1]]  # `scaler.step(optimizer)`
    made = [value for owner in owners for value in bindings(module).get(key_of(owner), ())]
    calls = [value for value in made if isinstance(value, ast.Call) and "optim" in module.segment(value.func).lower()]
    given = [argument(call, "params", 0) for call in calls or made if isinstance(call, ast.Call)]
    return bool(given) and all(isinstance(params, ast.expr) and _are_scalars(params, module) for params in given)


def _are_scalars(params: ast.expr, module: PythonModule) -> bool:
    if isinstance(params, ast.Dict):  # a group
        groups = zip(params.keys, params.values, strict=True)
        return any(
            isinstance(key, ast.Constant) and key.value == "params" and _are_scalars(value, module)
            for key, value in groups
        )
    if isinstance(params, (ast.List, ast.Tuple)):
        return bool(params.elts) and all(_are_scalars(item, module) for item in params.elts)
    if isinstance(params, ast.Call):
        return _is_scalar(params)
    values = bindings(module).get(key_of(params), [])
    return bool(values) and all(isinstance(value, ast.Call) and _is_scalar(value) for value in values)


def _is_scalar(call: ast.Call) -> bool:
    """Whether a call makes a tensor of one number: `nn.Parameter(torch.tensor(x))`, `torch.zeros(1)`."""
    name = last_name(call.func)
    if name in ("Parameter", "Variable", "to", "cuda", "requires_grad_", "double", "float", "clone", "detach"):
        inner = call.args[0] if name in ("Parameter", "Variable") and call.args else getattr(call.func, "value", None)
        return isinstance(inner, ast.Call) and _is_scalar(inner)
    if name in ("tensor", "as_tensor", "scalar_tensor"):
        data = argument(call, "data", 0)
        is_one = isinstance(data, (ast.List, ast.Tuple)) and len(data.elts) == 1
        return isinstance(data, ast.expr) and (is_one or not isinstance(data, (ast.List, ast.Tuple, ast.ListComp)))
    if name not in ("zeros", "ones", "rand", "randn", "empty", "full"):
        return False
    sizes = call.args[:1] if name == "full" else call.args
    flat = [item for size in sizes for item in (size.elts if isinstance(size, (ast.Tuple, ast.List)) else [size])]
    return bool(sizes) and all(isinstance(item, ast.Constant) and item.value == 1 for item in flat)
