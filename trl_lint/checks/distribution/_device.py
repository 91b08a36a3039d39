"""What the device rules share: the analysis of a module, run for the functions that a factory call reaches."""

from __future__ import annotations

import ast
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from trl_lint.checks.rule import Site
from trl_lint.finding import Fix
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.paths import is_test_file
from trl_lint.python.guards import call_sites
from trl_lint.python.module import FUNCTIONS, FunctionNode, PythonModule
from trl_lint.python.values import argument, default_of, is_none
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.python.dataflow.conflicts import Conflict, ConflictKind
    from trl_lint.python.dataflow.device import Found
    from trl_lint.python.dataflow.device_across_calls import Resolver

# Code that prepares data on the CPU by design; the loader or the trainer moves the batch later.
_CPU_BY_DESIGN = regex(
    r"collat|dataset|tokeniz|process(?:or|ing)|feature_?extract|sampler|rollout_worker|_on_cpu|to_cpu|pack|dataloader",
    re.I,
)
# A mixin of a trainer may be about packing or sampling without the trainer being a loader of data.
_CPU_BASES = regex(r"collat|dataset|tokeniz|process(?:or|ing)|feature_?extract|sampler$|dataloader", re.I)
# The front of an inference engine gets and gives lists of tokens.
_TOKEN_ENGINE = regex(r"vllm|sglang", re.I)
_DEFAULT_DEVICE = regex(rb"set_default_device|set_default_tensor_type")
# Words of accelerators, or the names under which a language model gets its batch: nobody trains one on the CPU.
_ACCELERATOR = regex(
    rb"cuda|accelerat|\bdevice\b|deepspeed|distributed|(?<![a-z])(?:npu|xpu)|\b(?:input_ids|attention_mask|prediction_step)\b"
)


_CALLERS_AWAY = 2
_SORTS: tuple[ConflictKind, ...] = ("mix", "index", "collective")


def conflicts_of(site: Site, conflict_kind: ConflictKind) -> list[Conflict]:
    """Where the tensor that a call makes is met in this way, in its own function or in one that got it from there.

    The best evidence comes first.
    """
    module, factory = site.module, site.call
    function = module.function(factory)
    if function is None or not may_be_on_cpu(factory, function):
        return []
    around = _around(module, function, factory)
    if not around:
        return []
    met = _conflicts_in(module, tuple(around), site.project)
    found = [conflict for conflict in met.get((factory, conflict_kind), ()) if _may_happen(conflict, site.project)]
    return sorted(found, key=lambda conflict: conflict.strength)


@per_module
def _conflicts_in(
    module: PythonModule, around: tuple[FunctionNode, ...], project: Project
) -> dict[tuple[ast.AST, ConflictKind], list[Conflict]]:
    """The certain conflicts in some functions, by what made the tensor and by their kind."""
    from trl_lint.python.dataflow.device import certain

    found: dict[tuple[ast.AST, ConflictKind], list[Conflict]] = {}
    for conflict in certain([function_conflicts(module, root, project) for root in around]):
        found.setdefault((conflict.factory, conflict.conflict_kind), []).append(conflict)
    return found


def read_conflict(site: Site, conflict_kind: ConflictKind) -> Conflict | None:
    """The first conflict of a kind that the tensor of a call has, None where one of another kind comes before it.

    One missing device is one finding (TRL103, TRL104 or TRL105), about the operation that fails first.
    """
    if argument(site.call, "device") is UNKNOWN or not is_for_accelerators(site.module):
        return None
    sorts = _SORTS if not is_placed(site.call) else ("collective",)
    found = {
        one: [conflict for conflict in conflicts_of(site, one) if one != "index" or conflict.is_certain]
        for one in sorts
    }
    mine = next(iter(found.get(conflict_kind, ())), None)
    if mine is None:
        return None
    ends = {one: min(map(_end, mixes)) for one, mixes in found.items() if mixes}
    return mine if min(ends, key=ends.__getitem__) == conflict_kind else None


def _end(conflict: Conflict) -> tuple[int, int]:
    """What is inside of another operation ends before it, and runs before it."""
    return (conflict.node.end_lineno or 0, conflict.node.end_col_offset or 0)


def may_be_on_cpu(factory: ast.Call, function: FunctionNode) -> bool:
    """Whether a factory call names no device, or one that is None unless the function's caller gives it."""
    place = argument(factory, "device")
    if isinstance(place, ast.Name):
        return is_none(default_of(function, place.id))
    return place is ABSENT or (isinstance(place, ast.expr) and is_none(place))


def certain_conflicts(analyses: list[Found], conflict_kind: ConflictKind) -> list[Conflict]:
    """The conflicts of one kind that some analyses together leave certain."""
    from trl_lint.python.dataflow.device import certain

    return [conflict for conflict in certain(analyses) if conflict.conflict_kind == conflict_kind]


def _may_happen(conflict: Conflict, project: Project) -> bool:
    """Whether a conflict is met where tensors are on an accelerator, as far as the code around it says."""
    from trl_lint.checks.distribution._cuda_guards import runs_without_accelerator

    return not is_prepared(conflict) and not (
        runs_without_accelerator(conflict.place, conflict.written, project)
        or runs_without_accelerator(conflict.source, conflict.factory, project)
    )


