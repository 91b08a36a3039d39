"""LibCST on islands: the expression that a fix changes, parsed from its own slice of the file.

Cost follows findings, not file size. Parsing an expression needs no position provider: the slice is the place. Edits
are written with LibCST and handed on as the smallest text range that changed, so all else stays byte for byte.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trl_lint.finding import UNWRITTEN, Edit
from trl_lint.sources import SourceError

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.checks.rule import Site
    from trl_lint.python.module import PythonModule


def parse_expression(text: str) -> cst.BaseExpression:
    """The LibCST tree of the source of one expression. Raises SourceError if LibCST refuses it."""
    import libcst as cst

    # Parentheses, because a slice may break lines that only the brackets around it joined.
    try:
        tree = cst.parse_module(f"({text}\n)\n")
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise SourceError(f"LibCST cannot parse this expression: {type(error).__name__}") from None
    statement = cst.ensure_type(tree.body[0], cst.SimpleStatementLine)
    value = cst.ensure_type(statement.body[0], cst.Expr).value
    return value.with_changes(lpar=value.lpar[1:], rpar=value.rpar[:-1])


def island(module: PythonModule, node: ast.expr) -> cst.BaseExpression:
    """The LibCST tree of an expression of a module."""
    return parse_expression(module.segment(node))


def code_of(node: cst.CSTNode, newline: str = "\n") -> str:
    import libcst as cst

    return cst.Module([], default_newline=newline).code_for_node(node)


def rewrite(site: Site, node: ast.expr, change: Callable[[Any], cst.CSTNode]) -> Edit | None:
    """The edit that replaces an expression of a site's module by `change` of its LibCST tree.

    None if nothing changes, or it cannot be done; UNWRITTEN in a run that wants no edits.
    """
    if not site.project.settings.wants_edits:
        return UNWRITTEN
    try:
        return _rewritten(site.module, node, change)
    except SourceError:
        return None  # what cannot be repaired is told all the same


def _rewritten(module: PythonModule, node: ast.expr, change: Callable[[Any], cst.CSTNode]) -> Edit | None:
    start, _ = module.span(node)
    before = module.segment(node)
    # LibCST forgets line ends that are like the first one of the text it parsed.
    first = re.search(r"\r\n|\r|\n", before)
    after = code_of(change(island(module, node)), first[0] if first else "\n")
    return trimmed_edit(module, start, before, after)


def trimmed_edit(module: PythonModule, start: int, before: str, after: str) -> Edit | None:
    """The smallest edit that turns `before` (at `start`) into `after`; None where they are equal."""
    if before == after:
        return None
    head = 0
    limit = min(len(before), len(after))
    while head < limit and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < limit - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return module.source.edit(start + head, start + len(before) - tail, after[head : len(after) - tail])


def with_keyword(call: cst.Call, name: str, value: str) -> cst.Call:
    """The call with keyword `name` set to the expression `value`: replaced where it is given, else appended.

    A call that breaks its lines keeps its style: the new argument gets a line of its own if the last one had one.
    """
    import libcst as cst

    expression = cst.parse_expression(value)
    args = list(call.args)
    for index, arg in enumerate(args):
        if arg.keyword is not None and arg.keyword.value == name:
            args[index] = arg.with_changes(value=expression)
            return call.with_changes(args=args)
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = cst.Arg(expression, keyword=cst.Name(name), equal=equal)
    if args:
        last = args[-1]
        separator = args[-2].comma if len(args) > 1 else cst.Comma(whitespace_after=_first_break(call))
        if isinstance(last.comma, cst.Comma):  # a trailing comma: the new argument takes it over
            new = new.with_changes(comma=last.comma)
        else:
            new = new.with_changes(whitespace_after_arg=last.whitespace_after_arg)
            last = last.with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
        if _has_comment(separator):
            separator = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        args[-1] = last.with_changes(comma=separator)
    args.append(new)
    return call.with_changes(args=args)


def without_keyword(call: cst.Call, name: str) -> cst.Call:
    """The call without keyword `name`; the argument before it takes over its place at the end."""
    args = list(call.args)
    for index, arg in enumerate(args):
        if arg.keyword is not None and arg.keyword.value == name:
            if index == len(args) - 1 and index > 0:
                args[index - 1] = args[index - 1].with_changes(
                    comma=arg.comma, whitespace_after_arg=arg.whitespace_after_arg
                )
            del args[index]
            break
    return call.with_changes(args=args)


def _first_break(call: cst.Call) -> cst.BaseParenthesizableWhitespace:
    """The white space to put before a second argument: a line break if the first argument follows one."""
    import libcst as cst

    before = call.whitespace_before_args
    if isinstance(before, cst.ParenthesizedWhitespace) and before.first_line.comment is None and not before.empty_lines:
        return before
    return cst.SimpleWhitespace(" ")


def _has_comment(comma: object) -> bool:
    import libcst as cst

    return not isinstance(comma, cst.Comma) or "#" in code_of(comma)
