"""The device lattice: where the tensors of one function live, and where two that may not meet do meet.

A value is a CPU tensor with one or more dimensions (`cpu`), a tensor on a stated device (`placed`), an output of a
model (`model`), a tensor the caller passed (`param`), some tensor of an unknown place (`tensor`), a thing that mixes
with every device (`host`: numbers, sizes, 0-dim CPU tensors), or unknown.
"""

from __future__ import annotations

import ast
from typing import Literal, NamedTuple

from trl_lint.python.dataflow import torch_facts as torch
from trl_lint.python.dataflow.interpreter import Env, Interpreter, dotted
from trl_lint.python.dataflow.readings import (
    has_rank,
    is_bound_device,
    is_cpu,
    is_dtype,
    is_foreign_annotation,
    is_model_call,
    is_scalar_data,
    is_tensor_annotation,
    keeps_rank,
    parts,
    proven_tensors,
)
from trl_lint.python.guards import bindings, key_of, last_name
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import ABSENT, argument, default_of

Kind = Literal["cpu", "placed", "model", "param", "tensor", "host", "unknown"]


class Value(NamedTuple):
    """`anchor` is the tensor (as written) a size or a factory took its size from; `device` a device expression.

    `factory` is the call that made a CPU tensor, `known` the names bound when it ran.
    """

    kind: Kind
    anchor: str = ""
    device: str = ""
    factory: ast.Call | None = None
    known: frozenset[str] = frozenset()


_PLAIN_BUILTINS = frozenset({"len", "int", "float", "max", "min", "sum", "range", "bool", "str"})

# Some expressions are looked at twice, so nesting them doubles the work each time; the longest functions of the
# projects in docs/validation.md take a thirtieth of this.
_MOST_STEPS = 100_000

UNKNOWN = Value("unknown")
HOST = Value("host")
MODEL = Value("model")
TENSOR = Value("tensor")

Tier = Literal["placed", "model", "param", "anchor", "sibling"]


class Mix(NamedTuple):
    """A CPU tensor made by `factory` meets, at `node`, a value that lives elsewhere.

    `remedy` is the device expression the factory should have been given, "" if none is certain.
    """

    factory: ast.Call
    node: ast.expr
    other: str
    tier: Tier
    remedy: str


def device_mixes(module: PythonModule, function: FunctionNode) -> list[Mix]:
    """Every place of a function where a CPU tensor meets one that lives elsewhere, in source order.

    None in a function too intricate to be followed to its end.
    """
    domain = DeviceDomain(module, function)
    try:
        Interpreter(domain).run(function.body, domain.start())
    except RecursionError:
        return []
    mixes = sorted(domain.mixes.values(), key=lambda mix: (mix.node.lineno, mix.node.col_offset))
    return [mix for mix in mixes if mix.tier != "sibling" or domain.has_sibling(mix.factory)]


