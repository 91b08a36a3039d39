"""What is known about FSDP: tests that ask for it, and runs that use it.

`assume` says what of a module can run when FSDP is on or off.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from trl_lint.checks._runs import runs_of
from trl_lint.finding import Location
from trl_lint.memos import per_module, per_project
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.paths import is_test_file
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launch_table import all_launches
from trl_lint.project.launches import Launch
from trl_lint.python.guards import Assumption, Atom, Truth, bindings, evaluate, key_of, last_name
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument, is_none
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting, as_bool, of_document
from trl_lint.run.runs import run_of
from trl_lint.sources import SourceError

_FSDP_FLAG = regex(r"_*(?:is|use|using|has|with)?_?fsdp(?:_enabled|_plugin|_training)?")
_DEEPSPEED_FLAG = regex(
    r"_*(?:is|use|using|has|with)?_?(?:deepspeed|zero3|deepspeed_zero3)(?:_enabled|_plugin|_training)?"
)
_SYMBOLS_DEEP = 3  # from name to name; then a test is unknown
# Words a command line gives for "off"; every other value of `--fsdp` switches it on.
_OFF = frozenset({"", "no", "none", "false", "False", "0"})


def mentions_fsdp(test: ast.expr) -> bool:
    """Whether a test speaks about FSDP in any way at all."""
    return "fsdp" in ast.unparse(test).lower()


@per_module
def assume(fsdp: bool, module: PythonModule) -> Assumption:
    """That FSDP is on, or off."""
    return Assumption(module, atom_for(module, fsdp), mentions_fsdp)


def atom_for(module: PythonModule, fsdp: bool) -> Atom:
    """The atom for a run with FSDP on or off. Under FSDP, DeepSpeed is off; without FSDP nothing else is known."""
    return partial(_truth, module, fsdp, 0)


def _truth(module: PythonModule, fsdp: bool, depth: int, test: ast.expr) -> Truth:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test.left, test.ops[0], test.comparators[0], fsdp)
    asked = _asked_by_getattr(test)
    if asked is not None:
        return _flag(asked, fsdp)
    if isinstance(test, (ast.Name, ast.Attribute)):
        values = bindings(module).get(key_of(test), [])
        if values and depth < _SYMBOLS_DEEP and not isinstance(values[0], ast.Constant):
            truths = {evaluate(value, partial(_truth, module, fsdp, depth + 1)) for value in values}
            if len(truths) == 1 and None not in truths:
                return truths.pop()
    if isinstance(test, (ast.Name, ast.Attribute, ast.Call)):
        return _flag(last_name(test), fsdp)
    return None


def _flag(name: str, fsdp: bool) -> Truth:
    if _FSDP_FLAG.fullmatch(name):
        return fsdp
    return False if fsdp and _DEEPSPEED_FLAG.fullmatch(name) else None


def _asked_by_getattr(test: ast.expr) -> str | None:
    """The name in `getattr(owner, "name", …)`, None for all else."""
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "getattr":
        name = test.args[1] if len(test.args) > 1 else None
        return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None
    return None


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, fsdp: bool) -> Truth:
    if isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) and isinstance(right, ast.Constant):
        positive = isinstance(op, (ast.Is, ast.Eq))
        asked = _asked_by_getattr(left)
        name = last_name(left) if asked is None else asked
        if right.value is None or isinstance(right.value, bool):
            truth = _flag(name, fsdp)
            return None if truth is None else truth is (positive is bool(right.value))
    if isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        positive = isinstance(op, (ast.Eq, ast.Is))
        if last_name(right) == "distributed_type":
            left, right = right, left
        named = _distributed_type(right) if last_name(left) == "distributed_type" else None
        if named is None or (not fsdp and named != "FSDP"):
            return None
        return ((named == "FSDP") is fsdp) is positive
    if isinstance(op, (ast.In, ast.NotIn)) and last_name(left) == "distributed_type":
        positive = isinstance(op, ast.In)
        if not isinstance(right, (ast.Tuple, ast.List, ast.Set)):
            return None
        names = [_distributed_type(item) for item in right.elts]
        if None in names or not (fsdp or names == ["FSDP"]):
            return None
        return ("FSDP" in names and fsdp) is positive
    return None


def _distributed_type(node: ast.expr) -> str | None:
    """The member of accelerate's DistributedType that is written here, as a member or as its string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.rpartition(".")[2]
    if isinstance(node, ast.Attribute) and last_name(node.value) == "DistributedType":
        return node.attr
    return None


# -- runs -----------------------------------------------------------------------------------------------------------


class FsdpRun(NamedTuple):
    """Evidence that a script runs under FSDP; `rank0_loads` says whether only rank 0 loads weights (None: unknown)."""

    location: Location
    rank0_loads: bool | None


def fsdp_runs(module: PythonModule, project: Project) -> list[FsdpRun]:
    """Every piece of evidence that this module runs under FSDP: in itself, or in a launch that reaches it."""
    return [*_runs_in_module(module), *_runs_in_launches(module, project)]


