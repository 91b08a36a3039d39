"""The device analysis: where the tensors of a function live, and where two that may not meet do meet.

Calls of functions of the same module are followed with the values that they are given, so a helper's tensor is seen by
its caller. Semantics of torch are in `device_calls.py`, the values in `places.py`.
"""

from __future__ import annotations

import ast

from trl_lint.memos import per_module
from trl_lint.missing import UNKNOWN as NOT_LITERAL
from trl_lint.python.dataflow.conflicts import Conflict
from trl_lint.python.dataflow.device_across_calls import (
    MOST_CALLS_DEEP,
    DeviceInterpreter,
    Following,
    Resolver,
    stays_where_it_is,
)
from trl_lint.python.dataflow.device_calls import Keywords
from trl_lint.python.dataflow.interpreter import Env, dotted, too_intricate
from trl_lint.python.dataflow.places import (
    BATCH,
    CONTAINERS,
    HOST,
    MODEL,
    NONE,
    ON_CPU,
    TENSOR,
    TENSORS,
    UNKNOWN,
    Value,
    abroad,
    element,
    is_surely_on_cpu,
    listed,
    merge,
    part,
    place_of,
    record,
    with_part,
)
from trl_lint.python.dataflow.readings import (
    is_accelerator,
    is_gathered,
    is_model_call,
    is_preparation,
    picked,
    text_of,
)
from trl_lint.python.dataflow.torch_facts import ACCELERATOR_COLLECTIVES, TENSOR_ONLY
from trl_lint.python.guards import last_name
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import literal
from trl_lint.records import NamedTuple

# The longest functions of the projects in benchmarks/notebook.md take a thirtieth of this.
_MOST_STEPS = 100_000

_SIZES = frozenset({"len", "int", "float", "range", "bool", "str"})


def device_mixes(module: PythonModule, function: FunctionNode) -> list[Conflict]:
    """Every place of a function where a CPU tensor meets one that lives elsewhere, in source order.

    None in a function too intricate to be followed to its end.
    """
    return [conflict for conflict in certain([device_conflicts(module, function)]) if conflict.conflict_kind == "mix"]


class Found(NamedTuple):
    """The conflicts of an analysis, and the parameters that got a CPU tensor in it, each with its function."""

    conflicts: list[Conflict]
    given_from_cpu: frozenset[tuple[ast.AST, str]]


def device_conflicts(module: PythonModule, function: FunctionNode, resolver: Resolver | None = None) -> Found:
    """The mixes, and the CPU tensors that are communicated or indexed from elsewhere; in source order.

    Where the functions that it calls are too much to follow, the function is looked at alone.
    """
    for depth in (MOST_CALLS_DEEP, 0):
        domain = DeviceDomain(module, function, depth, resolver)
        try:
            DeviceInterpreter(domain).run(function.body, domain.start())
        except RecursionError:
            continue
        return Found(domain.conflicts.found(), frozenset(domain.given_from_cpu))
    too_intricate(module, function, _MOST_STEPS)
    return Found([], frozenset())


Passed = dict[ast.Call, list[tuple[list[Value], Keywords]]]


def passed_in(module: PythonModule, function: FunctionNode, resolver: Resolver | None = None) -> Passed:
    """What each call in a function is given, by position and by name, each time the analysis comes by."""
    domain = DeviceDomain(module, function, MOST_CALLS_DEEP, resolver)
    domain.passed = {}
    try:
        DeviceInterpreter(domain).run(function.body, domain.start())
    except RecursionError:
        too_intricate(module, function, _MOST_STEPS)
        return {}
    return domain.passed


def is_left_in_state(module: PythonModule, init: FunctionNode, factory: ast.Call) -> bool:
    """Whether `__init__` leaves the tensor that a factory call makes in `self`, and nothing changes that."""
    owner = module.parents.get(init)
    if init.name != "__init__" or not isinstance(owner, ast.ClassDef) or not stays_where_it_is(owner):
        return False
    return factory in _left_in_state(module, init, owner)