class DeviceDomain:
    """Evaluates expressions to device values and notes the mixes on the way."""

    def __init__(self, module: PythonModule, function: FunctionNode) -> None:
        self.module = module
        self.function = function
        self.mixes: dict[tuple[int, int, int, int], Mix] = {}
        self._tensors = proven_tensors(function)
        self._placing_factories: list[ast.Call] = []
        self._steps = 0

    def start(self) -> Env[Value]:
        env: Env[Value] = {}
        spec = self.function.args
        for arg in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]:
            if is_tensor_annotation(arg.annotation):
                env[arg.arg] = Value("param")
            elif arg.arg in self._tensors and not is_foreign_annotation(arg.annotation):
                env[arg.arg] = TENSOR
            else:
                env[arg.arg] = UNKNOWN
        return env

    def has_sibling(self, factory: ast.Call) -> bool:
        """Whether another factory call of the function says where its tensor goes."""
        return any(other is not factory for other in self._placing_factories)

    # -- the domain protocol --------------------------------------------------------------------------------------

    def unknown(self) -> Value:
        return UNKNOWN

    def join(self, left: Value, right: Value) -> Value:
        if left.kind == right.kind:
            return left._replace(
                anchor=left.anchor if left.anchor == right.anchor else "",
                device=left.device if left.device == right.device else "",
            )
        tensors = {"placed", "model", "param", "tensor"}
        return TENSOR if {left.kind, right.kind} <= tensors else UNKNOWN

    def element(self, value: Value) -> Value:
        return value if value.kind in ("model", "placed", "tensor") else UNKNOWN

    def assigned(self, target: ast.expr, value: Value, env: Env[Value]) -> None:
        """`x.data = …` may move x; `a[i] = b` copies across devices and changes nothing."""
        owner = dotted(target.value) if isinstance(target, ast.Attribute) and target.attr == "data" else None
        if owner is not None:
            env[owner] = UNKNOWN

    def enters(self, test: ast.expr) -> bool:
        """Skip what only runs where everything is on the CPU (or is not), or under symbolic tracing."""
        text = ast.unparse(test)
        return not ("is_available" in text or "'cpu'" in text or "fx_proxy" in text or "is_cuda" in text)

    def evaluate(self, node: ast.expr, env: Env[Value]) -> Value:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise RecursionError("too many steps")
        kind = type(node)
        if kind is ast.Constant:
            return HOST
        if kind is ast.Name or kind is ast.Attribute:
            return self._name(node, env)
        if kind is ast.Call:
            return self._call(node, env)  # type: ignore[arg-type]
        if isinstance(node, ast.BinOp):
            return self._meet(node, [self.evaluate(node.left, env), self.evaluate(node.right, env)], env)
        if isinstance(node, ast.Compare):
            if all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
                return HOST
            return self._meet(node, [self.evaluate(part, env) for part in (node.left, *node.comparators)], env)
        if isinstance(node, ast.UnaryOp):
            value = self.evaluate(node.operand, env)
            return HOST if isinstance(node.op, ast.Not) else value
        if isinstance(node, ast.Subscript):
            value = self.evaluate(node.value, env)
            self.evaluate(node.slice, env)
            if value.kind == "cpu":
                # One item of a 1-d tensor is 0-dim; only a slice keeps the rank for certain.
                return value if keeps_rank(node.slice) else UNKNOWN
            return value if value.kind in ("placed", "model", "param", "tensor", "host") else self._proven(node)
        if isinstance(node, ast.IfExp):
            self.evaluate(node.test, env)
            return self.join(self.evaluate(node.body, env), self.evaluate(node.orelse, env))
        if isinstance(node, ast.NamedExpr):
            value = self.evaluate(node.value, env)
            env[node.target.id] = value
            return value
        if isinstance(node, (ast.Await, ast.Starred)):
            return self.evaluate(node.value, env)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.Lambda)):
            # A scope of its own: its names are not followed, and what `:=` binds out of it is unknown.
            env.update((n.target.id, UNKNOWN) for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
            return UNKNOWN
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child, env)
        return HOST if isinstance(node, (ast.JoinedStr, ast.BoolOp)) else UNKNOWN

    # -- expressions ----------------------------------------------------------------------------------------------

    def _proven(self, node: ast.expr) -> Value:
        return TENSOR if ast.unparse(node) in self._tensors else UNKNOWN

    def _name(self, node: ast.expr, env: Env[Value]) -> Value:
        name = dotted(node)
        if name is not None and name in env:
            value = env[name]
            if value.kind in ("placed", "model", "param", "tensor") and not value.device:
                return value._replace(device=f"{name}.device")
            return value
        if isinstance(node, ast.Attribute):
            base = self.evaluate(node.value, env)
            if node.attr in ("shape", "ndim", "dtype"):
                return Value("host", anchor=self._anchor(node.value, base)) if base.kind != "unknown" else HOST
            if node.attr in ("T", "mT", "data", "grad", "real") and base.kind != "unknown":
                return base
            if base.kind == "model":
                return MODEL
        return self._proven(node)

    def _anchor(self, node: ast.expr, value: Value) -> str:
        """The tensor to take a device from, as written; "" if it is no name or lives on the CPU itself."""
        return (dotted(node) or "") if value.kind in ("placed", "model", "param", "tensor") else ""

    def _call(self, node: ast.Call, env: Env[Value]) -> Value:
        func = node.func
        arguments = [self.evaluate(arg, env) for arg in node.args]
        keywords = {keyword.arg: self.evaluate(keyword.value, env) for keyword in node.keywords}
        if self._is_torch(func):
            return self._torch_call(node, dotted(func) or "", arguments, keywords, env)
        if isinstance(func, ast.Attribute):
            value = self.evaluate(func.value, env)
            if value.kind != "unknown" or func.attr in ("to", "cuda", "cpu", "size", "type_as"):
                return self._method_call(node, func, value, arguments, keywords, env)
        if is_model_call(func):
            fed_from_cpu = any(isinstance(arg, ast.Call) and last_name(arg) == "cpu" for arg in node.args)
            return UNKNOWN if fed_from_cpu else MODEL
        if isinstance(func, ast.Name) and func.id in _PLAIN_BUILTINS:
            anchors = [value.anchor for value in arguments if value.anchor]
            return Value("host", anchor=anchors[0] if len(anchors) == 1 else "")
        return self._proven(node)

    def _is_torch(self, func: ast.expr) -> bool:
        origins = self.module.names.origins(func)
        return bool(origins) and all(origin.startswith("torch.") for origin in origins)

    def _torch_call(
        self, node: ast.Call, name: str, arguments: list[Value], keywords: dict[str | None, Value], env: Env[Value]
    ) -> Value:
        last = name.rpartition(".")[2]
        if last in torch.FACTORIES or last in torch.DATA_FACTORIES:
            return self._factory(node, last, arguments, env)
        if last.endswith("_like") and arguments and argument(node, "device") is ABSENT:
            return arguments[0]
        if last in torch.MIXING_FUNCTIONS:
            return self._meet(node, [*self._sequence(node, arguments, env), *keywords.values()], env)
        if last in ("chunk", "split", "stack", "squeeze", "unsqueeze", "flip", "roll", "clone", "reshape", "softmax"):
            return arguments[0] if arguments else UNKNOWN
        return self._proven(node)

    def _sequence(self, node: ast.Call, arguments: list[Value], env: Env[Value]) -> list[Value]:
        """The tensors handed to a function, those inside a literal list or tuple included."""
        found: list[Value] = []
        for arg, value in zip(node.args, arguments, strict=True):
            if isinstance(arg, (ast.List, ast.Tuple)):
                found.extend(self.evaluate(item, env) for item in arg.elts)
            else:
                found.append(value)
        return found

    def _factory(self, node: ast.Call, last: str, arguments: list[Value], env: Env[Value]) -> Value:
        place = argument(node, "device")
        if place is not ABSENT:
            if isinstance(place, ast.expr):
                self._placing_factories.append(node)
                return self._placed_at(place, env)
            return UNKNOWN  # `**kwargs` may hold the device
        if not has_rank(node, last, self.module):
            return HOST if last in torch.FACTORIES or is_scalar_data(node) else UNKNOWN
        anchors = {value.anchor for value in arguments if value.anchor}
        anchors |= {self.evaluate(part, env).anchor for arg in node.args for part in parts(arg)} - {""}
        anchor = anchors.pop() if len(anchors) == 1 else ""
        return Value("cpu", anchor=anchor, factory=node, known=frozenset(env))

    def _placed_at(self, place: ast.expr, env: Env[Value]) -> Value:
        text = ast.unparse(place)
        if is_cpu(place) or self._is_name_of_cpu(place):
            return UNKNOWN  # somebody wanted it there
        if isinstance(place, ast.Attribute) and place.attr == "device":
            owner = self.evaluate(place.value, env)
            if owner.kind == "cpu":
                return owner
        return Value("placed", device=text)

    def _is_name_of_cpu(self, place: ast.expr) -> bool:
        """Whether everything that the module binds to a name, a parameter's default included, is the CPU."""
        values = list(bindings(self.module).get(key_of(place), ())) if key_of(place) else []
        default = default_of(self.function, place.id) if isinstance(place, ast.Name) else None
        values += [default] if default is not None else []
        return bool(values) and all(is_cpu(value) for value in values)

    def _method_call(
        self,
        node: ast.Call,
        func: ast.Attribute,
        value: Value,
        arguments: list[Value],
        keywords: dict[str | None, Value],
        env: Env[Value],
    ) -> Value:
        name = func.attr
        if name == "to":
            return self._to(node, value, env)
        if name in ("cuda", "type_as", "to_device"):
            return Value("placed", device=self._anchor(func.value, value) and f"{dotted(func.value)}.device")
        if name == "cpu":
            return UNKNOWN  # wanted on the CPU: not the kind of accident this looks for
        if name in torch.SIZE_METHODS:
            return Value("host", anchor=self._anchor(func.value, value))
        if name in ("item", "tolist", "numpy"):
            return HOST
        if value.kind in ("cpu", "placed", "model", "param", "tensor"):
            if name in torch.MIXING_METHODS:
                others = [*arguments, *keywords.values()]
                return self._meet(node, [value, *others], env)
            if name in torch.SAME_DEVICE_METHODS:
                if value.kind == "cpu" and name in torch.REDUCTIONS:
                    return UNKNOWN
                return value
            return value if value.kind == "model" else UNKNOWN
        return UNKNOWN

    def _to(self, node: ast.Call, value: Value, env: Env[Value]) -> Value:
        place = argument(node, "device", 0)
        if not isinstance(place, ast.expr):
            dtype = argument(node, "dtype")
            return value if isinstance(dtype, ast.expr) else UNKNOWN
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        if is_dtype(place) or ast.unparse(place) == f"{ast.unparse(owner)}.device":
            return value  # `x.to(x.device)` moves nothing
        if isinstance(place, ast.Name) and dotted(place) not in env and "device" not in place.id.lower():
            return UNKNOWN
        known = self.evaluate(place, env)
        if known.kind in ("placed", "model", "param", "tensor"):  # `.to(other_tensor)`
            return Value("placed", device=f"{dotted(place)}.device" if dotted(place) else "")
        return self._placed_at(place, env)

    # -- mixing ---------------------------------------------------------------------------------------------------

    def _meet(self, node: ast.expr, values: list[Value], env: Env[Value]) -> Value:
        """Note a mix among the operands; the value of the operation."""
        strays = [value for value in values if value.kind == "cpu" and value.factory is not None]
        others = [value for value in values if value.kind in ("placed", "model", "param", "tensor")]
        for stray in strays:
            for other in others:
                self._note(node, stray, other)
        if others:
            return next((o for o in others if o.kind == "placed"), others[0])
        if strays:
            return strays[0]
        if values and all(value.kind == "host" for value in values):
            anchors = {value.anchor for value in values if value.anchor}
            return Value("host", anchor=anchors.pop() if len(anchors) == 1 else "")
        return UNKNOWN

    def _note(self, node: ast.expr, stray: Value, other: Value) -> None:
        assert stray.factory is not None
        tiers: dict[str, Tier] = {"placed": "placed", "model": "model", "param": "param"}
        tier: Tier = tiers.get(other.kind) or ("anchor" if stray.anchor else "sibling")
        remedy = ""
        if is_bound_device(stray.anchor, stray.known):
            remedy = f"{stray.anchor}.device"
        elif is_bound_device(other.device, stray.known):
            remedy = other.device
        factory = stray.factory
        key = (factory.lineno, factory.col_offset, node.lineno, node.col_offset)
        strength = ("placed", "model", "param", "anchor", "sibling")
        known = self.mixes.get(key)
        if known is None or strength.index(tier) < strength.index(known.tier):
            self.mixes[key] = Mix(factory, node, other.device, tier, remedy)
