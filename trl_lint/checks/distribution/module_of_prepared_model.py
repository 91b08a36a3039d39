"""TRL114: `.module` of a model that `Accelerator.prepare` returned, which has none where nothing wraps it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trl_lint.checks._runs import runs_of
from trl_lint.checks.distribution._accelerators import (
    Evidence,
    Prepared,
    backend_of,
    is_visible,
    parameters,
    prepared_at,
    stores,
)
from trl_lint.checks.distribution.several_models_in_one_prepare import makes_model
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Fix, Location
from trl_lint.paths import is_test_file
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.modules import imported_name
from trl_lint.python.guards import bindings, key_of, last_name
from trl_lint.python.module import FUNCTIONS, PythonModule, nodes_in
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting
from trl_lint.run.runs import run_of

# A test about any of these may be the guard.
_ABOUT_WRAPPING = regex(
    r"module|wrap|process|distribut|world|rank|ddp|gpu|multi|parallel|deepspeed|zero|fsdp|device_count", re.I
)
_GUARDS = frozenset({"hasattr", "isinstance", "getattr", "type", "setattr"})
_KEEPING = frozenset({"to", "cuda", "train", "eval", "half", "float", "bfloat16", "requires_grad_"})
_MAKERS = frozenset({"peft.get_peft_model", "peft.prepare_model_for_kbit_training"})


class ModuleOfPreparedModel(Rule):
    code = "TRL114"
    imports = ("accelerate",)
    needles = (b".module",)
    skips_tests = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if is_test_file(module.path):
            return
        for node in sorted(module.of(ast.Attribute), key=lambda one: (one.lineno, one.col_offset)):
            if node.attr != "module" or not isinstance(node.ctx, ast.Load):
                continue
            prepared = prepared_at(module, node.value)
            if prepared is None or is_guarded(module, node) or not is_plain_model(module, prepared.value, project):
                continue
            runs = [read_wrapping(launch, module, project) for launch in runs_of(module.path, project)]
            bare = [evidence for evidence in runs if evidence is not None and evidence.kind == "bare"]
            if not bare and runs and all(evidence is not None for evidence in runs):
                continue  # every run wraps it
            yield self._finding(module, node, prepared, min(bare, key=lambda one: one.is_weak, default=None))

    def _finding(
        self, module: PythonModule, node: ast.Attribute, prepared: Prepared, evidence: Evidence | None
    ) -> Finding:
        name, severity = module.segment(node.value), self.page.severity
        when = "on one process or under FSDP2"
        related: tuple[Location, ...] = (module.location(prepared.statement.value, "prepared here"),)
        if evidence is not None:
            severity = "warning" if evidence.is_weak else "error"
            when, related = "in this run", (evidence.location, *related)
        return self.finding(
            module.location(node),
            f"`{name}` has no `module` {when}, where `prepare` returns the model itself: use `unwrap_model`",
            severity=severity,
            related=related,
            fix=edit_module(module, node, prepared),
        )


def edit_module(module: PythonModule, node: ast.Attribute, prepared: Prepared) -> Fix | None:
    owner = key_of(prepared.accelerator)
    if not is_visible(module, owner, node):
        return None
    text = f"{owner}.unwrap_model({module.segment(node.value)})"
    return Fix(f"Use `{owner}.unwrap_model`", "unsafe", (module.source.edit(*module.span(node), text),))


def is_guarded(module: PythonModule, node: ast.Attribute) -> bool:
    """Whether anything around a `.module`, or before it in its function, may know whether the model is wrapped."""
    child: ast.AST = node
    around: ast.AST = module.tree
    for parent in module.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            around = parent
            break
        if isinstance(parent, (ast.If, ast.IfExp, ast.While)) and child is not parent.test and may_know(parent.test):
            return True
        if isinstance(parent, (ast.BoolOp, ast.Lambda)) or (isinstance(parent, ast.Try) and child in parent.body):
            return True
        child = parent
    key = key_of(node.value)
    return any(asks_for(other, key) or leaves_before(other, node) for other in nodes_in(around))


def asks_for(node: ast.AST, key: str) -> bool:
    """`hasattr(model, …)`, `isinstance(model, …)` and their like."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in _GUARDS:
        return False
    return any(key_of(arg) == key for arg in node.args)


def leaves_before(node: ast.AST, place: ast.Attribute) -> bool:
    """A test before a place that stops, or turns back, where the model may not be wrapped.

    Not one that asks for more: `if config.both and world_size > 1: raise` lets the others pass.
    """
    if not isinstance(node, (ast.If, ast.Assert)) or node.lineno >= place.lineno or not may_know(node.test):
        return False
    if isinstance(node, ast.If) and isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
        return False
    return isinstance(node, ast.Assert) or isinstance(node.body[-1], (ast.Return, ast.Raise, ast.Continue))


def may_know(test: ast.expr) -> bool:
    """Whether a test may be about how the model is wrapped.

    Which process this is says nothing about that, nor what is asked of the unwrapped model, but for which one it is.
    """
    text = re.sub(r"is_(?:local_)?main_process", "", ast.unparse(test))
    if " is " not in text:
        text = text.replace("unwrap_model", "")
    return _ABOUT_WRAPPING.search(text) is not None


# -- the model --------------------------------------------------------------------------------------------------------


def is_plain_model(module: PythonModule, node: ast.expr, project: Project) -> bool:
    """Whether what was handed to `prepare` certainly is a model of a class that has no `module` of its own."""
    key = key_of(node)
    function = module.function(node)
    if function is not None and key in parameters(function):
        return False
    values = [
        value
        for value in bindings(module).get(key, [])
        if ("." in key or module.function(value) is function) and last_name(value) not in ("prepare", "prepare_model")
    ]
    kinds = [_kind(module, value, key, project) for value in values]
    return "model" in kinds and "" not in kinds


def _kind(module: PythonModule, value: ast.expr, key: str, project: Project) -> str:
    """ "model", "same" for what gives back the model it got, or "" for anything else."""
    if not isinstance(value, ast.Call):
        return ""
    func = value.func
    if isinstance(func, ast.Attribute) and func.attr in _KEEPING:
        return "same" if key_of(func.value) == key else _kind(module, func.value, key, project)
    if module.names.is_certain(func) and module.names.origins(func) & _MAKERS and value.args:
        return "same" if key_of(value.args[0]) == key else ""
    if is_module_class(module, func, project) or (isinstance(func, ast.Attribute) and makes_model(module, value)):
        return "model"
    return ""


def is_module_class(module: PythonModule, func: ast.expr, project: Project) -> bool:
    """Whether a name is a class of the project that extends `nn.Module` alone, in a file that sets no `module`."""
    found = imported_name(module, func, project)
    home, name = found if found is not None else (module, key_of(func))
    own = [node for node in home.classes if node.name == name]
    if len(own) != 1 or not own[0].bases:
        return False
    if any(home.names.origins(base) != {"torch.nn.Module"} for base in own[0].bases):
        return False
    if any(function.name in ("module", "__getattr__") for function in home.functions):
        return False
    return not stores(home, "self.module") and all(home.function(store) for store in stores(home, "module"))


# -- the runs ---------------------------------------------------------------------------------------------------------


def read_wrapping(launch: Launch, module: PythonModule, project: Project) -> Evidence | None:
    """Whether a run certainly wraps the model ("wrapped"), certainly does not ("bare"), or, None, nobody can tell."""
    is_weak = launch.is_documentation or launch.script_path != module.path
    if launch.launcher == "accelerate":
        backend = backend_of(launch, project)
        if backend is not None:
            return backend._replace(kind="bare" if backend.kind == "FSDP2" else "wrapped", is_weak=is_weak)
        if "--use_fsdp" in launch.options or "--tpu" in launch.options:
            return None  # of which version, and whether anything else says so, is not followed
    count = run_of(launch, project).processes
    if not isinstance(count, Setting) or count.integer is None:
        return None
    is_single = count.integer == 1
    place = launch.location._replace(message="this run has one process" if is_single else "this run has several")
    return Evidence("bare" if is_single else "wrapped", place, is_weak)


rule = ModuleOfPreparedModel()
