"""TRL125: tensors on GPUs are sent as objects, and arrive on the GPU of the process that sent them."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Literal

from trl_lint.checks._runs import runs_of
from trl_lint.checks._started import Started, processes_of
from trl_lint.checks.distribution._callers import passed_by
from trl_lint.checks.distribution._device import is_for_accelerators
from trl_lint.checks.distribution.cpu_tensor_in_collective import has_cpu_backend
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.memos import per_module, per_project
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project import Project
from trl_lint.python.dataflow.places import CONTAINERS, Value
from trl_lint.python.dataflow.torch_facts import SAME_DEVICE_METHODS
from trl_lint.python.guards import last_name
from trl_lint.python.module import FunctionNode, PythonModule, mentions, own_nodes
from trl_lint.python.reaching import place_of
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting, Unknown
from trl_lint.run.runs import Run, run_of

# torch 2.13.0, distributed/distributed_c10d.py and storage.py; accelerate 1.15.0, utils/operations.py.
_TORCH = "torch.distributed."
_ACCELERATE = ("accelerate.utils.", "accelerate.utils.operations.")
_JOINS = frozenset({"torch.cat", "torch.concat", "torch.hstack", "torch.stack", "torch.vstack"})
# Each process chooses what it sees by itself, or nothing runs on GPUs of NVIDIA.
_OTHERWISE = regex(r"CUDA_VISIBLE_DEVICES|is_xpu|is_npu|torch_npu|\bcpu\s{0,4}=\s{0,4}True|use_cpu|\bmps\b")
_ONE_GPU_EACH = frozenset({"--cpu", "--use_cpu", "--tpu", "--virtual_local_rank"})
_OTHER_DEVICES = (UNKNOWN, "MULTI_CPU", "MULTI_NPU", "MULTI_XPU", "XLA", "MPS")
_HARMLESS = frozenset({"len", "print"})
_MOVING = frozenset({"cuda", "prepare", "prepare_model", "to"})


class _Parts(NamedTuple):
    """The argument with what is sent, and the one that receives, each by its name and position.

    Without a name for what receives, the call returns it. `from_all`: it holds something of every process.
    """

    sent: tuple[str, int]
    received: tuple[str, int] | None
    from_all: bool


_OF_TORCH = {
    "all_gather_object": _Parts(("obj", 1), ("object_list", 0), from_all=True),
    "gather_object": _Parts(("obj", 0), ("object_gather_list", 1), from_all=True),
    "broadcast_object_list": _Parts(("object_list", 0), ("object_list", 0), from_all=False),
}
_OF_ACCELERATE = {
    "gather_object": _Parts(("object", 0), None, from_all=True),
    "broadcast_object_list": _Parts(("object_list", 0), ("object_list", 0), from_all=False),
}


class GpuTensorsInObjects(Rule):
    code = "TRL125"
    triggers = (
        *(f"{_TORCH}{name}" for name in _OF_TORCH),
        *(f"{prefix}{name}" for prefix in _ACCELERATE for name in _OF_ACCELERATE),
    )
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        parts, function = _parts(site), site.module.function(site.call)
        if parts is None or function is None or not is_for_accelerators(site.module):
            return
        use = _used(site, parts, function)
        if use is None or mentions(site.module, _OTHERWISE) or not _sends_gpu_tensor(site, parts, function):
            return
        started = _started(site.module.path, site.project)
        if started is None or has_cpu_backend(site.project):
            return
        how = "are joined" if use.how == "joined" else "become the data of others"
        yield self.finding(
            site.location,
            f"what `{last_name(site.call.func)}` receives stays on the GPU of the process that sent it, and "
            f"{started.processes} processes send from {started.processes} GPUs: the tensors {how} here without being "
            "moved; send them with `.cpu()`",
            related=(site.module.location(use.node, f"they {how} here"), *started.related),
        )


def _parts(site: Site) -> _Parts | None:
    origins = site.module.names.origins(site.call.func)
    groups = [keyword.arg for keyword in site.call.keywords if keyword.arg in (None, "group", "group_src")]
    if len(origins) != 1 or not site.module.names.is_certain(site.call.func) or groups:
        return None  # a group may be of one process
    origin = next(iter(origins))
    name = origin.rpartition(".")[2]
    return _OF_TORCH.get(name) if origin.startswith(_TORCH) else _OF_ACCELERATE.get(name)


# -- what is sent -----------------------------------------------------------------------------------------------------


def _sends_gpu_tensor(site: Site, parts: _Parts, function: FunctionNode) -> bool:
    """Whether a tensor on a GPU is certainly among what a call sends, on each way to it."""
    name, position = parts.sent
    given = passed_by(site.module, function, site.project).get(site.call, [])
    found = [
        keywords.get(name) or (arguments[position] if position < len(arguments) else None)
        for arguments, keywords in given
    ]
    return bool(found) and all(value is not None and _is_on_gpu(value) for value in found)


def _is_on_gpu(value: Value) -> bool:
    """Whether a value is a tensor on a GPU, or holds such ones and nothing else."""
    if value.kind in CONTAINERS:
        return bool(value.items) and all(map(_is_on_gpu, value.members))
    return value.kind == "placed"


# -- what becomes of it -----------------------------------------------------------------------------------------------


class _Use(NamedTuple):
    """Where tensors that were received meet those of other GPUs."""

    node: ast.AST
    how: Literal["joined", "data"]


class _Received:
    """The names that hold what a call received: all that came, or a part of it."""

    def __init__(self, module: PythonModule, name: str, *, from_all: bool) -> None:
        self.module = module
        self.from_all = from_all
        self.names = [name]
        self.whole = {name}

    def keep(self, name: str, *, is_whole: bool) -> None:
        """Another name holds what came, or a part of it."""
        self.names.append(name)
        if is_whole:
            self.whole.add(name)

    def way(self, use: ast.Name) -> list[_Use] | None:
        """Where one use of them leads; None where nobody knows. The names that it is given to are kept."""
        node: ast.expr = use
        is_whole = use.id in self.whole
        while True:
            parent = self.module.parents.get(node)
            if isinstance(parent, ast.comprehension):
                comprehension = self.module.parents.get(parent)
                if not is_whole or not isinstance(comprehension, (ast.ListComp, ast.GeneratorExp)):
                    return None
                if not _keeps_places(comprehension):
                    return None
                node = comprehension
            elif isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
                node, is_whole = parent, False
            else:
                return self._end(parent, node, is_whole)

    def _end(self, parent: ast.AST | None, node: ast.expr, is_whole: bool) -> list[_Use] | None:
        if isinstance(parent, ast.Call):
            name = parent.func.id if isinstance(parent.func, ast.Name) else ""
            if parent.args[:1] == [node] and (name == "sum" or self.module.names.origins(parent.func) & _JOINS):
                return [_Use(parent, "joined")] if is_whole and self.from_all else None
            return [] if name in _HARMLESS else None
        if isinstance(parent, (ast.For, ast.AsyncFor)) and node is parent.iter and isinstance(parent.target, ast.Name):
            self.keep(parent.target.id, is_whole=False)
            return []
        if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
            return None
        target = parent.targets[0]
        if parent.value is not node:
            return None
        if isinstance(target, ast.Name):
            self.keep(target.id, is_whole=is_whole)
            return []
        is_data = isinstance(target, ast.Attribute) and target.attr == "data"
        return [_Use(parent, "data")] if is_data and not is_whole else None


def _keeps_places(node: ast.ListComp | ast.GeneratorExp) -> bool:
    """`[x["logits"] for x in received]`: of each process one part, as it came."""
    loop, part = node.generators[0], node.elt
    while (inner := _of_sameplace_of(part)) is not None:
        part = inner
    is_part = isinstance(loop.target, ast.Name) and isinstance(part, ast.Name) and part.id == loop.target.id
    return is_part and len(node.generators) == 1 and not loop.ifs


def _of_sameplace_of(node: ast.expr) -> ast.expr | None:
    """The tensor, or what holds it, that an expression is a part of."""
    if isinstance(node, ast.Subscript):
        return node.value
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    return node.func.value if node.func.attr in SAME_DEVICE_METHODS else None


class _Places(NamedTuple):
    """The names that a function mentions, each with its places in order, and the last place that may move a model."""

    names: dict[str, list[ast.Name]]
    last_move: tuple[int, int]


@per_module
def _places_in(module: PythonModule, function: FunctionNode) -> _Places:
    names: dict[str, list[ast.Name]] = {}
    last_move = (0, 0)
    for node in own_nodes(function):
        if isinstance(node, ast.Name):
            names.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Attribute) and node.attr in _MOVING:
            last_move = max(last_move, place_of(node))
    for found in names.values():
        found.sort(key=place_of)
    return _Places(names, last_move)


def _used(site: Site, parts: _Parts, function: FunctionNode) -> _Use | None:
    """The first place below a call where what it received meets other GPUs; None where any of it may be moved."""
    name = _receiver(site, parts)
    places = _places_in(site.module, function)
    received = _Received(site.module, name, from_all=parts.from_all)
    waiting: list[tuple[tuple[int, int], str, int]] = []  # the next place of each name

    def wait_for(one: str, after: tuple[int, int]) -> None:
        index = bisect_right(places.names.get(one, []), after, key=place_of)
        if index < len(places.names.get(one, [])):
            heappush(waiting, (place_of(places.names[one][index]), one, index))

    wait_for(name, (site.call.end_lineno or 0, site.call.end_col_offset or 0))
    uses: list[_Use] = []
    while waiting:
        at, one, index = heappop(waiting)
        node = places.names[one][index]
        known = len(received.names)
        way = received.way(node) if isinstance(node.ctx, ast.Load) else None
        if way is None:
            return None
        uses.extend(way)
        for new in received.names[known:]:
            statement = site.module.statement(node)
            wait_for(new, at if statement is None else max(at, _end_of_target(statement)))
        wait_for(one, at)
    if not uses or (uses[0].how == "data" and places.last_move > place_of(uses[0].node)):
        return None
    return uses[0]


def _end_of_target(statement: ast.stmt) -> tuple[int, int]:
    """Where the names end that a statement gives something to."""
    target = statement.target if isinstance(statement, (ast.For, ast.AsyncFor)) else None
    return (0, 0) if target is None else (target.end_lineno or 0, target.end_col_offset or 0)


def _receiver(site: Site, parts: _Parts) -> str:
    """The name that holds what a call received; "" where none does."""
    if parts.received is not None:
        place = argument(site.call, *parts.received)
        return place.id if isinstance(place, ast.Name) else ""
    statement = site.module.parents.get(site.call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else ""


# -- the run ----------------------------------------------------------------------------------------------------------


@per_project
def _started(path: str, project: Project) -> Started | None:
    """The first run that starts several processes on the GPUs of one machine, each of which sees them all."""
    for launch in runs_of(path, project):
        run = run_of(launch, project)
        number = processes_of(run)
        if number > 1 and _sees_all(run):
            return Started(run, number)
    return None


def _sees_all(run: Run) -> bool:
    launch = run.launch
    if launch.options.keys() & _ONE_GPU_EACH or launch.wrappers or launch.visible_word is not None:
        return False
    if launch.launcher not in ("accelerate", "deepspeed", "torchrun"):
        return False
    if any(name.startswith(("ACCELERATE_USE_CPU", "CUDA_")) for name in launch.env):
        return False
    if launch.launcher == "accelerate" and run.accelerate is None and "--config_file" in launch.options:
        return False
    if run.accelerate is None:
        return True
    config = run.configs.accelerate
    said, kind = config.given("use_cpu"), config.given("distributed_type")
    if isinstance(kind, Unknown) or (isinstance(kind, Setting) and kind.value in _OTHER_DEVICES):
        return False
    return said is ABSENT or (isinstance(said, Setting) and said.truth is False)


rule = GpuTensorsInObjects()
