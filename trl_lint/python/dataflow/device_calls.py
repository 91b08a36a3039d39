"""What torch's functions and methods do to the place of a tensor."""

from __future__ import annotations

import ast

from trl_lint.missing import ABSENT
from trl_lint.python.dataflow import torch_facts as torch
from trl_lint.python.dataflow.conflicts import Conflicts
from trl_lint.python.dataflow.interpreter import Env, dotted
from trl_lint.python.dataflow.places import (
    CONTAINERS,
    HOST,
    NONE,
    ON_CPU,
    TENSOR,
    TENSORS,
    UNKNOWN,
    Rank,
    Value,
    element,
    iterated,
    listed,
    record,
    strongest,
)
from trl_lint.python.dataflow.readings import (
    is_bound_device,
    is_cpu,
    is_cpu_argument,
    is_dtype,
    is_plain_list,
    is_scalar_data,
    parts,
    rank_of,
    reduced,
)
from trl_lint.python.guards import bindings, key_of
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import argument, default_of, is_none, same

Keywords = dict[str | None, Value]


class TorchCalls:
    """The part of the device analysis that knows torch; `evaluate` comes from the domain."""

    module: PythonModule
    function: FunctionNode
    conflicts: Conflicts
    follows_default: bool  # inside of `with torch.device(…)`
    given_names: frozenset[str]  # the parameters that the caller gives, where one is known

    def evaluate(self, node: ast.expr, env: Env[Value]) -> Value:
        raise NotImplementedError

    def anchor(self, node: ast.expr, value: Value) -> str:
        """The tensor to take a device from, as written; "" if it is no name or lives on the CPU itself."""
        return (dotted(node) or "") if value.kind in TENSORS else ""

    # -- functions ------------------------------------------------------------------------------------------------

    def torch_call(
        self, node: ast.Call, name: str, arguments: list[Value], keywords: Keywords, env: Env[Value]
    ) -> Value:
        last = name.rpartition(".")[2]
        if last in torch.FACTORIES or last in torch.DATA_FACTORIES:
            if self._origin(node.func) != f"torch.{last}":
                return TENSOR  # `torch.cuda.FloatTensor`, `torch.sparse.…`
            return self._factory(node, last, arguments, env)
        if last.endswith("_like") and arguments and argument(node, "device") is ABSENT:
            return arguments[0] if arguments[0].kind not in CONTAINERS else UNKNOWN
        if last in torch.COLLECTIVES and ".distributed" in f".{self._origin(node.func)}":
            return self._collective(node, arguments, keywords)
        if last in ("stack", "cat", "concat", "hstack", "vstack"):
            return self._joined_tensors(node, last, arguments, keywords, env)
        if last in torch.MIXING_FUNCTIONS:
            values = [value for value in (*arguments, *keywords.values()) if value.kind not in CONTAINERS]
            found = self.meet(node, values, last)
            return found if found.kind not in ("unknown", "host") else TENSOR
        if last == "from_numpy" or (last == "load" and is_cpu_argument(node, "map_location")):
            return ON_CPU
        operands = [*arguments, *keywords.values()]
        if last in torch.MIXING_WITH_OPERANDS and _tensors(operands) > 1:
            return self.meet(node, operands, last)
        if last in torch.SAME_DEVICE_FUNCTIONS and arguments:
            return self._same_device(node, last, arguments[0])
        return UNKNOWN

    def _origin(self, func: ast.expr) -> str:
        return next(iter(self.module.names.origins(func)), "")

    def _same_device(self, node: ast.Call, last: str, value: Value) -> Value:
        if value.kind == "cpu":
            return value._replace(rank=_rank_after(last, value.rank, node))
        if value.kind in TENSORS:
            return value
        return TENSOR if value.kind == "unknown" and last not in ("chunk", "split", "unbind") else UNKNOWN

    def _joined_tensors(
        self, node: ast.Call, last: str, arguments: list[Value], keywords: Keywords, env: Env[Value]
    ) -> Value:
        """`cat` and `stack` of a literal or of a list that was followed: every item is a tensor."""
        given = arguments[0] if arguments else keywords.get("tensors", UNKNOWN)
        source = node.args[0] if node.args else None
        if given.kind not in CONTAINERS:
            return given if given.kind in TENSORS else TENSOR
        items = list(given.members)
        if isinstance(source, (ast.List, ast.Tuple)) and any(item.anchor for item in items):
            items = [TENSOR if item.kind == "unknown" else item for item in items]
        self.conflicts.meet(node, items, scalars=last == "stack")
        on_cpu = [item for item in items if item.kind == "cpu"]
        others = [item for item in items if item.kind in TENSORS]
        if on_cpu and (last == "stack" or not others):
            # Items on two devices are an error here, so what comes out of it is on the CPU.
            return on_cpu[0]._replace(rank="many" if last == "stack" and on_cpu[0].has_rank else "some")
        return strongest(others) if others else TENSOR

    def _collective(self, node: ast.Call, arguments: list[Value], keywords: Keywords) -> Value:
        group = argument(node, "group")
        if isinstance(group, ast.expr) and any(word in ast.unparse(group).lower() for word in ("gloo", "cpu")):
            return UNKNOWN
        for value in (*arguments, *keywords.values()):
            self.communicates(node, value)
        return UNKNOWN

    def communicates(self, node: ast.expr, value: Value) -> None:
        """A value is handed to the backend of the process group, a container with all that is in it."""
        for tensor in (value, *value.members) if value.kind in CONTAINERS else (value,):
            if tensor.kind == "cpu":
                self.conflicts.note(node, tensor, UNKNOWN, "collective")

    def _factory(self, node: ast.Call, last: str, arguments: list[Value], env: Env[Value]) -> Value:
        place = argument(node, "device")
        if isinstance(place, ast.expr) and self.evaluate(place, env) == NONE:
            place = ABSENT
        self.conflicts.makes(node)
        if place is not ABSENT:
            if isinstance(place, ast.expr):
                self.conflicts.places(node)
                return self._placed_at(place, env)
            return UNKNOWN  # `**kwargs` may hold the device
        if self.follows_default:
            return TENSOR
        made = Value("cpu", factory=node, known=frozenset(env))
        if last in torch.DATA_FACTORIES:
            return self._from_data(node, arguments[0] if arguments else UNKNOWN, made)
        made = made._replace(rank=rank_of(node, last, self.module))
        if not made.has_rank:
            return made._replace(rank="none" if self._is_without_dimensions(node) else "unsure")
        anchors = {value.anchor for value in arguments if value.anchor}
        for value in arguments:
            anchors |= {item.anchor for item in value.members}
        anchors |= {self.evaluate(item, env).anchor for arg in node.args for item in _inside(arg)}
        anchors -= {""}
        anchor = anchors.pop() if len(anchors) == 1 else ""
        remedy = f"{anchor}.device" if is_bound_device(anchor, made.known) else ""
        return made._replace(anchor=anchor, remedy=remedy)

    def _is_without_dimensions(self, node: ast.Call) -> bool:
        return bool(node.args) and self.module.value(node.args[0]) == ()

    def _from_data(self, node: ast.Call, data: Value, made: Value) -> Value:
        """`torch.tensor(x)`: numbers go to the CPU, a tensor stays where it is."""
        if is_scalar_data(node) or data.kind == "host":
            return made._replace(rank="none")
        if node.args and is_plain_list(node.args[0]):
            return made._replace(rank=rank_of(node, "tensor", self.module))
        if data.kind in CONTAINERS and data.items:
            return made  # of tensors without dimensions in a list it takes the numbers
        return made._replace(rank="unsure", is_doubtful=True) if data.kind == "unknown" and node.args else UNKNOWN

    def _placed_at(self, place: ast.expr, env: Env[Value]) -> Value:
        if is_cpu(place) or self._is_name_of_cpu(place):
            return ON_CPU  # somebody wanted it there
        known = self.evaluate(place, env)
        if known.kind == "place" and known.members[0].kind == "cpu":
            return known.members[0]
        if known.kind != "place" and self._may_be_none(place):
            return TENSOR
        is_relative = isinstance(place, ast.Attribute) and place.attr == "device"
        return Value("placed", device=ast.unparse(place), is_relative=is_relative)

    def _may_be_none(self, place: ast.expr) -> bool:
        """Whether a device is a parameter that is None, the CPU that is, unless the caller gives it."""
        if not isinstance(place, ast.Name) or place.id in self.given_names:
            return False
        return is_none(default_of(self.function, place.id))

    def _is_name_of_cpu(self, place: ast.expr) -> bool:
        """Whether everything that the module binds to a name, a parameter's default included, is the CPU."""
        values = list(bindings(self.module).get(key_of(place), ())) if key_of(place) else []
        default = default_of(self.function, place.id) if isinstance(place, ast.Name) else None
        values += [default] if default is not None else []
        return bool(values) and all(is_cpu(value) for value in values)

    # -- methods --------------------------------------------------------------------------------------------------

    def method_call(
        self,
        node: ast.Call,
        func: ast.Attribute,
        value: Value,
        arguments: list[Value],
        keywords: Keywords,
        env: Env[Value],
    ) -> Value:
        name = func.attr
        if value.kind in CONTAINERS:
            return self._container_call(func, value, arguments, env)
        if name == "to":
            moved = self._to(node, value, env)
            return moved._replace(factory=value.factory) if moved.kind in TENSORS else moved
        if name == "type_as" and arguments and (arguments[0].kind == "cpu" or arguments[0].kind in TENSORS):
            return arguments[0]._replace(rank=value.rank)
        if name in ("cuda", "type_as", "to_device"):
            device = self.anchor(func.value, value) and f"{dotted(func.value)}.device"
            return Value("placed", device=device, factory=value.factory)
        if name == "cpu":
            return ON_CPU  # wanted there: not the kind of accident this looks for
        if name in torch.SIZE_METHODS:
            return Value("host", anchor=self.anchor(func.value, value))
        if name in ("item", "numpy"):
            return HOST
        if name == "tolist":
            return listed([HOST])
        if value.kind == "cpu" or value.kind in TENSORS:
            operands = [value, *arguments, *keywords.values()]
            if name in torch.MIXING_METHODS or (name in torch.MIXING_WITH_OPERANDS and _tensors(operands) > 1):
                return self.meet(node, operands, name)
            if name in torch.SAME_DEVICE_METHODS:
                return self._same_device(node, name, value)
            return value if value.kind == "model" else UNKNOWN
        return TENSOR if name in torch.TENSOR_ONLY and value.kind == "unknown" else UNKNOWN

    def _container_call(self, func: ast.Attribute, value: Value, arguments: list[Value], env: Env[Value]) -> Value:
        """The methods of lists and dicts; one that is not known here leaves nothing known of the container."""
        name, owner = func.attr, dotted(func.value)
        if name == "append" and owner is not None and arguments:
            is_literal = all(key == index for index, (key, _) in enumerate(value.items)) and len(value.items) < 8
            grown = [*value.members, arguments[0]]
            env[owner] = record(enumerate(grown)) if value.kind == "record" and is_literal else listed(grown)
            return HOST
        if name == "values":
            return iterated(value)
        if name == "items" and value.kind == "record":
            return record(enumerate(record([(0, HOST), (1, item)]) for item in value.members))
        if name == "items":
            return listed([record([(0, HOST), (1, element(value))])])
        if name == "keys":
            return listed([HOST])
        if name == "copy":
            return value
        if name == "get" and value.kind == "record":
            return UNKNOWN
        if owner is not None:
            env[owner] = UNKNOWN
        return Value("placed") if name == "to" else UNKNOWN

    def _to(self, node: ast.Call, value: Value, env: Env[Value]) -> Value:
        place = argument(node, "device", 0)
        if not isinstance(place, ast.expr):
            dtype = argument(node, "dtype")
            return value if isinstance(dtype, ast.expr) else UNKNOWN
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        is_own = isinstance(place, ast.Attribute) and place.attr == "device" and same(place.value, owner)
        if is_own or is_dtype(place):
            return value  # `x.to(x.device)` moves nothing
        if isinstance(place, ast.Name) and dotted(place) not in env and "device" not in place.id.lower():
            return UNKNOWN
        known = self.evaluate(place, env)
        if known.kind in TENSORS:  # `.to(other_tensor)`
            return Value("placed", device=f"{dotted(place)}.device" if dotted(place) else "", is_relative=True)
        return self._placed_at(place, env)

    # -- mixing ---------------------------------------------------------------------------------------------------

    def meet(self, node: ast.expr, values: list[Value], operation: str = "") -> Value:
        """Note a conflict among the operands; the value of the operation, whose rank a contraction does not tell.

        `operation` is the name of a function or method of torch, "" for an operator.
        """
        self.conflicts.meet(node, values, scalars=operation in torch.NOT_EVEN_SCALARS)
        others = [value for value in values if value.kind in TENSORS]
        on_cpu = [value for value in values if value.kind == "cpu"]
        if others:
            return strongest(others)
        if on_cpu:
            known = all(value.kind in ("cpu", "host") for value in values)
            found = on_cpu[0] if known and len(on_cpu) == 1 else _broadest(on_cpu, known)
            return found._replace(rank="unsure") if operation in torch.CONTRACTIONS else found
        if values and all(value.kind == "host" for value in values):
            anchors = {value.anchor for value in values if value.anchor}
            return Value("host", anchor=anchors.pop() if len(anchors) == 1 else "")
        return UNKNOWN


