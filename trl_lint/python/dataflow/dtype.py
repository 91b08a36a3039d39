"""The precision lattice: which tensors of a function are certainly in float16 or bfloat16."""

from __future__ import annotations

import ast
from typing import Literal

from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.python.dataflow import torch_facts as torch
from trl_lint.python.dataflow.interpreter import Env, Interpreter, Plain, dotted, too_intricate
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import argument, literal

Precision = Literal["float16", "bfloat16", "other", "unknown"]

_NAMES: dict[str, Precision] = {"half": "float16", "float16": "float16", "bfloat16": "bfloat16"}
_LOW: frozenset[Precision] = frozenset({"float16", "bfloat16"})
# Methods that keep the precision of their object, whatever they are given.
_KEEPING = torch.SAME_DEVICE_METHODS - torch.DTYPES - {
    "all", "any", "argmax", "argmin", "argsort", "eq", "ge", "gt", "le", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lt", "ne", "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "nonzero", "softmax",
    "log_softmax", "sum", "prod", "cumsum", "cumprod", "type", "where", "add", "sub", "mul", "div", "pow",
}  # fmt: skip
_MOST_STEPS = 100_000


@per_module
def precisions(module: PythonModule, function: FunctionNode) -> dict[ast.Call, Precision]:
    """What each call of torch, and each method call, of a function works in: the precision of its tensor.

    Empty for a function too intricate to be followed to its end.
    """
    domain = PrecisionDomain(module)
    try:
        Interpreter(domain).run(function.body, {})
    except RecursionError:
        too_intricate(module, function, _MOST_STEPS)
        domain.seen.clear()
    return domain.seen


class PrecisionDomain(Plain[Precision]):
    """Evaluates expressions to precisions; `seen` has what each call works in, where it is the same on every way."""

    def __init__(self, module: PythonModule) -> None:
        self.module = module
        self.seen: dict[ast.Call, Precision] = {}
        self._steps = 0

    def join(self, left: Precision, right: Precision) -> Precision:
        return left if left == right else "unknown"

    def element(self, value: Precision) -> Precision:
        return value if value in _LOW else "unknown"

    def part(self, value: Precision, index: int, count: int) -> Precision:
        return "unknown"

    def unknown(self) -> Precision:
        return "unknown"

    def assigned(self, target: ast.expr, value: Precision, env: Env[Precision]) -> None:
        """An item takes the precision of its tensor; `x.data = …` brings its own."""
        if isinstance(target, ast.Attribute) and target.attr == "data" and (owner := dotted(target.value)):
            env[owner] = "unknown"

    def enters(self, test: ast.expr) -> bool:
        """A test about the precision itself (`if x.dtype == torch.float16`) decides what nobody here can."""
        return "dtype" not in ast.unparse(test)

    def evaluate(self, node: ast.expr, env: Env[Precision]) -> Precision:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise RecursionError("too many steps")
        if isinstance(node, (ast.Name, ast.Attribute)):
            return env.get(dotted(node) or "", "unknown")
        if isinstance(node, ast.Call):
            return self._call(node, env)
        values: list[Precision] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr) and not isinstance(node, (ast.Lambda, ast.ListComp, ast.GeneratorExp)):
                values.append(self.evaluate(child, env))
        if isinstance(node, ast.NamedExpr):
            env[node.target.id] = values[-1]
            return values[-1]
        if isinstance(node, (ast.Subscript, ast.UnaryOp)):
            return values[0]
        if isinstance(node, ast.BinOp):
            return self._binary(node, values)
        return self.join(values[1], values[2]) if isinstance(node, ast.IfExp) else "unknown"

    def _see(self, node: ast.Call, value: Precision) -> None:
        self.seen[node] = self.join(self.seen.get(node, value), value)

    def _binary(self, node: ast.BinOp, values: list[Precision]) -> Precision:
        """A number leaves the precision of a tensor as it is."""
        for one, other, value in ((node.left, node.right, values[0]), (node.right, node.left, values[1])):
            if isinstance(other, ast.Constant) and not isinstance(one, ast.Constant):
                return value
        return values[0] if values[0] == values[1] else "unknown"

    def _call(self, node: ast.Call, env: Env[Precision]) -> Precision:
        for arg in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.evaluate(arg, env)
        func = node.func
        origins = self.module.names.origins(func)
        if origins and all(origin.startswith("torch.") for origin in origins):
            self._see(node, self._of_where(node, env) if "torch.where" in origins else self._of_function(node, env))
            return self._named(argument(node, "dtype"))
        if not isinstance(func, ast.Attribute):
            return "unknown"
        value = self.evaluate(func.value, env)
        self._see(node, value)
        if func.attr in torch.DTYPES:
            return _NAMES.get(func.attr, "other")
        if func.attr in ("to", "type"):
            return self._converted(node, value)
        if func.attr in ("cuda", "cpu") or func.attr in _KEEPING:
            return value
        return self._named(argument(node, "dtype"))

    def _of_function(self, node: ast.Call, env: Env[Precision]) -> Precision:
        """The precision that a free function works in: that of its `dtype`, else of its first argument."""
        given = argument(node, "dtype")
        if given is not ABSENT or not node.args:
            return self._named(given)
        return self.evaluate(node.args[0], env)

    def _of_where(self, node: ast.Call, env: Env[Precision]) -> Precision:
        """The precision of the tensor that `torch.where` chooses from beside a number."""
        chosen = [argument(node, "input", 1), argument(node, "other", 2)]
        tensors = [one for one in chosen if isinstance(one, ast.expr) and not _is_number(one)]
        return self.evaluate(tensors[0], env) if len(tensors) == 1 else "unknown"

    def _converted(self, node: ast.Call, value: Precision) -> Precision:
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in ("dtype", None))]
        named = [self._named(arg) for arg in given]
        if any(one != "unknown" for one in named):
            return next(one for one in named if one != "unknown")
        devices = all("device" in ast.unparse(arg).lower() or isinstance(arg, ast.Constant) for arg in given)
        return value if devices else "unknown"

    def _named(self, node: object) -> Precision:
        name = (dotted(node) or "") if isinstance(node, ast.expr) else ""
        prefix, _, last = name.rpartition(".")
        if prefix != "torch" or last not in torch.DTYPES:
            return "unknown"
        return _NAMES.get(last, "other")


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is written as a number or as a limit of a precision."""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
        return (dotted(node.value.func) or "") in ("torch.finfo", "finfo")
    return literal(node) is not UNKNOWN
