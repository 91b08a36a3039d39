"""TRL604: log-probabilities, or a ratio of them, computed in half precision."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.numerics._training import is_policy_optimisation, kind_of_module
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding, Fix
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT
from trl_lint.paths import is_test_file
from trl_lint.python.guards import last_name
from trl_lint.python.islands import rewrite
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import argument
from trl_lint.regexes import regex

if TYPE_CHECKING:
    import libcst as cst

# Autocast runs both functions in float32, and a trainer of transformers calls its loss under autocast.
_MIXED = regex(r"autocast|mixed_precision|custom_fwd|\bamp\b")
_HALF = regex(r"float16|\.half\(")
_LOG_PROB = regex(r"log_?p(?:rob|s?$|s?_)|log_?ratio|log_?diff", re.I)
# How far off the worst was (torch 2.15): of 4,000 rows of 32,000 logits, and of 100,000 ratios near 1 of
# log-probabilities above -20.
_ERRORS = {"bfloat16": ("0.14", "13 %"), "float16": ("0.02", "2 %")}


class LowPrecisionLogSoftmax(Rule):
    code = "TRL604"
    triggers = (".log_softmax", "torch.nn.functional.log_softmax", "torch.log_softmax", ".exp", "torch.exp")
    needles = (b"log_softmax(", b".exp(")
    words = (b"bfloat16", b"float16", b"half")
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        precision = read_precision(site)
        if precision is None:
            return
        error, ratio = _ERRORS[precision]
        is_softmax = last_name(site.call.func) == "log_softmax"
        yield self.finding(
            site.location,
            f"log-probabilities computed in {precision} are off by up to {error}: compute them in float32"
            if is_softmax
            else f"a ratio of log-probabilities in {precision} is off by up to {ratio}: keep them in float32",
            fix=edit_float(site) if is_softmax else None,
        )


def read_precision(site: Site) -> str | None:
    """The low precision that a call of log_softmax, or of exp with a log ratio, certainly works in."""
    from trl_lint.python.dataflow.dtype import precisions

    module, call = site.module, site.call
    function = module.function(call)
    if function is None or argument(call, "dtype") is not ABSENT or not is_in_question(module):
        return None
    if last_name(call.func) == "exp" and not is_log_ratio(operand_of(call, module), function):
        return None
    if is_of_trainer(module, call):
        return None
    found = precisions(module, function).get(call)
    return found if found in _ERRORS else None


@per_module
def is_in_question(module: PythonModule) -> bool:
    """Whether a module trains a policy and speaks of a low precision, but not of autocast."""
    return (
        _HALF.search(module.text) is not None
        and not is_test_file(module.path)
        and (is_policy_optimisation(module) or kind_of_module(module) != "other")
        and _MIXED.search(module.text) is None
    )


def is_of_trainer(module: PythonModule, call: ast.Call) -> bool:
    """Whether the call stands in a trainer of transformers, which may run it under autocast."""
    owner = module.class_of(call)
    return owner is not None and any(last_name(base).endswith(("Trainer", "Mixin")) for base in owner.bases)


def operand_of(call: ast.Call, module: PythonModule) -> ast.expr | None:
    """The x of `torch.exp(x)` and `x.exp()`."""
    if any(origin.startswith("torch.") for origin in module.names.origins(call.func)):
        return call.args[0] if call.args else None
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def is_log_ratio(node: ast.expr | None, function: FunctionNode) -> bool:
    """A difference of things that are called log-probabilities, also through a name."""
    if isinstance(node, ast.Name):
        assigned = [other for other in ast.walk(function) if isinstance(other, ast.Assign)]
        values = [other.value for other in assigned if node.id in [getattr(name, "id", "") for name in other.targets]]
        return bool(values) and all(not isinstance(one, ast.Name) and is_log_ratio(one, function) for one in values)
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Mult):
        return is_log_ratio(node.left, function) or is_log_ratio(node.right, function)
    names = {name for side in (node.left, node.right) for name in names_of(side)}
    return isinstance(node.op, ast.Sub) and any(_LOG_PROB.search(name) for name in names)


def names_of(node: ast.expr) -> set[str]:
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, (ast.Name, ast.Attribute))
    }


def edit_float(site: Site) -> Fix | None:
    """Compute in float32. Not safe: the tensor takes twice the memory.

    A difference of rounded log-probabilities is past mending: there it is their cast that has to go.
    """
    operand = operand_of(site.call, site.module)
    if operand is None:
        return None

    def widened(node: cst.BaseExpression) -> cst.BaseExpression:
        import libcst as cst

        if isinstance(node, (cst.BinaryOperation, cst.UnaryOperation, cst.IfExp)) and not node.lpar:
            node = node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return cst.Call(cst.Attribute(node, cst.Name("float")))

    edit = rewrite(site, operand, widened)
    return Fix("Compute in float32: add `.float()`", "unsafe", (edit,)) if edit is not None else None


rule = LowPrecisionLogSoftmax()
