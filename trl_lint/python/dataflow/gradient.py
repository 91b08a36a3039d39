"""The gradient analysis: which values of a function are live, detached, or made where no gradient is recorded.

A function is looked at as if it were called with gradients on; `no_grad`, `inference_mode` and `enable_grad` switch as
they do in torch, and under any other context manager nothing is known. Functions of the same module are followed.
"""

from __future__ import annotations

import ast
import re
from typing import Literal, NamedTuple

from trl_lint.python.dataflow import callees
from trl_lint.python.dataflow import torch_facts as torch
from trl_lint.python.dataflow.flow import (
    ONE,
    UNKNOWN,
    ZERO,
    Flow,
    added,
    aged,
    detached,
    either,
    is_number,
    join,
    number,
    record,
    scaled,
)
from trl_lint.python.dataflow.interpreter import Env, Interpreter, Plain, dotted
from trl_lint.python.dataflow.readings import is_model_call
from trl_lint.python.guards import last_name
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import UNKNOWN as NOT_LITERAL
from trl_lint.python.values import literal

Mode = Literal["grad", "no_grad", "inference", "unknown"]
Root = FunctionNode | ast.Module

_MOST_STEPS = 60_000
_MOST_CALLS_DEEP = 3


class Forward(NamedTuple):
    """A call of a model. `name` is the model as its caller knows it; `atom` stands for the output."""

    call: ast.Call
    name: str
    mode: Mode
    atom: int


class Use(NamedTuple):
    """A place where values meet: a product, a regression, an exponential, with the names its operands have there."""

    node: ast.expr
    operands: tuple[tuple[ast.expr, Flow], ...]


class Flows(NamedTuple):
    """What an analysis saw where gradients are recorded. `origins` has the atoms that an atom was computed from."""

    exponentials: list[Use]
    products: list[Use]
    regressions: list[Use]
    saved: list[Use]
    forwards: list[Forward]
    trained: frozenset[int]
    origins: dict[int, frozenset[int]]
    likeness: dict[int, object]

    def reached(self, flow: Flow) -> frozenset[int]:
        """The atoms that the gradient of a value reaches, as far as that is known."""
        atoms = [atom for atom, _ in flow.live or () if atom != ONE]
        return frozenset().union(*(self.origins.get(atom, frozenset({atom})) for atom in atoms))


def flows(module: PythonModule, root: Root) -> Flows | None:
    """The analysis of a function, or of the statements of a module; None if it is too intricate to be followed."""
    key = ("gradient", root)
    if key not in module.memo:
        domain = GradientDomain(module, root)
        try:
            Interpreter(domain).run(root.body, domain.start())
            module.memo[key] = domain.found()
        except RecursionError:
            module.memo[key] = None
    return module.memo[key]  # type: ignore[return-value]


def mode_of(function: FunctionNode) -> Mode | None:
    """The gradient mode that the decorators of a function set, None if they set none."""
    for decorator in function.decorator_list:
        mode = _mode_of_context(decorator)
        if mode is not None:
            return mode
    return None


def _mode_of_context(node: ast.expr) -> Mode | None:
    """The mode that a context manager, or decorator, switches to; None if it has nothing to do with gradients."""
    func = node.func if isinstance(node, ast.Call) else node
    given = literal(node.args[0]) if isinstance(node, ast.Call) and node.args else None
    name = last_name(func)
    if name in ("no_grad", "enable_grad"):
        return "no_grad" if name == "no_grad" else "grad"
    if name in ("inference_mode", "set_grad_enabled"):
        if name == "inference_mode":
            return "inference" if given in (None, True) else "unknown"
        return {False: "no_grad", True: "grad"}.get(given, "unknown") if isinstance(given, bool) else "unknown"  # type: ignore[return-value]
    if "grad" in name or "infer" in name or "eval" in name:
        return "unknown"
    return None


