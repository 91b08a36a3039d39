"""TRL113: `loss.backward()` where the optimizer was prepared by an Accelerator, whose `backward` nothing calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trl_lint.checks._runs import runs_of
from trl_lint.checks.distribution._accelerators import (
    Evidence,
    Prepared,
    backend_of,
    constructor_of,
    is_visible,
    prepared_at,
)
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding, Fix, Location, Severity
from trl_lint.grading import milder
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.paths import is_test_file
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.python.guards import calls_by_function, key_of, last_name
from trl_lint.python.module import FunctionNode, PythonModule, nodes_in
from trl_lint.python.values import argument, is_none
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting
from trl_lint.run.runs import run_of

_OPTIMIZER = regex(r"opt(?!ion)", re.I)
_SCHEDULER = regex(r"sched", re.I)
# Names of a loop that scales its loss itself, or gives it to somebody else.
_OWN_WAY = regex(r"scaler|scale_loss|loss_scale|fabric|lightning|manual_backward|\bamp\b", re.I)
# A branch that knows how the run is made may be for another run.
_ABOUT_RUNS = regex(r"accelerat|deepspeed|zero|fp16|half|precision|amp\b|distribut|scaler|ddp|fsdp", re.I)
_MESSAGES = {
    "DeepSpeed": "under DeepSpeed `{step}` does nothing, the engine steps in `{owner}.backward`, and nothing calls "
    "that: the weights never change",
    "fp16": "in fp16 `{step}` needs the scale that `{owner}.backward` sets, and nothing calls that: the first step "
    "stops with an AssertionError",
    "accumulation": "`{owner}.backward` divides the loss by `gradient_accumulation_steps`, which `{loss}.backward()` "
    "does not, so the gradients are {steps} times too large: call `{owner}.backward`",
    "": "`{loss}.backward()` goes past `{owner}`: a launch with fp16 stops at the first step, and one with DeepSpeed "
    "never changes the weights; call `{owner}.backward`",
}


class Step(NamedTuple):
    """The step of the prepared optimizer that takes the gradients, and how the optimizer was prepared."""

    call: ast.Call
    prepared: Prepared


class BackwardPastAccelerator(Rule):
    code = "TRL113"
    triggers = (".backward",)
    needles = (b".prepare(", b".prepare_optimizer(")
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        step = read_step(site)
        evidence = read_evidence(site, step) if step is not None else None
        if step is None or evidence is None or not isinstance(site.call.func, ast.Attribute):
            return
        module, made = site.module, constructor_of(site.module, step.prepared.accelerator)
        steps = argument(made, "gradient_accumulation_steps") if made is not None else ABSENT
        message = _MESSAGES[evidence.kind].format(
            step=module.segment(step.call),
            owner=key_of(step.prepared.accelerator),
            loss=module.segment(site.call.func.value),
            steps=module.segment(steps) if isinstance(steps, ast.expr) else "",
        )
        related: tuple[Location, ...] = (
            module.location(step.prepared.statement.value, "the optimizer is prepared here"),
        )
        if evidence.kind:
            related = (evidence.location, *related)
        yield self.finding(
            site.location,
            message,
            severity=severity_of(evidence),
            related=related,
            fix=edit_backward(site, step, evidence),
        )


def severity_of(evidence: Evidence) -> Severity:
    levels: dict[str, Severity] = {"accumulation": "warning", "": "info"}
    level = levels.get(evidence.kind, "error")
    return milder(level, evidence.is_weak)


# -- the loop ---------------------------------------------------------------------------------------------------------


def read_step(site: Site) -> Step | None:
    """The step that follows `loss.backward()`, where the only optimizers of the function were all prepared."""
    module, call = site.module, site.call
    if call.args or not isinstance(call.func, ast.Attribute) or not is_loss(call.func.value):
        return None
    if is_test_file(module.path):
        return None  # which compares the two, as those of accelerate do
    return None if is_about_runs(module, call) else _step_in(module.function(call), module)


@per_module
def _step_in(function: FunctionNode | None, module: PythonModule) -> Step | None:
    """The first step of a function, if its only optimizers were all prepared."""
    calls = calls_by_function(module).get(function, [])
    if goes_own_way(calls, function if function is not None else module.tree):
        return None
    steps = [(one, one.func.value) for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr == "step"]
    found = []
    for one, owner in steps:
        name = last_name(owner)
        if _SCHEDULER.search(name) or (one.args and not _OPTIMIZER.search(name)):
            continue  # `env.step(action)`, `ema.step(parameters)`
        prepared = prepared_at(module, owner) if _OPTIMIZER.search(name) else None
        if prepared is None:
            return None  # an optimizer of its own, or an engine
        found.append(Step(one, prepared))
    return found[0] if found else None


def is_loss(node: ast.expr) -> bool:
    """Whether an expression is a loss by its name; what a call returns may be scaled."""
    parts = (ast.Name, ast.Attribute, ast.BinOp, ast.Subscript)
    return isinstance(node, parts) and "loss" in ast.unparse(node).lower() and not _OWN_WAY.search(ast.unparse(node))


def is_about_runs(module: PythonModule, call: ast.Call) -> bool:
    for parent in module.ancestors(call):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        if isinstance(parent, (ast.If, ast.IfExp)) and _ABOUT_RUNS.search(ast.unparse(parent.test)):
            return True
    return False


def goes_own_way(calls: list[ast.Call], around: ast.AST) -> bool:
    """Whether a function also hands a loss to an accelerator or an engine, or scales it itself."""
    if any(isinstance(one.func, ast.Attribute) and one.func.attr == "backward" and one.args for one in calls):
        return True
    return any(
        _OWN_WAY.search(node.id if isinstance(node, ast.Name) else node.attr)
        for node in nodes_in(around)
        if isinstance(node, (ast.Name, ast.Attribute))
    )


# -- what the run is made with ----------------------------------------------------------------------------------------


def read_evidence(site: Site, step: Step) -> Evidence | None:
    """What makes it wrong: the accelerator's arguments, then the launches; None where the accelerator rules it out.

    The kind is "" where nothing is known, and the launch decides.
    """
    module = site.module
    made = constructor_of(module, step.prepared.accelerator)
    if made is None:
        return None
    plugin, precision = argument(made, "deepspeed_plugin"), argument(made, "mixed_precision")
    if isinstance(plugin, ast.Call):
        return Evidence("DeepSpeed", module.location(plugin, "DeepSpeed is chosen here"))
    if isinstance(precision, ast.expr) and module.value(precision) == "fp16":
        return Evidence("fp16", module.location(precision, "fp16 is chosen here"))
    launches = runs_of(module.path, site.project)
    found = [
        one._replace(is_weak=one.is_weak or launch.script_path != module.path)
        for launch in launches
        if (one := of_launch(launch, site.project, precision)) is not None
    ]
    if found:
        return min(found, key=lambda one: one.is_weak)
    if (accumulated := read_accumulation(site, made)) is not None:
        return accumulated
    is_open = precision is ABSENT or module.value(precision) in (None, UNKNOWN)
    return Evidence("", module.location(made)) if is_open and not made.args else None


def of_launch(launch: Launch, project: Project, precision: ast.expr | Missing) -> Evidence | None:
    """DeepSpeed or, where the code leaves the precision to the launch or to a flag of its own, fp16."""
    word = launch.flag(f"--{precision.attr}") if isinstance(precision, ast.Attribute) else ABSENT
    if not isinstance(word, Missing):
        place = launch.source.location(word.start, word.end, "this run chooses fp16")
        return Evidence("fp16", place, launch.is_documentation) if word.text == "fp16" else None
    if launch.launcher != "accelerate":
        return None
    backend = backend_of(launch, project)
    if backend is not None and backend.kind == "DeepSpeed":
        return backend
    is_open = precision is ABSENT or (isinstance(precision, ast.expr) and is_none(precision))
    if not is_open or "--cpu" in launch.options:
        return None
    config = run_of(launch, project).configs.accelerate
    said, on_cpu = config.given("mixed_precision"), config.given("use_cpu")
    if not isinstance(said, Setting) or said.value != "fp16" or said.location is None:
        return None
    if isinstance(on_cpu, Setting) and on_cpu.truth is not False:
        return None
    return Evidence("fp16", said.location._replace(message="this run uses fp16"), launch.is_documentation)


def read_accumulation(site: Site, made: ast.Call) -> Evidence | None:
    """The steps of an accelerator, where the loss that was not divided stands in its `accumulate`."""
    module, call = site.module, site.call
    steps = argument(made, "gradient_accumulation_steps")
    if not isinstance(steps, ast.expr) or module.value(steps) in (None, 1):
        return None
    blocks = [parent for parent in module.ancestors(call) if isinstance(parent, ast.With)]
    if not any("accumulate" in ast.unparse(item.context_expr) for block in blocks for item in block.items):
        return None
    names = {last_name(part) for part in nodes_in(call.func) if isinstance(part, (ast.Name, ast.Attribute))}
    if any(divides_loss(node, names | {"loss"}) for node in nodes_in(module.function(call) or module.tree)):
        return None
    return Evidence("accumulation", module.location(steps, "the steps are given here"))


def divides_loss(node: ast.AST, names: set[str]) -> bool:
    """Whether a division may be the one that accumulation asks for."""
    if not isinstance(node, (ast.BinOp, ast.AugAssign)) or not isinstance(node.op, (ast.Div, ast.Mult)):
        return False
    parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    found = {last_name(one) for part in parts for one in nodes_in(part) if isinstance(one, (ast.Name, ast.Attribute))}
    return not found.isdisjoint(names) and "item" not in found  # not the number for a log


# -- the fix ----------------------------------------------------------------------------------------------------------


def edit_backward(site: Site, step: Step, evidence: Evidence) -> Fix | None:
    """`accelerator.backward(loss)`; safe where the run that is proved cannot work now, and no other changes."""
    module, call = site.module, site.call
    owner = key_of(step.prepared.accelerator)
    if call.keywords or not isinstance(call.func, ast.Attribute) or not is_visible(module, owner, call):
        return None
    loss = module.segment(call.func.value)
    if "\n" in loss or "#" in loss:
        return None
    made = constructor_of(module, step.prepared.accelerator)
    divides = made is None or argument(made, "gradient_accumulation_steps") is not ABSENT or bool(made.args)
    is_safe = evidence.kind in ("DeepSpeed", "fp16") and not divides and not evidence.is_weak
    edit = module.source.edit(*module.span(call), f"{owner}.backward({loss})")
    return Fix(f"Call `{owner}.backward`", "safe" if is_safe else "unsafe", (edit,))


rule = BackwardPastAccelerator()
