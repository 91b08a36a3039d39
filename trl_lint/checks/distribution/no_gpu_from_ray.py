"""TRL118: a task or actor of Ray that works on a GPU without asking for one, or that asks for more than there are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.distribution._ray import (
    Remote,
    gpus_of_cluster,
    own_function,
    remotes_of,
    starts_in,
    used_otherwise,
)
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, Missing
from trl_lint.project import Project
from trl_lint.python.guards import key_of
from trl_lint.python.module import FUNCTIONS, FunctionNode, PythonModule, own_nodes
from trl_lint.python.values import argument
from trl_lint.regexes import regex

# `set_visible_accelerator_ids` of _private/utils.py: from 2.56.0 on it leaves CUDA_VISIBLE_DEVICES alone.
_HIDES = "<2.56.0"
# Code that asks what there is, or chooses for itself, may do without a GPU.
_ASKS = regex(r"is_available|device_count|VISIBLE_DEVICES|[\"']cpu[\"']|local_mode|has_gpu|use_gpu|no_cuda|use_cuda")
# What runs in the process of the script, or has its GPUs by a variable.
_SETS = regex(r"\blocal_mode\b|CUDA_VISIBLE_DEVICES")
_ENGINES = frozenset(
    ("vllm.LLM", "vllm.LLMEngine.from_engine_args", "vllm.AsyncLLMEngine.from_engine_args", "sglang.Engine")
)
_ENGINE_ARGUMENTS = frozenset({"vllm.EngineArgs", "vllm.AsyncEngineArgs"})
# vLLM starts workers of its own in Ray, each with a GPU, when there are several ranks.
_SEVERAL = (
    "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "distributed_executor_backend",
    "worker_use_ray", "engine_use_ray", "data_parallel_backend", "device", "worker_cls",
)  # fmt: skip
_NEVER = 1 << 30
_CUDA = regex(r"cuda(?::\d{1,3})?")


class NoGpuFromRay(Rule):
    code = "TRL118"
    imports = ("ray",)
    needles = (b"remote",)
    skips_tests = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        remotes = list(remotes_of(module))
        yield from self._beyond_cluster(module, remotes, project)
        bare = [each for each in remotes if each.gpus is ABSENT]
        work = _work_in(module, {each.node: each for each in bare}) if bare and not _SETS.search(module.text) else {}
        if not work:
            return
        verdict = judge_pins(project.environment(module.path), {"ray": _HIDES}, Level(self))
        if verdict is None:
            return
        starts, elsewhere = starts_in(project), used_otherwise(module)
        for remote in bare if not starts.shows_all else ():
            name = remote.node.name
            if remote.node in work and name in starts.started and name not in starts.options | elsewhere:
                call, what = work[remote.node]
                kind = "an actor" if isinstance(remote.node, ast.ClassDef) else "a task"
                yield self.finding(
                    module.location(call),
                    f"{what} in {kind} that asks Ray for no GPU sees none: give `{name}` `num_gpus=1`"
                    f" ({verdict.scope})",
                    severity=verdict.severity,
                    related=(module.location(remote.decorator, "no `num_gpus` here"), *verdict.related),
                )

    def _beyond_cluster(self, module: PythonModule, remotes: list[Remote], project: Project) -> Iterator[Finding]:
        """`@ray.remote(num_gpus=4)` after `ray.init(num_gpus=2)` waits for ever."""
        cluster = gpus_of_cluster(module) if remotes else None
        if cluster is None:
            return
        started, elsewhere = starts_in(project).started, used_otherwise(module)
        for remote in remotes:
            gpus, name = remote.gpus, remote.node.name
            if not isinstance(gpus, (int, float)) or gpus <= cluster[0] or name in elsewhere or name not in started:
                continue
            there = "1 GPU" if cluster[0] == 1 else f"{cluster[0]} GPUs"
            yield self.finding(
                module.location(remote.decorator),
                f"`{remote.node.name}` asks for {gpus} GPUs and waits for ever: the cluster of this script has {there}",
                related=(module.location(cluster[1], "the cluster"),),
            )


def _work_in(module: PythonModule, bare: dict[ast.AST, Remote]) -> dict[ast.AST, tuple[ast.Call, str]]:
    """By task or actor, its first call that certainly works on a GPU, and what that is in words."""
    found: dict[ast.AST, tuple[ast.Call, str]] = {}
    quiet: dict[ast.AST, bool] = {}
    called = _called(module)
    for call in module.calls:
        what = _gpu_work(call, module)
        if not what:
            continue
        remote = next((bare[above] for above in module.ancestors(call) if above in bare), None)
        if remote is None or remote.node in found:
            continue
        if remote.node not in quiet:
            quiet[remote.node] = _ASKS.search(module.segment(remote.node)) is not None
        if not quiet[remote.node] and _is_certain(call, remote, module, called):
            found[remote.node] = call, what
    return found


def _called(module: PythonModule) -> frozenset[str]:
    """The names of the methods that a module calls: `self.load()`, `worker.load.remote()`; the constructor is."""
    found = {"__init__"}
    for call in module.calls:
        if isinstance(call.func, ast.Attribute):
            inner = call.func.value
            if isinstance(inner, ast.Name) and inner.id == "self":
                found.add(call.func.attr)
            elif isinstance(inner, ast.Attribute) and call.func.attr == "remote":
                found.add(inner.attr)
    return frozenset(found)


def _is_certain(call: ast.Call, remote: Remote, module: PythonModule, called: frozenset[str]) -> bool:
    """Whether a call is made whenever the task runs or the actor is made, under no test and outside of `try`."""
    function = own_function(module, call, remote)
    if not isinstance(function, FUNCTIONS):
        return False
    if _first_exit(module, function) < call.lineno:
        return False
    for above in module.ancestors(call):
        if above is function:
            break
        if isinstance(above, (ast.If, ast.IfExp, ast.Try, ast.BoolOp, ast.While)):
            return False
    if function is remote.node:
        return True
    return getattr(function, "name", "") in called


@per_module
def _first_exit(module: PythonModule, function: FunctionNode) -> int:
    """The first line of a function from which it may leave."""
    leaving = [node.lineno for node in own_nodes(function) if isinstance(node, (ast.Return, ast.Raise))]
    return min(leaving, default=_NEVER)


def _gpu_work(call: ast.Call, module: PythonModule) -> str:
    """What a call does on a GPU, in words; "" where it may do without one."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in ("cuda", "to") and key_of(call.func) == f"self.{name}":
        return ""  # a method of its own
    if name == "cuda" and not call.args and not call.keywords:
        return "`.cuda()`"
    if name == "to":
        return '`.to("cuda")`' if _is_cuda(argument(call, "device", 0)) else ""
    if _is_cuda(argument(call, "device")) and any(
        each.startswith("torch.") for each in module.names.origins(call.func)
    ):
        return '`device="cuda"`'
    if name == "from_pretrained" and _is_cuda(argument(call, "device_map")):
        return '`device_map="cuda"`'
    origins = module.names.origins(call.func) & _ENGINES
    if not origins or not module.names.is_certain(call.func):
        return ""
    engine = min(origins).partition(".from")[0]
    if engine == "sglang.Engine":
        is_plain = all(each.arg not in (None, "device") for each in call.keywords) and not call.args
        return f"`{engine}`" if is_plain else ""
    arguments = call if not min(origins).endswith("from_engine_args") else _engine_arguments(call, module)
    return f"`{engine}`" if arguments is not None and _is_one_rank(arguments) else ""


def _is_cuda(device: ast.expr | Missing) -> bool:
    return isinstance(device, ast.Constant) and isinstance(device.value, str) and bool(_CUDA.fullmatch(device.value))


def _engine_arguments(call: ast.Call, module: PythonModule) -> ast.Call | None:
    """The call that made the arguments of an engine, where they stand in it or in the one value of a name."""
    given = argument(call, "engine_args", 0)
    if isinstance(given, ast.Name):
        from trl_lint.python.guards import bindings

        values = bindings(module).get(given.id, [])
        given = values[0] if len(values) == 1 else ABSENT
    if isinstance(given, ast.Call) and not module.names.origins(given.func).isdisjoint(_ENGINE_ARGUMENTS):
        return given
    return None


def _is_one_rank(call: ast.Call) -> bool:
    for keyword in call.keywords:
        if keyword.arg is None:
            return False
        is_one = isinstance(keyword.value, ast.Constant) and keyword.value.value == 1
        if keyword.arg in _SEVERAL and not (keyword.arg.endswith("_size") and is_one):
            return False
    return not any(isinstance(each, ast.Starred) for each in call.args)


rule = NoGpuFromRay()