def _broadest(on_cpu: list[Value], known: bool) -> Value:
    """The result of CPU tensors with each other, or with something unknown, which then is on the CPU as well."""
    some = [value for value in on_cpu if value.has_rank]
    if some:
        return next((value for value in some if value.rank == "many"), some[0])
    if known and all(value.rank == "none" for value in on_cpu):
        return on_cpu[0]
    return UNKNOWN  # without dimensions it follows what it meets


def _rank_after(last: str, rank: Rank, node: ast.Call) -> Rank:
    """The rank of a CPU tensor after a function or method that leaves it where it is."""
    if last in torch.REDUCTIONS:
        return reduced(rank, last, node)
    if last == "unsqueeze":
        return "many" if rank in ("some", "many") else "some"
    if last in torch.GIVE_RANK:
        return "many" if rank == "many" and last in ("expand", "repeat") else "some"
    return "some" if rank == "many" and last in ("masked_select", "reshape", "unfold") else rank


def _tensors(values: list[Value]) -> int:
    return sum(value.kind == "cpu" or value.kind in TENSORS for value in values)


def _inside(node: ast.expr) -> list[ast.expr]:
    """Where a size may hide: the items of a literal sequence, the operand of a splat, and that of a splat inside."""
    found = list(parts(node))
    return found + [item for outer in found for item in parts(outer)]
