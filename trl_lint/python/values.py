"""Three-valued reading of arguments and literals: known, absent, or unknown. Unknown never becomes an error."""

from __future__ import annotations

import ast
import enum
from typing import Any


class Missing(enum.Enum):
    """Why there is no value: the argument is not given, or nobody can tell from the source."""

    ABSENT = "absent"
    UNKNOWN = "unknown"


ABSENT = Missing.ABSENT
UNKNOWN = Missing.UNKNOWN


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
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN
