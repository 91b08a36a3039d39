"""Three-valued reading of arguments and literals: known, absent, or unknown. Unknown never becomes an error."""

from __future__ import annotations

import ast
from typing import Any

from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.words import is_countable


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | Missing:
    """The argument a call passes for parameter `name` (0-based `position` if it may be positional).

    ABSENT only if it is certain that nothing is passed; UNKNOWN under `*args` or `**kwargs` that may hold it.
    """
    unknown = False
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
        unknown = unknown or keyword.arg is None
    if position is not None:
        for index, value in enumerate(call.args):
            if isinstance(value, ast.Starred):
                unknown = True
                break
            if index == position:
                return value
    return UNKNOWN if unknown else ABSENT


def default_of(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr | None:
    """The default of a parameter, None where it has none (or there is no such parameter)."""
    positional = [*function.args.posonlyargs, *function.args.args]
    defaults = function.args.defaults
    pairs = [
        *zip(positional[len(positional) - len(defaults) :], defaults, strict=True),
        *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True),
    ]
    return next((default for arg, default in pairs if arg.arg == name), None)


def is_none(node: ast.expr | None) -> bool:
    """Whether the expression is a written `None`."""
    return isinstance(node, ast.Constant) and node.value is None


def literal(node: ast.expr | Missing | None) -> Any:
    """The Python value of a literal (numbers, strings, booleans, None, -x, tuples, lists, dicts), else UNKNOWN."""
    if node is None or isinstance(node, Missing):
        return UNKNOWN
    try:
        return evaluated(node)
    except (ValueError, TypeError, RecursionError):
        return UNKNOWN


def literal_of(text: str) -> Any:
    """The value of a literal that a text spells. Raises ValueError or TypeError if it is none, else what `ast` does."""
    return evaluated(ast.parse(text.lstrip(" \t"), mode="eval").body)


def evaluated(node: ast.expr | None) -> Any:
    """What `ast.literal_eval` makes of a node, with the ValueErrors and TypeErrors it raises.

    Each call of that one leaves four functions behind that refer to each other, for a collector that is off while trees
    are built: a tenth of the memory of a large run.
    """
    if isinstance(node, ast.Constant):
        if type(node.value) is int and not is_countable(node.value):
            raise ValueError("a number that is no count of anything")
        return node.value
    if isinstance(node, ast.Tuple):
        return tuple(map(evaluated, node.elts))
    if isinstance(node, ast.List):
        return list(map(evaluated, node.elts))
    if isinstance(node, ast.Set):
        return set(map(evaluated, node.elts))
    if isinstance(node, ast.Dict):
        return dict(zip(map(evaluated, node.keys), map(evaluated, node.values), strict=True))
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "set" and not (node.args or node.keywords):
            return set()
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        real, imaginary = _signed_number(node.left), _number(node.right)
        if isinstance(real, (int, float)) and isinstance(imaginary, complex):
            return real + imaginary if isinstance(node.op, ast.Add) else real - imaginary
    return _signed_number(node)


def _signed_number(node: ast.expr | None) -> Any:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        number = _number(node.operand)
        return +number if isinstance(node.op, ast.UAdd) else -number
    return _number(node)


def _number(node: ast.expr | None) -> int | float | complex:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, (int, float, complex)) and not isinstance(value, bool) and is_countable(value):
        return value
    raise ValueError("not a literal")


def same(one: object, other: object) -> bool:
    """Whether two expressions are written alike, but for blanks; a long one is read no further than they agree."""
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.AST):
        return all(same(getattr(one, field, None), getattr(other, field, None)) for field in one._fields)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other
