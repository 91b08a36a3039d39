"""Giving an overridden method the parameter that its trainer passes now, and handing it on to the method it overrides.

Imported where a finding is written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.drift._moves import edit_insertion, insertion_behind, is_everywhere
from trl_lint.finding import Edit, Fix
from trl_lint.project.stack import Choices
from trl_lint.python.guards import key_of
from trl_lint.python.module import FunctionNode, PythonModule, nodes_in

# What may be left unread: the time since the start, and the dataset of the trainer itself. How many items there are in
# a batch decides what a loss is divided by.
_MAY_BE_DROPPED = ("start_time", "train_dataset")
# Those that got one argument more, behind the others.
_FIXED = ("compute_loss", "training_step", "log", "_get_train_sampler")


def edit_signature(
    method: FunctionNode, keyword: str, positional: int, base: str, known: Choices, module: PythonModule
) -> Fix | None:
    """Add `keyword=None` behind the positional parameters, and pass it on where `super()` is called.

    `positional`: how many arguments the trainer passes by position; `base`: the dotted name of the class whose method
    `super()` reaches, "" where a class of the project may stand between. Unsafe where a loss would then be computed
    without what it is to be divided by. Withheld where the method uses the name for something else.
    """
    given = method.args
    plain = len(given.posonlyargs) + len(given.args) - 1
    by_name = method.name == "compute_loss"
    if method.name not in _FIXED or given.vararg is not None or given.kwarg is not None or plain < 0:
        return None
    if (plain < 2) if by_name else (plain != positional - 1):
        return None
    if any(isinstance(part, ast.Name) and part.id == keyword for part in nodes_in(method)):
        return None
    if any(arg.arg == keyword for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)):
        return None
    parameter = _edit_parameters(method, keyword, module)
    if parameter is None:
        return None
    above = list(_calls_above(method, module))
    hands_on = bool(base and above) and is_everywhere(f"{base}.{method.name}", keyword, known)
    passed = [edit_insertion(call, keyword, keyword, module) for call in above] if hands_on else []
    if not all(passed):
        passed = []
    is_read = len(passed) == len(above) > 0 or keyword in _MAY_BE_DROPPED
    edits = (parameter, *(edit for edit in passed if edit is not None))
    return Fix(f"Add `{keyword}` to the parameters", "safe" if is_read else "unsafe", edits)


def _edit_parameters(method: FunctionNode, keyword: str, module: PythonModule) -> Edit | None:
    given = method.args
    last = (*given.posonlyargs, *given.args)[-1]
    span = module.span(last)
    if given.defaults:
        span = (span[0], module.span(given.defaults[-1])[1])
    if given.kwonlyargs:
        return module.source.edit(span[1], span[1], f", {keyword}=None")
    close = module.text.find(")", span[1])
    if "#" in module.text[span[1] : close]:
        return None
    return insertion_behind(span, close, f"{keyword}=None", module)


def _calls_above(method: FunctionNode, module: PythonModule) -> Iterator[ast.Call]:
    """The calls of the method that this one overrides."""
    for part in nodes_in(method):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == method.name:
            owner = part.func.value
            if isinstance(owner, ast.Call) and key_of(owner.func) == "super":
                yield part


def calls_above(method: FunctionNode, module: PythonModule) -> bool:
    """Whether a method calls the one that it overrides."""
    return next(_calls_above(method, module), None) is not None