# FSDP asked for in Python: an argument of the training arguments, or a plugin for the Accelerator.
_ASKS = rb"[(,]\s*(?:fsdp_plugin\s*=(?!=)(?!\s*None)|fsdp\s*=\s*(?:[\"'][a-z]|\[\s*[\"']|True\b))"


@per_project
def project_fsdp(project: Project) -> Location | None:
    """A place of the project that sets up FSDP for whatever run: a config, a recipe, a command, an argument."""
    return next(_set_up(project), None)


def _set_up(project: Project) -> Iterator[Location]:
    from trl_lint.knowledge.families import OTHER, document_kinds

    for config in project.documents("accelerate"):
        said = of_document(config, "distributed_type")
        if isinstance(said, Setting) and said.value == "FSDP" and said.location is not None:
            yield said.location._replace(message="this run uses FSDP")
    recipes = (kind.kind for kind in (*document_kinds(), OTHER) if kind.recipe)
    for kind in recipes:
        yield from (place for document in project.documents(kind) if (place := _in_recipe(document)) is not None)
    for launch in (*all_launches(project, b"--use_fsdp"), *all_launches(project, b"--fsdp")):
        if "--use_fsdp" in launch.options or _is_on(launch):
            yield _by_option(launch).location
    for path in project.paths:
        with suppress(OSError, SourceError):
            if path.endswith(".py") and not is_test_file(path) and project.files.fits(path, _ASKS):
                yield Location(path, 0, 0, "FSDP is set up here")


def _runs_in_module(module: PythonModule) -> list[FsdpRun]:
    found = []
    for call in module.calls:
        for keyword in call.keywords:
            if keyword.arg == "fsdp" and re.search(r"(?:Config|Arguments)$", last_name(call.func)):
                value = module.value(keyword.value)
                if value is not UNKNOWN and value:
                    found.append(
                        FsdpRun(module.location(keyword, "the run uses FSDP"), _rank0_in_arguments(call, module))
                    )
            elif keyword.arg == "fsdp_plugin" and last_name(call.func) == "Accelerator" and not is_none(keyword.value):
                found.append(FsdpRun(module.location(keyword, "the run uses FSDP"), None))
    return found


def _rank0_in_arguments(call: ast.Call, module: PythonModule) -> bool | None:
    """The `cpu_ram_efficient_loading` of TrainingArguments(fsdp_config=), which defaults to False (4.49, 5.23 read)."""
    config = argument(call, "fsdp_config")
    if config is ABSENT:
        return False
    value = module.value(config)
    if not isinstance(value, dict):
        return None
    given = value.get("cpu_ram_efficient_loading", value.get("fsdp_cpu_ram_efficient_loading", False))
    return as_bool(str(given))


def _runs_in_launches(module: PythonModule, project: Project) -> list[FsdpRun]:
    runs = (_run_of(launch, project) for launch in runs_of(module.path, project))
    return [run for run in runs if run is not None]


def _run_of(launch: Launch, project: Project) -> FsdpRun | None:
    """Whether a launch starts its script under FSDP, by its accelerate config or its own options."""
    config = run_of(launch, project).configs.accelerate
    kind = config.given("distributed_type") if launch.launcher == "accelerate" else ABSENT
    if isinstance(kind, Setting):
        if kind.value != "FSDP" or kind.location is None:
            return None
        # `accelerate launch` has "true" as the default of the option behind the key (1.6.0 and 1.15.0 read).
        loads = config.given("fsdp_config.fsdp_cpu_ram_efficient_loading")
        rank0 = True if loads is ABSENT else loads.truth if isinstance(loads, Setting) else None
        return FsdpRun(kind.location._replace(message="this run uses FSDP"), rank0)
    flag = launch.flag("--fsdp")
    if not isinstance(flag, Missing):
        return _by_option(launch) if _is_on(launch) else None
    return _run_of_recipe(launch, project) if flag is ABSENT else None


def _by_option(launch: Launch) -> FsdpRun:
    return FsdpRun(launch.location._replace(message="this launch uses FSDP"), None)


def _is_on(launch: Launch) -> bool:
    """Whether the script of a launch is told to use FSDP."""
    flag = launch.flag("--fsdp")
    return not isinstance(flag, Missing) and flag.text is not None and flag.text.strip() not in _OFF


def _run_of_recipe(launch: Launch, project: Project) -> FsdpRun | None:
    """Whether the recipe a launch reads (`--config recipe.yaml`) has an `fsdp` that is on."""
    document = run_of(launch, project).recipe
    place = _in_recipe(document) if document is not None else None
    return FsdpRun(place, None) if place is not None else None


def _in_recipe(document: Document) -> Location | None:
    """Where a recipe switches FSDP on: with a text, or with a list of them."""
    from trl_lint.sources.nodes import Sequence, find_entry

    key = document.definition.holds.fsdp
    entry = find_entry(document.root, key) if key else None
    if entry is None:
        return None
    is_on = bool(entry.value.items) if isinstance(entry.value, Sequence) else False
    is_on = is_on or str(document.value(key) or "") not in _OFF
    return document.place(entry, "this run uses FSDP") if is_on else None
