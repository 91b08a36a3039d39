"""The gradient analysis: which values of a function are live, detached, or made where no gradient is recorded.

A function is looked at as if it were called with gradients on; `no_grad`, `inference_mode` and `enable_grad` switch as
they do in torch, and under any other context manager nothing is known. Functions of the same module are followed.
"""

from __future__ import annotations

import ast

from trl_lint.memos import per_module
from trl_lint.missing import UNKNOWN as NOT_LITERAL
from trl_lint.python.dataflow.flow import (
    ONE,
    UNKNOWN,
    Flow,
    added,
    aged,
    detached,
    is_number,
    join,
    number,
    record,
    scaled,
)
from trl_lint.python.dataflow.gradient_calls import GradientCalls
from trl_lint.python.dataflow.interpreter import Env, Interpreter, dotted, too_intricate
from trl_lint.python.dataflow.modes import is_neutral, mode_of_context
from trl_lint.python.dataflow.recorder import Flows, Root
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import literal

_MOST_STEPS = 60_000


@per_module
def flows(module: PythonModule, root: Root) -> Flows | None:
    """The analysis of a function, or of the statements of a module; None if it is too intricate to be followed."""
    domain = GradientDomain(module, root)
    try:
        Interpreter(domain).run(root.body, domain.start())
    except RecursionError:
        too_intricate(module, root, _MOST_STEPS)
        return None
    return domain.found()


