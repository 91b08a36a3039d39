"""Where gradients are recorded: what the context managers and decorators of torch switch."""

from __future__ import annotations

import ast
import re
from typing import Literal

from trl_lint.python.guards import last_name
from trl_lint.python.module import FunctionNode
from trl_lint.python.values import literal
from trl_lint.regexes import regex

Mode = Literal["grad", "no_grad", "inference", "unknown"]

# Context managers that leave alone whether gradients are recorded.
_NEUTRAL = regex(
    r"autocast|accumulate|no_sync|nullcontext|record_function|profil|tqdm|^open$|^device$|stream|timer|suppress|warnings",
    re.I,
)


def mode_of(function: FunctionNode) -> Mode | None:
    """The gradient mode that the decorators of a function set, None if they set none."""
    for decorator in function.decorator_list:
        mode = mode_of_context(decorator)
        if mode is not None:
            return mode
    return None


def mode_of_context(node: ast.expr) -> Mode | None:
    """The mode that a context manager, or decorator, switches to; None if it has nothing to do with gradients."""
    func = node.func if isinstance(node, ast.Call) else node
    given = literal(node.args[0]) if isinstance(node, ast.Call) and node.args else None
    name = last_name(func)
    if name in ("no_grad", "enable_grad"):
        return "no_grad" if name == "no_grad" else "grad"
    if name in ("inference_mode", "set_grad_enabled"):
        if name == "inference_mode":
            return "inference" if given in (None, True) else "unknown"
        if not isinstance(given, bool):
            return "unknown"
        return "grad" if given else "no_grad"
    if "grad" in name or "infer" in name or "eval" in name:
        return "unknown"
    return None


def is_neutral(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _NEUTRAL.search(last_name(node.func)) is not None
