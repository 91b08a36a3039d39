"""The words of conditions that are Python's own: operators, functions, methods and types of plain values."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitXor: operator.xor, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
PLAIN: dict[str, Callable[..., Any]] = {
    "len": len, "int": int, "float": float, "str": str, "abs": abs, "min": min, "max": max, "sum": sum, "set": set,
    "list": list, "tuple": tuple, "dict": dict, "round": round, "bool": bool, "sorted": sorted, "range": range,
}  # fmt: skip
METHODS = frozenset({"startswith", "endswith", "lower", "upper", "split", "strip", "keys", "values", "get", "replace",
                      "lstrip", "rstrip", "items", "isdigit"})  # fmt: skip
TYPES: dict[str, type] = {
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "tuple": tuple, "set": set,
    "Mapping": dict,
}  # fmt: skip
# What it costs not to know a class: a plain value is an instance of none that is not listed, but for these.
WIDE_TYPES = frozenset({"object", "Iterable", "Sequence", "Collection", "Sized", "Container", "Number", "Hashable"})


def version_of(text: object) -> object:
    from packaging.version import InvalidVersion, Version

    if isinstance(text, Version):
        return text
    if not isinstance(text, str):
        raise TypeError("no version")
    try:
        return Version(text)
    except InvalidVersion:
        raise ValueError("no version") from None
