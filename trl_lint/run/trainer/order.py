"""Which of two things happens first when a script runs."""

from __future__ import annotations

import ast

from trl_lint.python.reaching import place_of
from trl_lint.run.trainer.made import Frame, Made


def is_before(one: Made, other: Made, use: Frame) -> bool:
    """Whether `one` is certainly made before `other`. `use`: where both are used, in a function or in none."""
    if one.kind not in ("call", "instance", "parsed"):
        return False
    first, second = _moment(one), _moment(other)
    if first is None or second is None:
        return False
    (frame, node), (home, later) = first, second
    if frame.module is home.module and frame.function is home.function:
        return place_of(node) < place_of(later)
    # What comes in as an argument was made before the function that uses it was called.
    return home.module is use.module and home.function is use.function and use.function is not None


def _moment(made: Made) -> tuple[Frame, ast.AST] | None:
    """The function in which it is made, or in which the helper is called that makes it, and the place there."""
    frame = made.frame
    node: ast.AST = made.node
    while frame.caller is not None:
        call = frame.call
        if call is None:
            return None
        node, frame = call, frame.caller
    return frame, node