class GradientDomain(Plain[Flow]):
    """Evaluates expressions to flows, and keeps what the rules ask about."""

    def __init__(self, module: PythonModule, root: Root) -> None:
        self.module = module
        self.root = root
        mode = mode_of(root) if not isinstance(root, ast.Module) else None
        self.mode: Mode = mode or "grad"
        if "set_grad_enabled(" in module.text:
            self.mode = "unknown"  # a switch that stays on after its statement
        self._atoms: dict[object, int] = {}
        self._origins: dict[int, frozenset[int]] = {}
        self._likeness: dict[int, object] = {}
        self._names: dict[int, str] = {}
        self._loops: dict[object, int] = {}
        self._events: dict[tuple[str, ast.expr, tuple[ast.Call, ...]], Use] = {}
        self._forwards: dict[tuple[ast.Call, tuple[ast.Call, ...]], Forward] = {}
        self._trained: set[int] = set()
        self._returned: list[Flow] = []
        self._calling: tuple[ast.Call, ...] = ()
        self._function: Root = root
        self._steps = 0

    def start(self) -> Env[Flow]:
        if isinstance(self._function, ast.Module):
            return {}
        spec = self._function.args
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
        env = {name: self._fresh(("parameter", name, self._calling), name) for name in names}
        for name, flow in env.items():
            self._call_it(name, flow)
        env.update((extra.arg, UNKNOWN) for extra in (spec.vararg, spec.kwarg) if extra is not None)
        return env

    def _call_it(self, name: str, flow: Flow) -> None:
        """Remember under which name a function got something first."""
        if name and flow.form is not None and len(flow.form) == 1:
            ((atom, _),) = flow.form
            self._names.setdefault(atom, name)

    def found(self) -> Flows:
        sorts: dict[str, list[Use]] = {"exp": [], "product": [], "regression": [], "saved": []}
        for (sort, _, _), use in self._events.items():
            sorts[sort].append(use)
        return Flows(
            sorts["exp"],
            sorts["product"],
            sorts["regression"],
            sorts["saved"],
            list(self._forwards.values()),
            frozenset(self._trained),
            self._origins,
            self._likeness,
        )

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
        return self._derived(("part", index), [value], is_part=True)

    def returns(self, node: ast.expr, value: Flow) -> None:
        self._returned.append(value)

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
            mode = _mode_of_context(item.context_expr)
            if mode is not None:
                self.mode = mode if self.mode != "unknown" else "unknown"
            elif not _is_neutral(item.context_expr):
                self.mode = "unknown"
        return before

    def closes(self, state: object) -> None:
        self.mode = state  # type: ignore[assignment]

    def repeats(self, node: ast.For | ast.AsyncFor | ast.While, env: Env[Flow]) -> None:
        first = self._loops.setdefault((node, self._calling), len(self._atoms) + 1)
        for name, flow in env.items():
            env[name] = aged(flow, first)
        self._steps += len(env) // 8

    # -- atoms ----------------------------------------------------------------------------------------------------

    def _atom(self, key: object, origins: frozenset[int] | None, likeness: object) -> int:
        atom = self._atoms.get(key)
        if atom is None:
            atom = self._atoms[key] = len(self._atoms) + 1
            self._origins[atom] = origins if origins is not None else frozenset({atom})
            self._likeness[atom] = likeness if likeness is not None else atom
        return atom

    def _fresh(self, key: object, likeness: object = None) -> Flow:
        """A value that nothing is known of but that it is itself."""
        atom = self._atom(key, None, likeness)
        form = frozenset({(atom, 1.0)})
        if self.mode == "inference":
            return Flow(form=form, live=ZERO)
        return Flow(form=form, live={"grad": form, "no_grad": ZERO}.get(self.mode))

    def _derived(self, operation: object, operands: list[Flow], *, is_part: bool = False) -> Flow:
        """The result of a differentiable operation: the same for the same operands, live where they are.

        A part of an output `is_part`, and has a gradient of its own beside that of the whole.
        """
        if any(flow.kind == "either" for flow in operands):
            if sum(flow.kind == "either" for flow in operands) > 1:
                return UNKNOWN
            index = next(i for i, flow in enumerate(operands) if flow.kind == "either")
            return either(
                self._derived(operation, [*operands[:index], option, *operands[index + 1 :]], is_part=is_part)
                for option in operands[index].options
            )
        is_inference = self.mode == "inference" and any(flow.is_inference for flow in operands)
        if any(flow.form is None or flow.kind == "record" for flow in operands):
            return UNKNOWN._replace(is_inference=is_inference)
        if operation in ("Mult", "Div") and any(
            flow.is_null for flow in (operands if operation == "Mult" else operands[:1])
        ):
            return Flow(form=ZERO, live=ZERO)  # a mask changes nothing about nothing
        forms = tuple(flow.form for flow in operands)
        lives = tuple(flow.live for flow in operands)
        likeness = (operation, *(self._alike(flow) for flow in operands))
        reached: frozenset[int] = frozenset()
        for live in lives:
            for atom, _ in live or ():
                reached |= self._origins.get(atom, frozenset())
        atom = self._atom((operation, forms, lives), reached, likeness)
        if is_part:
            self._origins[atom] = reached | {atom}
        form = frozenset({(atom, 1.0)})
        if self.mode in ("no_grad", "inference") or all(live == ZERO for live in lives):
            return Flow(form=form, live=ZERO, is_inference=is_inference)
        is_known = self.mode == "grad" and all(live is not None for live in lives)
        return Flow(form=form, live=form if is_known else None, is_inference=is_inference)

    def _alike(self, flow: Flow) -> object:
        """Equal for values that were computed in the same way, at whatever time."""
        if flow.form is None:
            return object()
        return frozenset((self._likeness.get(atom, atom), coefficient) for atom, coefficient in flow.form)

    # -- expressions ----------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr, env: Env[Flow]) -> Flow:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise RecursionError("too many steps")
        if isinstance(node, ast.Constant):
            is_plain = isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
            return number(float(node.value)) if is_plain and abs(node.value) < 1e300 else UNKNOWN  # type: ignore[arg-type]
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
                return self._settled(scaled(value, -1.0 if isinstance(node.op, ast.USub) else 1.0))
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
        return UNKNOWN

    def _name(self, node: ast.Name, env: Env[Flow]) -> Flow:
        flow = env.get(node.id)
        if flow is None or (flow.form is None and flow.kind == "value"):
            # Whatever it is: until something else is assigned, it is the same at each reading.
            found = self._read(node)._replace(is_inference=flow is not None and flow.is_inference)
            self._call_it(node.id, found)
            if flow is not None:
                env[node.id] = found
            return found
        return flow

    def _settled(self, flow: Flow) -> Flow:
        """A sum as the mode has it: without a gradient where none is recorded."""
        if self.mode == "grad" or flow.kind != "value":
            return flow
        return flow._replace(live=ZERO if self.mode in ("no_grad", "inference") else None)

    def _attribute(self, node: ast.Attribute, env: Env[Flow]) -> Flow:
        name = dotted(node)
        if name is not None and name in env:
            return env[name]
        value = self.evaluate(node.value, env)
        if node.attr in ("T", "mT", "real"):
            return self._derived(node.attr, [value])
        if node.attr in ("data", "shape", "device", "dtype", "ndim", "grad"):
            return detached(value) if node.attr == "data" else UNKNOWN
        # What hangs on an object may be another thing at the next reading, on the output of a call it is not.
        is_output = isinstance(node.value, ast.Call) or (value.form is not None and not self._is_parameter(value))
        if is_output:
            return self._derived(("attribute", node.attr), [value], is_part=True)
        return self._read(node)

    def _read(self, node: ast.expr) -> Flow:
        """What is not followed: at each reading something else, perhaps."""
        return self._fresh(("read", node, self._calling), ("read", ast.unparse(node)))

    def _is_parameter(self, flow: Flow) -> bool:
        return any(isinstance(self._likeness.get(atom), str) for atom, _ in flow.form or ())

    def _item(self, node: ast.Subscript, value: Flow, env: Env[Flow]) -> Flow:
        key = literal(node.slice)
        if value.kind == "record":
            return next((item for name, item in value.items if name == key), UNKNOWN)
        if key is not NOT_LITERAL and isinstance(key, str):
            if value.form is not None and not self._is_parameter(value):
                return self._derived(("item", key), [value], is_part=True)
            return self._read(node)
        if _has_only_constants(node.slice):
            found = self._derived(("item", ast.unparse(node.slice)), [value])
            return found._replace(is_inference=value.is_inference)
        return UNKNOWN._replace(is_inference=value.is_inference and isinstance(node.slice, (ast.Slice, ast.Tuple)))

    def _binary(self, node: ast.BinOp, env: Env[Flow]) -> Flow:
        left, right = self.evaluate(node.left, env), self.evaluate(node.right, env)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            result = self._settled(added(left, right, 1.0 if isinstance(node.op, ast.Add) else -1.0))
            return self._kept(result, left, right)
        if isinstance(node.op, ast.Pow):
            if literal(node.right) == 2:
                self._squared(node, node.left, left, env)
            return self._derived("**", [left, right])
        if not isinstance(node.op, (ast.Mult, ast.Div)):
            return self._derived(type(node.op).__name__, [left, right])
        for one, other in ((left, right), (right, left)):
            if is_number(other) and other.form is not None and (one is left or isinstance(node.op, ast.Mult)):
                factor = dict(other.form)[ONE]
                if factor:
                    return self._settled(scaled(one, factor if isinstance(node.op, ast.Mult) else 1.0 / factor))
        self._note("product", node, [(node.left, left), (node.right, right)])
        return self._kept(self._derived(type(node.op).__name__, [left, right]), left, right)

    def _kept(self, result: Flow, left: Flow, right: Flow) -> Flow:
        """An operation inside of `inference_mode` makes an inference tensor, one outside of it never does."""
        is_inference = self.mode == "inference" and (left.is_inference or right.is_inference)
        return result._replace(is_inference=is_inference)

    def _squared(self, node: ast.expr, base: ast.expr, flow: Flow, env: Env[Flow]) -> None:
        """A square fits what is in it; of a written difference, its two sides."""
        sides = [base.left, base.right] if isinstance(base, ast.BinOp) and isinstance(base.op, ast.Sub) else []
        self._note("regression", node, [(side, self.evaluate(side, env)) for side in sides] or [(base, flow)])

    def _note(self, sort: str, node: ast.expr, operands: list[tuple[ast.expr, Flow]]) -> None:
        if self.mode == "grad":
            self._events[sort, node, self._calling] = Use(node, tuple(operands))

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, env: Env[Flow]) -> Flow:
        func = node.func
        values = [self.evaluate(arg, env) for arg in node.args]
        keywords = {keyword.arg: self.evaluate(keyword.value, env) for keyword in node.keywords}
        name = last_name(func)
        if name == "backward":
            owner = [self.evaluate(func.value, env)] if isinstance(func, ast.Attribute) else []
            self._train([*values, *keywords.values(), *owner])
            return UNKNOWN
        if self._is_torch(func):
            return self._torch(node, name, values)
        followed = self._followed(node, values, keywords, env)
        if followed is not None:
            return followed
        if isinstance(func, ast.Attribute):
            base = self.evaluate(func.value, env)
            known = self._method(node, func, base, values, env)
            if known is not None:
                return known
            # A method nobody knows may change its object.
            target = dotted(func.value)
            if target is not None and target in env and target != "self" and not is_model_call(func):
                env[target] = UNKNOWN
        return self._unknown_call(node, values, keywords, env)

    def _train(self, losses: list[Flow]) -> None:
        for flow in losses:
            for option in flow.options:
                for atom, _ in option.live or ():
                    self._trained |= {atom, *self._origins.get(atom, ())}

    def _is_torch(self, func: ast.expr) -> bool:
        origins = self.module.names.origins(func)
        return bool(origins) and all(origin.startswith("torch.") for origin in origins)

    def _torch(self, node: ast.Call, name: str, values: list[Flow]) -> Flow:
        if name == "exp" and values:
            self._note("exp", node, [(node.args[0], values[0])])
        if name in torch.REGRESSIONS and len(values) >= 2:
            self._note("regression", node, list(zip(node.args[:2], values[:2], strict=True)))
        if name in torch.FACTORIES or name in torch.DATA_FACTORIES:
            made = self._fresh(("call", node, self._calling))
            return detached(made)._replace(is_inference=self.mode == "inference")
        if name in torch.SAVING_FUNCTIONS and len(values) >= 2:
            self._note("saved", node, list(zip(node.args[:3], values[:3], strict=True)))
        if name in torch.DIFFERENTIABLE and values and len(values) == len(node.args):
            return self._pure(node, name, values)
        if name in torch.NOT_DIFFERENTIABLE:
            return detached(self._fresh(("call", node, self._calling)))._replace(is_inference=self.mode == "inference")
        return UNKNOWN._replace(is_inference=self.mode == "inference" and name in torch.MIXING_FUNCTIONS)

    def _pure(self, node: ast.Call, name: str, values: list[Flow]) -> Flow:
        """An operation that gives the same for the same operands, written with the same options."""
        options = tuple(sorted(f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in node.keywords))
        return self._kept(self._derived((name, options), values), values[0], values[0])

    def _method(
        self, node: ast.Call, func: ast.Attribute, owner: Flow, values: list[Flow], env: Env[Flow]
    ) -> Flow | None:
        """What a method of a tensor gives; None if it may be a method of something else."""
        name = func.attr
        if name == "exp":
            self._note("exp", node, [(func.value, owner)])
            return self._pure(node, name, [owner])
        if name in ("pow", "square"):
            if name == "square" or (node.args and literal(node.args[0]) == 2):
                self._squared(node, func.value, owner, env)
            return self._pure(node, name, [owner, *values])
        if name in ("detach", "detach_"):
            return detached(owner)
        if name in ("item", "tolist", "numpy", "cpu_numpy", "long", "int", "bool", "argmax", "argmin"):
            return detached(self._fresh(("call", node, self._calling)))
        if name in ("gather", "index_select", "masked_fill") and values:
            self._note("saved", node, [(func.value, owner), *zip(node.args, values, strict=False)])
        if name in torch.SAME_NUMBERS:
            # Of another type or at another place they are the same numbers. A copy is no inference tensor.
            return self._settled(owner)._replace(is_inference=owner.is_inference and self.mode == "inference")
        if name in torch.VIEWS:
            view = self._pure(node, name, [owner, *values])
            return view._replace(is_inference=owner.is_inference)
        if name in torch.DIFFERENTIABLE_METHODS:
            return self._pure(node, name, [owner, *values])
        return None

    def _unknown_call(
        self, node: ast.Call, values: list[Flow], keywords: dict[str | None, Flow], env: Env[Flow]
    ) -> Flow:
        """A value of its own. A model among the names gives what gradients flow through."""
        func = node.func
        bound = env.get(func.id) if isinstance(func, ast.Name) else None
        called: object = self._alike(bound) if bound is not None and bound.form is not None else ast.unparse(func)
        named = tuple((key, self._alike(value)) for key, value in keywords.items())
        likeness = ("call", called, tuple(self._alike(value) for value in values), named)
        result = self._fresh(("call", node, self._calling), likeness)
        if is_model_call(func):
            is_generation = last_name(func) == "generate"
            if not is_generation and result.form is not None:
                ((atom, _),) = result.form
                self._forwards[node, self._calling] = Forward(node, self._model_name(func, env), self.mode, atom)
                given = [*node.args, *(keyword.value for keyword in node.keywords)]
                self._note("saved", node, list(zip(given, [*values, *keywords.values()], strict=True)))
            result = result._replace(is_inference=self.mode == "inference")
            return detached(result) if is_generation else result
        return result

    def _model_name(self, func: ast.expr, env: Env[Flow]) -> str:
        """The name of a model, for a parameter of a function that was followed the name that its caller has for it."""
        if isinstance(func, ast.Attribute) and func.attr == "forward":
            func = func.value
        name = dotted(func) or ""
        for atom, _ in (env[name].form or ()) if name in env else ():
            return self._names.get(atom, name)
        return name

    def _followed(
        self, node: ast.Call, values: list[Flow], keywords: dict[str | None, Flow], env: Env[Flow]
    ) -> Flow | None:
        """What a function of this module returns for these arguments; None if that is not to be found out."""
        is_method = isinstance(node.func, ast.Attribute)
        if len(self._calling) >= _MOST_CALLS_DEEP or (is_method and isinstance(self._function, ast.Module)):
            return None
        callee = callees.callee(self.module, node.func, self._function)  # type: ignore[arg-type]
        if callee is None or callee is self._function:
            return None
        bound = callees.bound(callee, node, values, keywords)
        if bound is None:
            return None
        outer = (self._function, self._returned, self._calling, self.mode)
        for arg, value in zip(node.args, values, strict=False):
            self._call_it(dotted(arg) or "", value)
        self._function, self._returned, self._calling = callee, [], (*self._calling, node)
        self.mode = mode_of(callee) or self.mode
        start = self.start()
        start.update((name, value) for name, value in bound.items() if value.form is not None or value.kind != "value")
        Interpreter(self).run(callee.body, start)
        result = self._returned[0] if self._returned else UNKNOWN
        for other in self._returned[1:]:
            result = join(result, other)
        self._function, self._returned, self._calling, self.mode = outer
        return result


# Context managers that leave alone whether gradients are recorded.
_NEUTRAL = re.compile(
    r"autocast|accumulate|no_sync|nullcontext|record_function|profil|tqdm|^open$|^device$|stream|timer|suppress|warnings",
    re.I,
)


def _is_neutral(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _NEUTRAL.search(last_name(node.func)) is not None


def _has_only_constants(node: ast.expr) -> bool:
    """Whether an index is the same at every reading: numbers and slices of numbers."""
    plain = (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)
    return all(isinstance(part, plain) for part in ast.walk(node))
