"""What the device analysis follows: functions of the project, records, and the state of a class."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

from trl_lint.memos import per_module
from trl_lint.python.dataflow import callees
from trl_lint.python.dataflow.conflicts import Conflicts
from trl_lint.python.dataflow.device_calls import Keywords, TorchCalls
from trl_lint.python.dataflow.interpreter import Domain, Env, Interpreter, Plain, dotted, rebound
from trl_lint.python.dataflow.places import (
    CONTAINERS,
    NONE,
    TENSOR,
    UNKNOWN,
    Value,
    abroad,
    listed,
    merge,
    record,
)
from trl_lint.python.dataflow.readings import (
    is_foreign_annotation,
    is_list_annotation,
    is_tensor_annotation,
    proven_tensors,
    sets_default_device,
)
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import default_of, is_none
from trl_lint.records import NamedTuple

# Finds the module, and the name in it, that an expression imports from the same project; None if it imports nothing.
Resolver = Callable[[PythonModule, ast.expr], "tuple[PythonModule, str] | None"]

MOST_CALLS_DEEP = 3  # calls in calls; what one further in returns is unknown

_HARMLESS = frozenset(
    {"len", "print", "isinstance", "sorted", "list", "tuple", "dict", "set", "zip", "enumerate", "repr"}
)
_MODULE_BASES = frozenset({"object", "Module", "ABC"})
_MOVERS = frozenset({"to", "cuda", "_apply"})


class DeviceInterpreter(Interpreter[Value]):
    """Goes through the items of a literal one by one."""

    def __init__(self, domain: Following) -> None:
        super().__init__(domain)
        self.following = domain

    def rebound(self, statement: ast.stmt) -> Iterable[str]:
        return _rebound(self.following.module, statement)

    def items(self, value: Value) -> Sequence[Value]:
        return value.members if value.kind == "record" else ()


class _Summary(NamedTuple):
    """What a call of a function comes to."""

    result: Value
    conflicts: Conflicts
    given_from_cpu: frozenset[tuple[ast.AST, str]]


class Following(TorchCalls, Plain[Value], Domain[Value]):
    """The part of the device analysis that leaves the function it began with; `evaluate` comes from the domain."""

    def __init__(
        self,
        module: PythonModule,
        function: FunctionNode,
        depth: int = MOST_CALLS_DEEP,
        resolver: Resolver | None = None,
    ) -> None:
        self.module = module
        self.function = function
        self.conflicts = Conflicts(module)
        self.given_from_cpu: set[tuple[ast.AST, str]] = set()
        self.given_names = frozenset()
        self.follows_default = False
        self.returned: list[Value] = []
        self.tensors = proven_tensors(function, module)
        self._calling: tuple[FunctionNode, ...] = (function,)
        self.passed: dict[ast.Call, list[tuple[list[Value], Keywords]]] | None = None  # by call, if that is asked for
        self._is_cut = False
        self._depth = depth
        self._resolver = resolver
        self._home = module

    def start(self) -> Env[Value]:
        """What the parameters hold, and in a method the state that the class has from its beginning."""
        return {**self._state(), **_parameters(self.module, self.function)}

    def opens(self, node: ast.With | ast.AsyncWith) -> object:
        outer = self.follows_default
        self.follows_default = outer or sets_default_device(node)
        return outer

    def closes(self, state: object) -> None:
        self.follows_default = bool(state)

    # -- calls ----------------------------------------------------------------------------------------------------

    def followed_call(
        self, node: ast.Call, arguments: list[Value], keywords: Keywords, env: Env[Value]
    ) -> Value | None:
        """What a function of the project returns for these arguments; None if that is not to be found out."""
        if len(self._calling) > self._depth:
            return None
        module, name = self.module, node.func.id if isinstance(node.func, ast.Name) else ""
        callee = callees.callee(module, node.func, self.function)
        if callee is None and self._resolver is not None and module is self._home and dotted(node.func) not in env:
            module, name = self._resolver(module, node.func) or (module, name)
            callee = callees.named(module, name) if module is not self._home else None
        fields = callees.record_fields(module, name) if callee is None else None
        if fields is not None:
            return record([*zip(fields, arguments, strict=False), *keywords.items()])
        if callee in self._calling:
            self._is_cut = True
            return None
        if callee is None:
            return None
        is_method = isinstance(node.func, ast.Attribute) and module is self.module
        bound = callees.bound(callee, node, arguments, keywords, is_method)
        if bound is None:
            return None
        given = {name: abroad(value) for name, value in bound.items() if value.kind != "unknown"}
        if is_method:
            state = self._state()
            own = ((name, value) for name, value in env.items() if name.startswith("self."))
            given.update((name, abroad(value)) for name, value in own if value.kind != "unknown" or name in state)
        result = self._summary(module, callee, given, frozenset(bound))
        if is_method:
            env.update((name, UNKNOWN) for name in _changed_state(module, callee))
        self.lose(node, env)
        return result

    def _summary(self, module: PythonModule, callee: FunctionNode, given: Env[Value], names: frozenset[str]) -> Value:
        """What a function returns for these values; worked out once for all functions of all modules that call it."""
        table = _summaries(module, callee)
        values = tuple(sorted(given.items(), key=lambda pair: pair[0]))
        key = (len(self._calling), module is self._home, self.follows_default, names, values)
        summary = table.get(key)
        if summary is None:
            was_cut, self._is_cut = self._is_cut, False
            summary = self._summarised(module, callee, given, names)
            if not self._is_cut:  # one that stopped at a function around it holds there only
                table[key] = summary
            self._is_cut = self._is_cut or was_cut
        self.conflicts.absorb(summary.conflicts)
        self.given_from_cpu |= summary.given_from_cpu
        return summary.result

    def _summarised(
        self, module: PythonModule, callee: FunctionNode, given: Env[Value], names: frozenset[str]
    ) -> _Summary:
        outer = self.conflicts, self.given_from_cpu
        self.conflicts = outer[0].inner(module)
        self.given_from_cpu = {(callee, f"{name}.device") for name, value in given.items() if value.kind == "cpu"}
        try:
            with self._inside(module, callee, names):
                DeviceInterpreter(self).run(callee.body, {**self.start(), **_defaults(callee, names), **given})
                result = abroad(reduce(merge, self.returned) if self.returned else UNKNOWN)
            return _Summary(result, self.conflicts, frozenset(self.given_from_cpu))
        finally:
            self.conflicts, self.given_from_cpu = outer

    @contextmanager
    def _inside(self, module: PythonModule, callee: FunctionNode, names: frozenset[str]) -> Iterator[None]:
        outer = (self.module, self.function, self.tensors, self.returned, self._calling, self.given_names)
        self.module = module
        self.function, self.tensors, self.returned = callee, proven_tensors(callee, module), []
        self._calling = (*self._calling, callee)
        self.given_names = names
        try:
            yield
        finally:
            self.module, self.function, self.tensors, self.returned, self._calling, self.given_names = outer

    def lose(self, node: ast.Call, env: Env[Value]) -> None:
        """A container that is handed to a function may have other contents afterwards."""
        if isinstance(node.func, ast.Name) and node.func.id in _HARMLESS:
            return
        for arg in (*node.args, *(keyword.value for keyword in node.keywords)):
            name = dotted(arg)
            if name is not None and name in env and env[name].kind in CONTAINERS:
                env[name] = UNKNOWN

    # -- the state of a class -------------------------------------------------------------------------------------

    def _state(self) -> Env[Value]:
        """What `__init__` leaves in the attributes that nothing else in the module assigns."""
        owner = self.module.parents.get(self.function)
        if not isinstance(owner, ast.ClassDef) or self.function.name == "__init__":
            return {}
        state = self.state_of(owner)
        for value in state.values():
            if value.factory is not None:
                self.conflicts.makes(value.factory)
        return state

    def state_of(self, owner: ast.ClassDef) -> Env[Value]:
        """What `__init__` leaves in `self`, worked out once for all methods of a class."""
        known = _states(self.module)
        if owner not in known:
            known[owner] = self._read_state(owner)
        return known[owner]

    def _read_state(self, owner: ast.ClassDef) -> Env[Value]:
        init = next(
            (item for item in owner.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None
        )
        if init is None:
            return {}
        inner = type(self)(self.module, init, depth=0)
        after = DeviceInterpreter(inner).run(init.body, inner.start()) or {}
        stored = _stored_attributes(self.module)
        kinds = ("param", "placed", "cpu") if stays_where_it_is(owner) else ("param", "placed")
        return {
            name: abroad(value)._replace(is_state=value.kind == "cpu")
            for name, value in after.items()
            if name.startswith("self.") and name.count(".") == 1 and stored[name[5:]] == 1 and value.kind in kinds
        }


@per_module
def _rebound(module: PythonModule, statement: ast.stmt) -> tuple[str, ...]:
    return tuple(rebound(statement))


@per_module
def _parameters(module: PythonModule, function: FunctionNode) -> Env[Value]:
    """What the parameters of a function hold, as far as their annotations and their uses tell."""
    tensors = proven_tensors(function, module)
    env: Env[Value] = {}
    spec = function.args
    for arg in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]:
        if is_tensor_annotation(arg.annotation):
            env[arg.arg] = Value("param")
        elif is_list_annotation(arg.annotation):
            env[arg.arg] = listed([UNKNOWN])
        elif arg.arg in tensors.texts and not is_foreign_annotation(arg.annotation):
            env[arg.arg] = TENSOR
        else:
            env[arg.arg] = UNKNOWN
    for extra in (spec.vararg, spec.kwarg):
        if extra is not None:
            env[extra.arg] = UNKNOWN
    return env


@per_module
def _summaries(module: PythonModule, callee: FunctionNode) -> dict[object, _Summary]:
    """What a function was found to return, by what it was given and how."""
    return {}


@per_module
def _states(module: PythonModule) -> dict[ast.ClassDef, Env[Value]]:
    """What `state_of` has answered for each class."""
    return {}


def _defaults(callee: FunctionNode, names: frozenset[str]) -> Env[Value]:
    """The parameters that are None because the call does not give them."""
    spec = callee.args
    missing = [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if arg.arg not in names]
    return {name: NONE for name in missing if is_none(default_of(callee, name))}


@per_module
def _changed_state(module: PythonModule, method: FunctionNode) -> frozenset[str]:
    """The attributes of `self` that a method may assign."""
    names = {name for statement in method.body for name in rebound(statement)}
    return frozenset(name for name in names if name.startswith("self."))


@per_module
def _stored_attributes(module: PythonModule) -> Counter[str]:
    """How often each attribute is assigned in a module, of whatever object."""
    stores = (node.attr for node in module.of(ast.Attribute) if not isinstance(node.ctx, ast.Load))
    return Counter(stores)


def stays_where_it_is(owner: ast.ClassDef) -> bool:
    """Whether nothing known moves the tensors of a class. `nn.Module.to` moves parameters and buffers only."""
    bases = {(dotted(base) or "?").rpartition(".")[2] for base in owner.bases}
    methods = {item.name for item in owner.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))}
    return bases <= _MODULE_BASES and not methods & _MOVERS
