"""What frameworks without tables of their own refuse of the numbers of a run: `rules/semantics/stacks.toml`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Literal

from trl_lint.knowledge.rows import read_rows
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., int]] = {"gcd": math.gcd, "lcm": math.lcm, "max": max, "min": min}
_HOLE = regex(r"\{(=?)([^{}]{1,120})\}")


class Law(NamedTuple):
    """One law; the fields are explained in the table."""

    names: Mapping[str, str]
    holds: str
    says: str
    needs: str = "True"

    def is_broken(self, values: Mapping[str, object]) -> bool:
        """Raises ZeroDivisionError and TypeError for values of which it says nothing."""
        return bool(_value(self.needs, values)) and not _value(self.holds, values)

    def told(self, values: Mapping[str, object]) -> str:
        return _HOLE.sub(lambda hole: str(_value(hole[2], values) if hole[1] else values[hole[2]]), self.says)


class Stack(NamedTuple):
    """A framework; the fields are explained in the table."""

    shown: str
    notation: Literal["assignments", "flags"]
    releases: str
    source: str
    law: tuple[Law, ...]
    modules: tuple[str, ...] = ()
    exact: bool = False
    scripts: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    config: str = ""
    defaults: Mapping[str, str | int] = {}

    def is_started_by(self, module: str, script: str) -> bool:
        """Whether a command that starts a module, or a script, is one of it, but for its `marks`."""
        if module:
            return module in self.modules if self.exact else module.startswith(self.modules or ("\0",))
        return any(script == name or script.endswith(f"/{name}") for name in self.scripts)


class _Table(NamedTuple):
    stack: tuple[Stack, ...]


@cache
def stacks() -> tuple[Stack, ...]:
    """Raises KnowledgeError if the table is malformed."""
    return read_rows("semantics/stacks.toml", _Table).stack


@lru_cache(maxsize=256)
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _value(text: str, values: Mapping[str, object]) -> Any:
    return _of(_parsed(text), values)


def _of(node: ast.expr, values: Mapping[str, object]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_of(node.left, values), _of(node.right, values))
    if isinstance(node, ast.Compare):
        return _OPERATORS[type(node.ops[0])](_of(node.left, values), _of(node.comparators[0], values))
    if isinstance(node, ast.BoolOp):
        found = (_of(part, values) for part in node.values)
        return all(found) if isinstance(node.op, ast.And) else any(found)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _FUNCTIONS[node.func.id](*(_of(part, values) for part in node.args))
    raise ValueError(f"{ast.unparse(node)} is no expression of a law")
