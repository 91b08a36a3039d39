"""The texts that a script writes out: as far as they are literal, with a hole where something is filled in."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint import budget
from trl_lint.memos import per_module
from trl_lint.project import Project
from trl_lint.project.modules import called_function, imported_name
from trl_lint.python.guards import bindings, key_of
from trl_lint.python.module import FunctionNode, PythonModule, nodes_in, own_nodes
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

HOLE = "\0"
_FIELD = regex(r"\{[^{}\n]{0,80}\}|%\([^()\n]{1,40}\)s|%s")
_DEEP = 3  # functions that write for others
_LONGEST = 20_000  # characters of one text


class Text(NamedTuple):
    """A text of a module with its holes, and the expression that it is."""

    text: str
    node: ast.expr
    module: PythonModule


def text_of(node: ast.expr, module: PythonModule, project: Project, depth: int = 0) -> str | None:
    """What an expression is as a text, with a hole for each part that is filled in; None where it may be no text."""
    if depth > 8:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) and len(node.value) <= _LONGEST else None
    if isinstance(node, ast.JoinedStr):
        parts = (one.value if isinstance(one, ast.Constant) else _filled(one, module, project) for one in node.values)
        return "".join(map(str, parts))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = (text_of(side, module, project, depth + 1) for side in (node.left, node.right))
        return None if left is None and right is None else f"{left or HOLE}{right or HOLE}"[:_LONGEST]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _with_holes(text_of(node.left, module, project, depth + 1))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _with_holes(text_of(node.func.value, module, project, depth + 1))
    if isinstance(node, ast.Call):
        called = called_function(node, module, project)
        returned = _returned(called[1], called[0]) if called is not None else None
        return text_of(returned, called[0], project, depth + 4) if called is not None and returned is not None else None
    if isinstance(node, (ast.Name, ast.Attribute)):
        found = named_text(node, module, project)
        return None if found is None else text_of(found.node, found.module, project, depth + 1)
    return None


@per_module
def _returned(function: FunctionNode, module: PythonModule) -> ast.expr | None:
    """What the only `return` of a function gives."""
    found = [one.value for one in own_nodes(function) if isinstance(one, ast.Return)]
    return found[0] if len(found) == 1 else None


def _filled(part: ast.expr, module: PythonModule, project: Project) -> str:
    named = part.value if isinstance(part, ast.FormattedValue) else part
    if isinstance(named, (ast.Name, ast.Attribute)):
        found = named_text(named, module, project)
        if found is not None and isinstance(found.node, ast.Constant):
            return found.text
    return HOLE


def _with_holes(text: str | None) -> str | None:
    return None if text is None else _FIELD.sub(HOLE, text)


def named_text(node: ast.expr, module: PythonModule, project: Project) -> Text | None:
    """The text that a name of a module stands for, if one statement binds it, there or where it is imported from."""
    imported = imported_name(module, node, project)
    home, name = imported or (module, key_of(node))
    values = bindings(home).get(name, [])
    if len(values) != 1 or not home.names.is_literal_only(name):
        return None
    value = values[0]
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return Text(value.value, value, home)
    return Text("", value, home) if isinstance(value, (ast.BinOp, ast.JoinedStr)) else None


def texts_in(node: ast.AST, module: PythonModule, project: Project) -> Iterator[Text]:
    """The whole texts in a part of a module: those that are part of a longer one are left out."""
    stack: list[ast.AST] = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            continue  # a docstring
        found = text_of(one, module, project) if isinstance(one, ast.expr) and _may_be_text(one) else None
        if found is not None and isinstance(one, ast.expr):
            yield Text(found, one, module)
        else:
            stack.extend(ast.iter_child_nodes(one))


def _may_be_text(node: ast.expr) -> bool:
    is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    return is_read or isinstance(node, (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call))


def written_by(function: FunctionNode | ast.Lambda, module: PythonModule, project: Project) -> tuple[Text, ...]:
    """The texts that a function may write: its own, those of the names that it uses and of functions that it calls."""
    found: list[Text] = []
    told: set[ast.AST] = set()
    waiting: list[tuple[FunctionNode | ast.Lambda, PythonModule, int]] = [(function, module, 0)]
    while waiting:
        function, module, depth = waiting.pop()
        if function in told:
            continue
        told.add(function)
        found += texts_in(function, module, project)
        for call in (node for node in nodes_in(function) if isinstance(node, ast.Call)):
            called = called_function(call, module, project)
            if called is None or called[1] in told:
                continue
            if depth >= _DEEP:
                budget.limit(_DEEP, "functions that write texts more than {} calls away were not read", module.path)
                continue
            waiting.append((called[1], called[0], depth + 1))
    return tuple(found)
