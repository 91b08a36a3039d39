"""Messages of errors and warnings, as templates with {} for what only a run knows."""

from __future__ import annotations

import ast

from trl_lint.knowledge.refresher.values import template
from trl_lint.python.default_text import last_name
from trl_lint.records import NamedTuple

_SHORTEST = 25
_LONGEST = 85
_WARNERS = {"warn", "warning", "warning_once", "warning_advice", "error"}
_LOGGERS = {"warnings", "logger", "logging", "log", "log_dist"}


class Message(NamedTuple):
    """`kind` is the exception's class, or `warning`."""

    kind: str
    text: str


def read_messages(tree: ast.Module) -> list[Message]:
    """Messages of `raise X("…")`, `warnings.warn`, `logger.warning` and `assert … , "…"`, each once, in the order of
    the file.

    Texts too short to recognise anything by are left out, as are announced deprecations (they are facts of their
    own); long ones are cut.
    """
    found: dict[Message, None] = {}
    for node in ast.walk(tree):
        message = _read(node)
        if message is not None:
            found[message] = None
    return list(found)


def _read(node: ast.AST) -> Message | None:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
        return _message(last_name(node.exc.func), node.exc.args[0])
    if isinstance(node, ast.Assert) and node.msg is not None:
        return _message("AssertionError", node.msg)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return None
    if node.func.attr not in _WARNERS or last_name(node.func.value) not in _LOGGERS:
        return None
    return _message("error" if node.func.attr == "error" else "warning", node.args[0])


def _message(kind: str, node: ast.expr) -> Message | None:
    text = template(node)
    if text is None or not kind:
        return None
    text = " ".join(text.split())
    if len(text.replace("{}", "")) < _SHORTEST or (kind == "warning" and "deprecated" in text):
        return None
    return Message(kind, text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " …")