def is_prepared(conflict: Conflict) -> bool:
    """Whether the tensor is made, or met, where tensors are on the CPU by design."""
    functions = [(conflict.place, conflict.function)]
    if not conflict.is_state:
        functions.append((conflict.source, conflict.source.function(conflict.factory)))
    return any(function is None or _is_by_design(module, function) for module, function in functions)


def _around(module: PythonModule, function: FunctionNode, factory: ast.Call) -> list[FunctionNode]:
    """The functions in which what one of them makes may be met: itself, its callers, the methods of what it begins.

    None where tensors are on the CPU by design, unless the tensor stays in the object for its methods to find.
    """
    from trl_lint.python.dataflow.device import is_left_in_state

    owner = module.parents.get(function)
    is_left = isinstance(owner, ast.ClassDef) and is_left_in_state(module, function, factory)
    if not is_left and _is_by_design(module, function):
        return []
    methods: list[FunctionNode] = []
    if is_left and isinstance(owner, ast.ClassDef):
        methods = [item for item in owner.body if isinstance(item, FUNCTIONS) and item is not function]
    return [function, *_callers(module, function), *methods]


def _is_by_design(module: PythonModule, function: FunctionNode) -> bool:
    from trl_lint.python.dataflow.readings import under_default_device

    return is_cpu_by_design(module, function) or function.name in under_default_device(module)


@per_module
def _callers(module: PythonModule, function: FunctionNode) -> list[FunctionNode]:
    """The functions of the module that call this one, directly or over another."""
    found: list[FunctionNode] = []
    level = [function]
    for _ in range(_CALLERS_AWAY):
        sites = [site for callee in level for site in call_sites(module, callee)]
        around = dict.fromkeys(caller for site in sites if (caller := module.function(site)) is not None)
        level = [caller for caller in around if caller not in found and caller is not function]
        found.extend(level)
    return found


@per_module
def function_conflicts(module: PythonModule, function: FunctionNode, project: Project) -> Found:
    """The conflicts in a function, computed once for all its factory calls; functions it imports are followed."""
    from trl_lint.python.dataflow.device import device_conflicts

    return device_conflicts(module, function, resolver_of(project))


def resolver_of(project: Project) -> Resolver:
    """What finds the functions that a module imports from the project, as far as they may be believed."""
    from trl_lint.project.modules import imported_name

    def resolver(importer: PythonModule, node: ast.expr) -> tuple[PythonModule, str] | None:
        found = imported_name(importer, node, project)
        return found if found is not None and is_followed(found[0]) else None

    return resolver


@per_module
def is_followed(module: PythonModule) -> bool:
    """Whether what a module says about tensors may be believed where another one imports it."""
    return is_followed_file(module.path, module.source.file.data)


def is_followed_file(path: str, data: bytes) -> bool:
    return b"torch" in data and not is_test_file(path) and _DEFAULT_DEVICE.search(data) is None


def is_placed(call: ast.Call) -> bool:
    """Whether a factory call names a device, at once and for certain: its tensor need not be followed.

    A variable or an attribute of `self` may hold None, which is the CPU.
    """
    place = argument(call, "device")
    if isinstance(place, ast.Attribute):
        return place.attr == "device" and not (isinstance(place.value, ast.Name) and place.value.id == "self")
    return isinstance(place, ast.Constant) and isinstance(place.value, str)


@per_module
def is_for_accelerators(module: PythonModule) -> bool:
    """Whether a file is about accelerators at all, and leaves the default device where it is."""
    return not is_test_file(module.path) and is_about_accelerators(module.source.file.data)


@lru_cache(maxsize=4)  # several rules ask it of each file
def is_about_accelerators(data: bytes) -> bool:
    return _ACCELERATOR.search(data) is not None and _DEFAULT_DEVICE.search(data) is None


@per_module
def is_cpu_by_design(module: PythonModule, function: FunctionNode) -> bool:
    """Collators, datasets, tokenisation: tensors stay on the CPU there, and constructors build modules on it."""
    if function.name == "__init__":
        return True
    names = [function.name, os.path.basename(module.path)]
    owner = module.class_of(function)
    while owner is not None:
        if _TOKEN_ENGINE.search(owner.name):
            return True
        if any(_CPU_BASES.search(ast.unparse(base)) for base in owner.bases):
            return True
        names.append(owner.name)
        owner = module.class_of(owner)
    return any(_CPU_BY_DESIGN.search(name) for name in names)


def edit_device(site: Site, conflict: Conflict) -> Fix | None:
    """Give the factory the device it lacks; none where no name in scope is certain to have it."""
    if not conflict.remedy or argument(site.call, "device") is not ABSENT:
        return None
    from trl_lint.python.islands import rewrite, with_keyword

    edit = rewrite(site, site.call, lambda call: with_keyword(call, "device", conflict.remedy))
    return Fix(f"Add `device={conflict.remedy}`", "safe", (edit,)) if edit is not None else None
