"""TRL605: a fill value that float16, or bfloat16, cannot hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.grading import milder
from trl_lint.missing import ABSENT, Missing
from trl_lint.python.dataflow.dtype import Precision
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument, literal
from trl_lint.records import NamedTuple

# The largest finite values. Those that round down to them are converted as well, but nobody writes such a number.
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}
_FINFO_OF_FLOAT32 = 3.4028234663852886e38
# Where the value stands, as (keyword, position), in a method call and in a call of the function in torch.
# Item assignment, `torch.tensor` and arithmetic round to an infinity instead. `tests/oracle/gpu_facts.json` has what
# torch 2.11 answered on a GPU and on a CPU.
_METHODS = {
    "masked_fill": ("value", 1),
    "masked_fill_": ("value", 1),
    "fill_": ("value", 0),
    "index_fill": ("value", 2),
    "index_fill_": ("value", 2),
    "new_full": ("fill_value", 1),
}
_FUNCTIONS = {
    "masked_fill": ("value", 2),
    "full": ("fill_value", 1),
    "full_like": ("fill_value", 1),
    "index_fill": ("value", 3),
    "nn.functional.pad": ("value", 3),
}
# Whichever of them is the number. On a CPU it is rounded, on a GPU it is not.
_WHERE = (("input", 1), ("other", 2))
# How a precision that is too low is written, and a number that is too large for it, or a limit of float32.
_LOW = (b"bfloat16", b"float16", b"half")
_LARGE = (
    rb"\bfinfo\b[\s\\(]*torch[\s\\]*\.[\s\\]*float(?:32)?\b|[,(=\s\\~+-]"
    rb"(?:\.?\d[\d_.]*[eE]\+?\d[\d_]*|(?:[6-9]|\d_?\d)(?:_?\d){4,}(?:\.[\d_]*)?|0[xXoObB][\w]*)[,)\s\\#]"
)


class Overflow(NamedTuple):
    """A value that is too large for the precision."""

    node: ast.expr
    precision: Precision


class FillValueOverflow(Rule):
    code = "TRL605"
    triggers = (*(f".{name}" for name in _METHODS), *(f"torch.{name}" for name in _FUNCTIONS), "torch.where")
    words = _LOW
    patterns = (_LARGE,)

    def check_call(self, site: Site) -> Iterator[Finding]:
        overflow = read_overflow(site)
        if overflow is None:
            return
        where = "torch.where" in site.module.names.origins(site.call.func)
        yield self.finding(
            site.module.location(overflow.node),
            f"{overflow.precision} cannot hold `{site.module.segment(overflow.node)}`: its largest value is "
            f"{_LARGEST[overflow.precision]:.6g}"
            + ("; torch.where rounds it to an infinity on a CPU and raises an error on a GPU" if where else ""),
            severity=milder(self.page.severity, where),
        )


def read_overflow(site: Site) -> Overflow | None:
    """The fill value of a call, if its tensor certainly has a precision that is too low for it."""
    from trl_lint.python.dataflow.dtype import precisions

    function = site.module.function(site.call)
    value = read_value(site.call, site.module)
    if function is None or value is None:
        return None
    if getattr(site.call.func, "attr", "") == "new_full" and argument(site.call, "dtype") is not ABSENT:
        return None
    size = magnitude(value)
    if size is None or size <= _LARGEST["float16"] or size == float("inf"):
        return None
    precision = precisions(site.module, function).get(site.call, "unknown")
    return Overflow(value, precision) if size > _LARGEST.get(precision, float("inf")) else None


def read_value(call: ast.Call, module: PythonModule) -> ast.expr | None:
    """The argument that is filled in."""
    origins = [origin for origin in module.names.origins(call.func) if origin.startswith("torch.")]
    if "torch.where" in origins:
        given = [argument(call, *place) for place in _WHERE]
        return next((node for node in given if isinstance(node, ast.expr) and magnitude(node) is not None), None)
    if origins:
        place = _FUNCTIONS.get(origins[0].removeprefix("torch."))
    else:
        place = _METHODS.get(getattr(call.func, "attr", ""))
    value: ast.expr | Missing | None = argument(call, *place) if place is not None else None
    return value if isinstance(value, ast.expr) else None


def magnitude(node: ast.expr) -> float | None:
    """The absolute value of a literal number or of a limit of float32; None for anything else."""
    if isinstance(node, ast.UnaryOp):
        return magnitude(node.operand)
    if isinstance(node, ast.Attribute) and node.attr in ("min", "max"):
        text = ast.unparse(node.value)
        return _FINFO_OF_FLOAT32 if text in ("torch.finfo(torch.float32)", "torch.finfo(torch.float)") else None
    value = literal(node)
    return abs(float(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


rule = FillValueOverflow()
