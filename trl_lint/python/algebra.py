"""Sums as they are written: the terms of an expression, with the names in it replaced by what they stand for."""

from __future__ import annotations

import ast
from collections import Counter

from trl_lint.python.module import nodes_in
from trl_lint.records import NamedTuple

Root = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


class Sum(NamedTuple):
    """coefficients of the terms, as written, and a number; `exponents` are the arguments of the terms that are exp."""

    terms: dict[str, float]
    constant: float
    exponents: dict[str, ast.expr]


def definitions(root: Root) -> dict[str, ast.expr]:
    """The names of a function that are bound once, to an expression of names that are bound once as well."""
    bound: Counter[str] = Counter()
    values: dict[str, ast.expr] = {}
    for node in nodes_in(root):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            bound[node.id] += 1
        elif isinstance(node, ast.arg):
            bound[node.arg] += 1
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = node.value
    return {
        name: value
        for name, value in values.items()
        if bound[name] == 1 and all(bound[part.id] <= 1 for part in ast.walk(value) if isinstance(part, ast.Name))
    }


def added(node: ast.expr, known: dict[str, ast.expr]) -> Sum:
    """The sum that an expression is; an expression that is none has itself as its only term."""
    found = Sum({}, 0.0, {})
    constant = _collect(node, 1.0, known, found, 0)
    terms = {text: factor for text, factor in found.terms.items() if factor}
    return Sum(terms, constant, {text: found.exponents[text] for text in terms if text in found.exponents})


_MOST_DEEP = 12  # sums in products in sums; what is further in is one term


def _collect(node: ast.expr, factor: float, known: dict[str, ast.expr], into: Sum, depth: int) -> float:
    """Add the terms of an expression to a sum; returns the number among them."""
    node = _bare(node)
    if depth < _MOST_DEEP:
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            sign = 1.0 if isinstance(node.op, ast.Add) else -1.0
            left = _collect(node.left, factor, known, into, depth + 1)
            return left + _collect(node.right, factor * sign, known, into, depth + 1)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
            return _collect(node.operand, factor * sign, known, into, depth + 1)
        number = node.value if isinstance(node, ast.Constant) else None
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            return factor * float(number)
        if isinstance(node, ast.Name) and node.id in known:
            value = known[node.id]
            if isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Name)) or exponent(value) is not None:
                return _collect(value, factor, known, into, depth + 1)
    text = ast.unparse(node)
    into.terms[text] = into.terms.get(text, 0.0) + factor
    inner = exponent(node)
    if inner is not None:
        into.exponents[text] = inner
    return 0.0


# Methods that leave the numbers as they are.
_NEUTRAL = frozenset({"clone", "contiguous", "cpu", "cuda", "detach", "double", "float"})


def _bare(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
        if node.func.attr not in _NEUTRAL:
            break
        node = node.func.value
    return node


def exponent(node: ast.expr) -> ast.expr | None:
    """The x of `torch.exp(x)`, `x.exp()`; None for anything else."""
    if not isinstance(node, ast.Call) or node.keywords or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "exp":
        return None
    if isinstance(node.func.value, ast.Name) and node.func.value.id in ("torch", "th", "np", "jnp", "math"):
        return node.args[0] if len(node.args) == 1 else None
    return node.func.value if not node.args else None