@per_module
def _left_in_state(module: PythonModule, init: FunctionNode, owner: ast.ClassDef) -> set[ast.Call]:
    state = DeviceDomain(module, init).state_of(owner).values()
    return {value.factory for value in state if value.is_state and value.factory is not None}


def certain(analyses: list[Found]) -> list[Conflict]:
    """The conflicts of some analyses, without those where a parameter is met that one of them gave a CPU tensor."""
    given = frozenset[tuple[ast.AST, str]]().union(*(found.given_from_cpu for found in analyses))
    conflicts = dict.fromkeys(conflict for found in analyses for conflict in found.conflicts)
    return [
        conflict
        for conflict in conflicts
        if conflict.tier != "param" or (conflict.function, conflict.other) not in given
    ]


class DeviceDomain(Following):
    """Evaluates expressions to device values and notes the conflicts on the way."""

    _steps = 0

    # -- the domain protocol --------------------------------------------------------------------------------------

    def unknown(self) -> Value:
        return UNKNOWN

    def join(self, left: Value, right: Value) -> Value:
        return merge(left, right)

    def element(self, value: Value) -> Value:
        return element(value)

    def part(self, value: Value, index: int, count: int) -> Value:
        return part(value, index) if value.kind != "record" or len(value.items) == count else UNKNOWN

    def returns(self, node: ast.expr, value: Value) -> None:
        self.returned.append(value)
        if is_gathered(self.module, self.function):
            self.communicates(node, value)

    def assigned(self, target: ast.expr, value: Value, env: Env[Value]) -> None:
        """`x.data = …` may move x; `a[i] = b` copies across devices and changes nothing, unless `a` is a container."""
        if isinstance(target, ast.Attribute) and target.attr == "data":
            owner = dotted(target.value)
            if owner is not None:
                env[owner] = UNKNOWN
        if isinstance(target, ast.Subscript):
            owner = dotted(target.value)
            if owner is None or owner not in env or env[owner].kind not in CONTAINERS:
                return
            key = literal(target.slice)
            is_known = key is not NOT_LITERAL and env[owner].kind == "record"
            env[owner] = with_part(env[owner], key, value) if is_known else UNKNOWN

    def enters(self, test: ast.expr) -> bool:
        """Skip what only runs where everything is on the CPU (or is not), or under symbolic tracing."""
        text = text_of(test, self.module)
        return not ("is_available" in text or "'cpu'" in text or "fx_proxy" in text or "is_cuda" in text)

    def evaluate(self, node: ast.expr, env: Env[Value]) -> Value:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise RecursionError("too many steps")
        kind = type(node)
        if kind is ast.Constant:
            return NONE if node.value is None else HOST  # type: ignore[attr-defined]
        if kind is ast.Name or kind is ast.Attribute:
            return self._name(node, env)
        if kind is ast.Call:
            return self._call(node, env)  # type: ignore[arg-type]
        if isinstance(node, ast.BinOp):
            return self._binary(node, env)
        if isinstance(node, ast.Compare):
            values = [self.evaluate(operand, env) for operand in (node.left, *node.comparators)]
            if all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
                return HOST
            return self.meet(node, values)
        if isinstance(node, ast.UnaryOp):
            value = self.evaluate(node.operand, env)
            return HOST if isinstance(node.op, ast.Not) else value
        if isinstance(node, ast.Subscript):
            return self._subscript(node, env)
        if isinstance(node, ast.IfExp):
            self.evaluate(node.test, env)
            return merge(self.evaluate(node.body, env), self.evaluate(node.orelse, env))
        if isinstance(node, ast.NamedExpr):
            value = self.evaluate(node.value, env)
            env[node.target.id] = value
            return value
        if isinstance(node, (ast.Await, ast.Starred)):
            return self.evaluate(node.value, env)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            values = [self.evaluate(item, env) for item in node.elts]
            if any(isinstance(item, ast.Starred) for item in node.elts):
                return UNKNOWN
            return record(enumerate(values))
        if isinstance(node, ast.Dict):
            return self._dict(node, env)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            return self._comprehension(node, env)
        if isinstance(node, ast.Lambda):
            # A scope of its own: its names are not followed, and what `:=` binds out of it is unknown.
            self._forget_walrus(node, env)
            return UNKNOWN
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child, env)
        return HOST if isinstance(node, ast.JoinedStr) else UNKNOWN

    # -- expressions ----------------------------------------------------------------------------------------------

    def _proven(self, node: ast.expr) -> Value:
        return TENSOR if self.tensors.holds(node, self.module) else UNKNOWN

    def _name(self, node: ast.expr, env: Env[Value]) -> Value:
        name = dotted(node)
        if name is not None and name in env:
            value = env[name]
            if value.kind in TENSORS and not value.device:
                return value._replace(device=f"{name}.device")
            return value
        if isinstance(node, ast.Attribute):
            base = self.evaluate(node.value, env)
            if node.attr == "device" and base.kind not in ("unknown", "model", "host"):
                return place_of(base, name or "")
            if node.attr in ("shape", "ndim", "dtype"):
                return Value("host", anchor=self.anchor(node.value, base)) if base.kind != "unknown" else HOST
            if node.attr in ("T", "mT", "data", "grad", "real") and base.kind != "unknown":
                return base
            if base.kind == "model":
                return MODEL
            if base.kind == "record":
                return part(base, node.attr)
            if base == BATCH:
                return ON_CPU
        return self._proven(node)

    def _binary(self, node: ast.BinOp, env: Env[Value]) -> Value:
        left, right = self.evaluate(node.left, env), self.evaluate(node.right, env)
        if left.kind in CONTAINERS or right.kind in CONTAINERS:
            if isinstance(node.op, ast.Add):  # the items of both; of an unknown one, who knows
                members = [*left.members, *right.members]
                return listed(members if left.kind in CONTAINERS and right.kind in CONTAINERS else [*members, UNKNOWN])
            if isinstance(node.op, ast.Mult):
                return listed([*left.members, *right.members])
            return UNKNOWN
        return self.meet(node, [left, right], "matmul" if isinstance(node.op, ast.MatMult) else "")

    def _subscript(self, node: ast.Subscript, env: Env[Value]) -> Value:
        value = self.evaluate(node.value, env)
        index = self.evaluate(node.slice, env)
        if value.kind in CONTAINERS:
            if isinstance(node.slice, ast.Slice):
                return listed(value.members)
            key = literal(node.slice)
            return part(value, key) if key is not NOT_LITERAL else element(value)
        if value.kind == "cpu":
            for place in (index, *index.members):
                if place.kind in ("placed", "model", "param"):
                    self.conflicts.note(node, value, place, "index")
            return value._replace(rank=picked(value.rank, node.slice))
        return value if value.kind in TENSORS or value.kind == "host" else self._proven(node)

    def _dict(self, node: ast.Dict, env: Env[Value]) -> Value:
        items = []
        for key, value in zip(node.keys, node.values, strict=True):
            name = literal(key)
            items.append((name, self.evaluate(value, env)))
            if name is NOT_LITERAL or not isinstance(name, (str, int)):
                items.append((None, UNKNOWN))
        return UNKNOWN if any(name is None for name, _ in items) else record(items)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, env: Env[Value]
    ) -> Value:
        """A scope of its own, run once. What `:=` binds out of it is unknown."""
        inside = dict(env)
        generator = node.generators[0]
        source = self.evaluate(generator.iter, inside)
        is_each = len(node.generators) == 1 and not generator.ifs and source.kind == "record"
        if is_each and isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            values = record(enumerate(self._turn(node.elt, generator, item, inside) for item in source.members))
        else:
            for generator in node.generators:
                self._unpack(generator.target, element(self.evaluate(generator.iter, inside)), inside)
                for test in generator.ifs:
                    self.evaluate(test, inside)
            body = node.value if isinstance(node, ast.DictComp) else node.elt
            values = listed([abroad(self.evaluate(body, inside))])
        self._forget_walrus(node, env)
        return values

    def _forget_walrus(self, node: ast.expr, env: Env[Value]) -> None:
        """What `:=` binds inside of a lambda or a comprehension is bound outside of it."""
        if self.module.of(ast.NamedExpr):
            env.update((n.target.id, UNKNOWN) for n in ast.walk(node) if isinstance(n, ast.NamedExpr))

    def _turn(self, body: ast.expr, generator: ast.comprehension, item: Value, env: Env[Value]) -> Value:
        inside = dict(env)
        self._unpack(generator.target, item, inside)
        return abroad(self.evaluate(body, inside))

    def _unpack(self, target: ast.expr, item: Value, env: Env[Value]) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for index, part_of in enumerate(target.elts):
                self._bind(part_of, self.part(item, index, len(target.elts)), env)
        else:
            self._bind(target, item, env)

    def _bind(self, target: ast.expr, value: Value, env: Env[Value]) -> None:
        if isinstance(target, ast.Name):
            env[target.id] = value
            return
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                env[node.id] = UNKNOWN

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, env: Env[Value]) -> Value:
        func = node.func
        arguments = [self.evaluate(arg, env) for arg in node.args]
        keywords: Keywords = {keyword.arg: self.evaluate(keyword.value, env) for keyword in node.keywords}
        if self.passed is not None and len(self._calling) == 1:
            self.passed.setdefault(node, []).append((arguments, keywords))
        if self._is_torch(func):
            return self.torch_call(node, dotted(func) or "", arguments, keywords, env)
        if isinstance(func, ast.Name) and func.id not in env:
            found = self._builtin(func.id, arguments)
            if found is not None:
                return found
        summary = self.followed_call(node, arguments, keywords, env)
        if summary is not None:
            return summary
        self.lose(node, env)
        if is_preparation(node):
            is_tensor = last_name(func) in ("encode", "apply_chat_template") and "return_dict" not in keywords
            return ON_CPU if is_tensor else BATCH
        if isinstance(func, ast.Attribute) and func.attr in ACCELERATOR_COLLECTIVES and is_accelerator(func.value):
            for given in (*arguments, *keywords.values()):
                self.communicates(node, given)
            return arguments[0] if arguments and arguments[0].kind in TENSORS else UNKNOWN
        if isinstance(func, ast.Attribute):
            value = self.evaluate(func.value, env)
            known = func.attr in ("to", "cuda", "cpu", "size", "type_as", "numel", "item", "tolist")
            if value.kind != "unknown" or known or func.attr in TENSOR_ONLY:
                return self.method_call(node, func, value, arguments, keywords, env)
        if is_model_call(func):
            # What takes a tensor from the CPU runs there, or moves it in a way that nothing here shows.
            fed_from_cpu = any(map(is_surely_on_cpu, (*arguments, *keywords.values())))
            return UNKNOWN if fed_from_cpu else MODEL
        return self._proven(node)

    def _is_torch(self, func: ast.expr) -> bool:
        origins = self.module.names.origins(func)
        return bool(origins) and all(origin.startswith("torch.") for origin in origins)

    def _builtin(self, name: str, arguments: list[Value]) -> Value | None:
        if name in _SIZES:
            anchors = [value.anchor for value in arguments if value.anchor]
            return Value("host", anchor=anchors[0] if len(anchors) == 1 else "")
        if name in ("max", "min", "sum"):
            given = [item for value in arguments for item in (value.members or (value,))]
            anchors = [value.anchor for value in given if value.anchor]
            is_number = bool(given) and all(value.kind == "host" for value in given)
            return Value("host", anchor=anchors[0] if len(anchors) == 1 else "") if is_number else UNKNOWN
        if name == "enumerate" and arguments and arguments[0].kind == "record":
            return record(enumerate(record([(0, HOST), (1, item)]) for item in arguments[0].members))
        if name == "enumerate" and arguments:
            return listed([record([(0, HOST), (1, element(arguments[0]))])])
        if name == "zip" and arguments and all(value.kind == "record" for value in arguments):
            rows = zip(*(value.members for value in arguments), strict=False)
            return record(enumerate(record(enumerate(row)) for row in rows))
        if name == "zip":
            return listed([record(enumerate(element(value) for value in arguments))])
        if name in ("list", "tuple", "sorted", "reversed") and len(arguments) == 1:
            return listed(arguments[0].members) if arguments[0].kind in CONTAINERS else UNKNOWN
        return None
