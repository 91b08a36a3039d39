"""Estimators of a KL divergence that are not one, by their algebra alone.

The k3 estimator of a log ratio r is exp(r) - r - 1, which is never negative (http://joschu.net/blog/kl-approx.html).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trl_lint.python.algebra import Root, Sum, added, definitions
from trl_lint.regexes import regex

# What a log ratio is called where it is one name.
_LOG_RATIO = regex(r"log_?ratio|logr$|(?:^|_)kl(?:_|$|d)|log_?diff|logp\w{0,60}_diff|delta", re.I)


def wrong_estimators(root: Root) -> Iterator[tuple[ast.expr, str]]:
    """The sums of a function that would be the k3 estimator but for a sign, or for the ratio in place of its log."""
    sums = [node for node in _own(root) if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))]
    inner = {id(part) for node in sums for part in (node.left, node.right)}
    outer = [node for node in sums if id(node) not in inner and _may_be_one(node)]
    known = definitions(root) if outer else {}
    for node in outer:
        found = added(node, known)
        message = _judge(found, known)
        if message is not None:
            yield node, message


def _own(root: Root) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions in it."""
    stack: list[ast.AST] = list(ast.iter_child_nodes(root))
    while stack:
        node = stack.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
            stack.extend(ast.iter_child_nodes(node))


def _may_be_one(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Constant) and part.value in (1, 1.0) for part in ast.walk(node))


def _judge(found: Sum, known: dict[str, ast.expr]) -> str | None:
    """exp(r) - 1 and what else: that must be -r."""
    powers = [(text, inner) for text, inner in found.exponents.items() if found.terms[text] == 1.0]
    if found.constant != -1.0 or len(powers) != 1:
        return None
    ((text, inner),) = powers
    rest = {term: factor for term, factor in found.terms.items() if term != text}
    if not rest:
        return None
    ratio = added(inner, known)
    if ratio.constant:
        return None
    if rest == ratio.terms and _is_log_ratio(rest):
        return f"`exp(r) + r - 1` with r = `{ast.unparse(inner)}` falls below zero: the estimator is exp(r) - r - 1"
    is_ratio = len(ratio.exponents) == 1 and len(ratio.terms) == 1
    if is_ratio and rest == {term: -factor for term, factor in ratio.terms.items()}:
        (power,) = ratio.exponents.values()
        if _is_log_ratio(added(power, known).terms):
            return f"`{ast.unparse(inner)}` is a ratio already: the estimator is exp(r) - r - 1 of its logarithm"
    return None


def _is_log_ratio(terms: dict[str, float]) -> bool:
    """A difference of two, or something that is called one."""
    if len(terms) == 2:
        return sorted(terms.values()) == [-1.0, 1.0]
    return (
        len(terms) == 1 and abs(next(iter(terms.values()))) == 1.0 and _LOG_RATIO.search(next(iter(terms))) is not None
    )
