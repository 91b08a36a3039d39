"""TRL126: the forward of a model past the wrapper that joins the gradients, or the weights, of all processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._runs import runs_of
from trl_lint.checks.distribution._accelerators import backend_of, constructor_of, parameters, prepared_at
from trl_lint.checks.distribution.module_of_prepared_model import read_wrapping
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding
from trl_lint.memos import per_module
from trl_lint.paths import is_test_file
from trl_lint.project import Project
from trl_lint.project.modules import called_function
from trl_lint.python.dataflow.modes import mode_of, mode_of_context
from trl_lint.python.guards import bindings, key_of, last_name
from trl_lint.python.module import FunctionNode, PythonModule, nodes_in
from trl_lint.records import NamedTuple

_DDP = "torch.nn.parallel.DistributedDataParallel"
_FSDP = frozenset(
    {
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
    }
)
# Methods of a `transformers.Trainer` that are given the wrapped model, and whose loss is trained.
_STEPS = frozenset({"compute_loss", "training_step"})


class _Bare(NamedTuple):
    """An expression that is the model without its wrapper. `wrapped`: what was unwrapped; `fsdp`: by FSDP for sure."""

    node: ast.expr
    wrapped: str
    fsdp: bool


class _Inner(NamedTuple):
    """The call that runs the model, perhaps in another function, or lets it generate."""

    call: ast.Call
    module: PythonModule
    is_generation: bool


class ForwardPastWrapper(Rule):
    code = "TRL126"
    imports = ("accelerate", "torch", "transformers", "trl")
    needles = (b".module", b"unwrap_model(", b"self.model(")
    patterns = (rb"\.backward\(|def (?:compute_loss|training_step)\b|FullyShardedDataParallel",)
    skips_tests = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if is_test_file(module.path):
            return
        told: set[ast.Call] = set()
        for bare in _bare_models(module):
            for place, inner in _forwards(module, bare, project):
                if place not in told and (finding := self._judged(module, bare, place, inner, project)) is not None:
                    told.add(place)
                    yield finding

    def _judged(
        self, module: PythonModule, bare: _Bare, place: ast.Call, inner: _Inner, project: Project
    ) -> Finding | None:
        text = bare.wrapped
        launches = runs_of(module.path, project)
        backends = [backend_of(launch, project) for launch in launches]
        if bare.fsdp or (launches and all(one is not None and one.kind == "FSDP1" for one in backends)):
            if _is_gathered(module, place) or _is_gathered(inner.module, inner.call):
                return None
            return self.finding(
                module.location(place),
                f"this goes past FSDP, which then does not gather the weights that `{text}` holds itself: the model "
                f"meets flat shards of them (\"'weight' must be 2-D\"); call `{text}`",
                severity="error",
                related=tuple(one.location for one in backends[:1] if one is not None),
            )
        if inner.is_generation or not _is_recorded(module, place) or not _is_recorded(inner.module, inner.call):
            return None
        wraps = [
            read_wrapping(launch, module, project)
            for launch, one in zip(launches, backends, strict=True)
            if one is None
        ]
        several = [one for one in wraps if one is not None and one.kind == "wrapped"]
        is_single = bool(launches) and all(one is not None and one.kind == "bare" for one in wraps)
        if is_single or (launches and not wraps) or not _is_trained(module, place):
            return None
        proof = tuple(one.location for one in several[:1])
        return self.finding(
            module.location(place),
            "this goes past DistributedDataParallel, whose forward makes ready what joins the gradients: each process "
            f"trains with its own, and the weights of the processes drift apart, unsaid; call `{text}`",
            severity="error" if several and not several[0].is_weak else "warning",
            related=proof,
        )


# -- models without their wrapper -------------------------------------------------------------------------------------


def _bare_models(module: PythonModule) -> Iterator[_Bare]:
    for node in module.of(ast.Attribute):
        if isinstance(node.ctx, ast.Load) and node.attr == "module" and (wrapper := _wrapper(module, node.value)):
            yield _Bare(node, key_of(node.value), wrapper == "fsdp")
        elif isinstance(node.ctx, ast.Load) and node.attr == "model" and key_of(node) == "self.model":
            given = _given_to_step(module, node)
            if given:
                yield _Bare(node, given, False)
    for call in module.calls:
        if last_name(call.func) != "unwrap_model" or len(call.args) != 1 or not isinstance(call.func, ast.Attribute):
            continue
        owner = call.func.value
        is_own = constructor_of(module, owner) is not None or key_of(owner) == "self.accelerator"
        if is_own and (wrapper := _wrapper(module, call.args[0])):
            yield _Bare(call, key_of(call.args[0]), wrapper == "fsdp")


def _wrapper(module: PythonModule, node: ast.expr) -> str:
    """What an expression certainly is: "ddp" and "fsdp" for a model in that wrapper, "step" for one that `compute_loss`
    gets, "prepared" for what `prepare` returned; "" where nobody can tell.
    """
    key = key_of(node)
    for value in bindings(module).get(key, []) if key else []:
        origins = module.names.origins(value.func) if isinstance(value, ast.Call) else set()
        if origins and origins <= _FSDP | {_DDP}:
            return "fsdp" if origins <= _FSDP else "ddp"
    given = _given_to_step(module, node)
    if given:
        return "step" if key == given else ""
    return "prepared" if prepared_at(module, node) is not None else ""


def _given_to_step(module: PythonModule, node: ast.AST) -> str:
    """What the method around a node calls the model of the trainer: `model` in `compute_loss(self, model, inputs)`."""
    function = module.function(node)
    around = module.class_of(node)
    if function is None or function.name not in _STEPS or around is None or module.parents.get(function) is not around:
        return ""
    if not any(last_name(base).endswith("Trainer") for base in around.bases):
        return ""
    names = parameters(function)
    return names[1] if len(names) > 1 and not function.decorator_list else ""


# -- forwards ----------------------------------------------------------------------------------------------------------


def _forwards(module: PythonModule, bare: _Bare, project: Project) -> Iterator[tuple[ast.Call, _Inner]]:
    """The calls that run a model, each with the one that does so inside of a function of the project."""
    for use in (bare.node, *_uses_of_name(module, bare.node)):
        parent = module.parents.get(use)
        if isinstance(parent, ast.Call) and parent.func is use:
            yield parent, _Inner(parent, module, False)
        elif isinstance(parent, ast.Attribute) and parent.attr == "generate":
            call = module.parents.get(parent)
            if isinstance(call, ast.Call) and call.func is parent:
                yield call, _Inner(call, module, True)
        elif isinstance(parent, (ast.Call, ast.keyword)):
            call = module.parents.get(parent) if isinstance(parent, ast.keyword) else parent
            if isinstance(call, ast.Call):
                yield from ((call, inner) for inner in _inside(module, call, use, project))


def _uses_of_name(module: PythonModule, node: ast.expr) -> list[ast.Name]:
    """Where a name is used that gets the model, and nothing else, in this function: `bare = model.module`."""
    parent = module.parents.get(node)
    if isinstance(parent, ast.IfExp) and parent.test is not node:
        parent = module.parents.get(parent)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return []
    name, function = parent.targets[0].id, module.function(node)
    same = [one for one in module.named(name) if module.function(one) is function]
    if sum(isinstance(one.ctx, ast.Store) for one in same) != 1:
        return []
    return [one for one in same if isinstance(one.ctx, ast.Load) and one.lineno > parent.lineno]


def _inside(module: PythonModule, call: ast.Call, given: ast.expr, project: Project) -> Iterator[_Inner]:
    """The forwards in a function of the project that gets the model."""
    found = called_function(call, module, project)
    if found is None:
        return
    home, function = found
    names = parameters(function)
    index = next((at for at, one in enumerate(call.args) if one is given), None)
    named = next((one.arg for one in call.keywords if one.value is given), None)
    parameter = names[index] if index is not None and index < len(names) else named
    for node in nodes_in(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == parameter:
            yield _Inner(node, home, False)


# -- gradients ---------------------------------------------------------------------------------------------------------


def _is_recorded(module: PythonModule, call: ast.Call) -> bool:
    """Whether gradients are recorded at a call, as far as its functions and the blocks around it say."""
    for parent in module.ancestors(call):
        if isinstance(parent, (ast.With, ast.AsyncWith)):
            if any(mode_of_context(item.context_expr) not in (None, "grad") for item in parent.items):
                return False
        elif isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and mode_of(parent) not in (None, "grad"):
            return False
    return True


def _is_gathered(module: PythonModule, call: ast.Call) -> bool:
    withs = (one for one in module.ancestors(call) if isinstance(one, (ast.With, ast.AsyncWith)))
    return any("full_params" in ast.unparse(item.context_expr) for one in withs for item in one.items)


def _is_trained(module: PythonModule, call: ast.Call) -> bool:
    """Whether what a call gives reaches a `backward` in its function, or what `compute_loss` returns."""
    return module.statement(call) in _trained(module.function(call) or module.tree, module)


@per_module
def _trained(around: FunctionNode | ast.Module, module: PythonModule) -> frozenset[ast.stmt]:
    """The statements of a function whose values are trained, found from the last one up."""
    statements = [one for one in nodes_in(around) if isinstance(one, ast.stmt) and not hasattr(one, "body")]
    found: set[ast.stmt] = set()
    wanted: set[str] = set()
    for statement in sorted(statements, key=lambda one: (one.lineno, one.col_offset), reverse=True):
        inside = list(ast.walk(statement))
        is_return = isinstance(statement, ast.Return)
        ends = bool(_given_to_step(module, statement)) if is_return else _goes_back(inside)
        names = [one for one in inside if isinstance(one, ast.Name)]
        given = {one.id for one in names if isinstance(one.ctx, ast.Store)} | {*map(_appended_to, inside)}
        if ends or not given.isdisjoint(wanted):
            found.add(statement)
            wanted |= {one.id for one in names if isinstance(one.ctx, ast.Load)}
    return frozenset(found)


def _goes_back(nodes: list[ast.AST]) -> bool:
    return any(isinstance(one, ast.Call) and last_name(one.func) == "backward" for one in nodes)


def _appended_to(node: ast.AST) -> str:
    """The list that a call appends to, "" for anything else."""
    func = node.func if isinstance(node, ast.Call) else None
    return key_of(func.value) if isinstance(func, ast.Attribute) and func.attr == "append" else ""


rule = ForwardPastWrapper()