class GradientDomain(GradientCalls):
    """Evaluates expressions to flows, and keeps what the rules ask about."""

    def runs(self, function: FunctionNode, env: Env[Flow]) -> None:
        Interpreter(self).run(function.body, env)

    # -- the domain protocol --------------------------------------------------------------------------------------

    def unknown(self) -> Flow:
        return UNKNOWN

    def join(self, left: Flow, right: Flow) -> Flow:
        return join(left, right)

    def element(self, value: Flow) -> Flow:
        """Another one in each round, so nothing of its form is known."""
        return UNKNOWN._replace(is_inference=value.is_inference)

    def part(self, value: Flow, index: int, count: int) -> Flow:
        if value.kind == "record":
            return value.items[index][1] if len(value.items) == count else UNKNOWN
        return self.derived(("part", index), [value], is_part=True)

    def returns(self, node: ast.expr, value: Flow) -> None:
        self._returned.append(value)
        if not self._calling:
            self.hand_back(value)

    def assigned(self, target: ast.expr, value: Flow, env: Env[Flow]) -> None:
        """What is changed in place is another value afterwards."""
        inner = target.value if isinstance(target, (ast.Subscript, ast.Attribute)) else None
        owner = dotted(inner) if inner is not None else None
        if owner is not None and owner in env and owner != "self":
            env[owner] = UNKNOWN

    def enters(self, test: ast.expr) -> bool:
        """What asks about gradients decides what nobody here can."""
        return "grad" not in ast.unparse(test)

    def opens(self, node: ast.With | ast.AsyncWith) -> object:
        before = self.mode
        for item in node.items:
            mode = mode_of_context(item.context_expr)
            if mode is not None:
                self.mode = mode if self.mode != "unknown" else "unknown"
            elif not is_neutral(item.context_expr):
                self.mode = "unknown"
        return before

    def closes(self, state: object) -> None:
        self.mode = state  # type: ignore[assignment]

    def repeats(self, node: ast.For | ast.AsyncFor | ast.While, env: Env[Flow]) -> None:
        first = self._loops.setdefault((node, self._calling), len(self._atoms) + 1)
        for name, flow in env.items():
            env[name] = aged(flow, first)
        self._steps += len(env) // 8

    # -- expressions ----------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr, env: Env[Flow]) -> Flow:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise RecursionError("too many steps")
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, (int, float)) or isinstance(node.value, bool):
                return UNKNOWN
            return number(float(node.value)) if abs(node.value) < 1e300 else UNKNOWN
        if isinstance(node, ast.Name):
            return self._name(node, env)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, env)
        if isinstance(node, ast.Call):
            return self._call(node, env)
        if isinstance(node, ast.BinOp):
            return self._binary(node, env)
        if isinstance(node, ast.UnaryOp):
            value = self.evaluate(node.operand, env)
            if isinstance(node.op, (ast.USub, ast.UAdd)):
                return self.settled(scaled(value, -1.0 if isinstance(node.op, ast.USub) else 1.0))
            return UNKNOWN
        if isinstance(node, ast.Subscript):
            value = self.evaluate(node.value, env)
            self.evaluate(node.slice, env)
            return self._item(node, value, env)
        if isinstance(node, ast.IfExp):
            self.evaluate(node.test, env)
            ways = (self.evaluate(node.body, env), self.evaluate(node.orelse, env))
            return join(*ways) if self.enters(node.test) else UNKNOWN
        if isinstance(node, ast.NamedExpr):
            env[node.target.id] = self.evaluate(node.value, env)
            return env[node.target.id]
        if isinstance(node, (ast.Await, ast.Starred)):
            return self.evaluate(node.value, env)
        if isinstance(node, (ast.Tuple, ast.List)):
            values = [self.evaluate(item, env) for item in node.elts]
            is_open = any(isinstance(item, ast.Starred) for item in node.elts)
            return UNKNOWN if is_open else record(enumerate(values))
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            # Scopes of their own, which are not looked into; what `:=` binds out of them is unknown.
            env.update((n.target.id, UNKNOWN) for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
            return UNKNOWN
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child, env)
        return detached(self._read(node)) if isinstance(node, ast.Compare) else UNKNOWN

    def _name(self, node: ast.Name, env: Env[Flow]) -> Flow:
        flow = env.get(node.id)
        if flow is None or (flow.form is None and flow.kind == "value"):
            # Whatever it is: until something else is assigned, it is the same at each reading.
            found = self._read(node)._replace(is_inference=flow is not None and flow.is_inference)
            self.call_it(node.id, found)
            if flow is not None:
                env[node.id] = found
            return found
        return flow

    def _attribute(self, node: ast.Attribute, env: Env[Flow]) -> Flow:
        name = dotted(node)
        if name is not None and name in env:
            return env[name]
        value = self.evaluate(node.value, env)
        if node.attr in ("T", "mT", "real"):
            return self.derived(node.attr, [value])
        if node.attr in ("data", "shape", "device", "dtype", "ndim", "grad"):
            return detached(value) if node.attr == "data" else UNKNOWN
        # What hangs on an object may be another thing at the next reading, on the output of a call it is not.
        is_output = isinstance(node.value, ast.Call) or (value.form is not None and not self._is_parameter(value))
        if is_output:
            return self.derived(("attribute", node.attr), [value], is_part=True)
        return self._read(node)

    def _read(self, node: ast.expr) -> Flow:
        """What is not followed: at each reading something else, perhaps."""
        return self.existing(("read", node, self._calling), ("read", ast.unparse(node)))

    def _is_parameter(self, flow: Flow) -> bool:
        return any(atom in self._parameters for atom, _ in flow.form or ())

    def _item(self, node: ast.Subscript, value: Flow, env: Env[Flow]) -> Flow:
        key = literal(node.slice)
        if value.kind == "record":
            return next((item for name, item in value.items if name == key), UNKNOWN)
        if key is not NOT_LITERAL and isinstance(key, str):
            if value.form is not None and not self._is_parameter(value):
                return self.derived(("item", key), [value], is_part=True)
            return self._read(node)
        if _has_only_constants(node.slice):
            found = self.derived(("item", ast.unparse(node.slice)), [value])
            return found._replace(is_inference=value.is_inference)
        return UNKNOWN._replace(is_inference=value.is_inference and _is_view(node.slice))

    def _binary(self, node: ast.BinOp, env: Env[Flow]) -> Flow:
        left, right = self.evaluate(node.left, env), self.evaluate(node.right, env)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            if left.kind == right.kind == "either":
                return self.derived(type(node.op).__name__, [left, right], at=node)
            result = self.settled(added(left, right, 1.0 if isinstance(node.op, ast.Add) else -1.0))
            return self.kept(result, left, right)
        if isinstance(node.op, ast.Pow):
            if literal(node.right) == 2:
                self._squared(node, node.left, left, env)
            return self.derived("**", [left, right], at=node)
        if not isinstance(node.op, (ast.Mult, ast.Div)):
            return self.derived(type(node.op).__name__, [left, right], at=node)
        for one, other in ((left, right), (right, left)):
            if is_number(other) and other.form is not None and (one is left or isinstance(node.op, ast.Mult)):
                factor = dict(other.form)[ONE]
                if factor:
                    return self.settled(scaled(one, factor if isinstance(node.op, ast.Mult) else 1.0 / factor))
        self.note("product", node, [(node.left, left), (node.right, right)])
        return self.kept(self.derived(type(node.op).__name__, [left, right], at=node), left, right)


def _has_only_constants(node: ast.expr) -> bool:
    """Whether an index is the same at every reading: numbers and slices of numbers."""
    plain = (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)
    return all(isinstance(part, plain) for part in ast.walk(node))


def _is_view(node: ast.expr) -> bool:
    """Whether an index gives a view: slices and numbers, no tensor."""
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    return all(isinstance(item, ast.Slice) or _has_only_constants(item) for item in items)
