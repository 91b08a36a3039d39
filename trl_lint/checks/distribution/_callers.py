"""Where an argument lives: what the callers of a function pass for it, wherever in the project they are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from trl_lint.checks.distribution._device import edit_device, resolver_of
from trl_lint.finding import Finding, Location, Severity
from trl_lint.memos import per_module
from trl_lint.project.callers import files_calling, may_import
from trl_lint.python.guards import call_sites, last_name
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import SourceError

if TYPE_CHECKING:
    from trl_lint.checks.rule import Rule, Site
    from trl_lint.project import Project
    from trl_lint.python.dataflow.conflicts import Conflict
    from trl_lint.python.dataflow.device import Passed
    from trl_lint.python.dataflow.places import Value

_CALLERS_DEEP = 3  # callers of callers; beyond them it is unknown
# What is looked at for one finding: calls, names that are searched for in other files, files with such a name that are
# asked for an import, and files that are parsed. What lies beyond is not known.
_MOST_SITES = 12
_MOST_NAMES = 3  # functions, whose callers are looked for; those of more are unknown
_MOST_ASKED = 50  # files that name one; with more, it is unknown
_MOST_PARSED = 8  # files that are parsed for a finding; with more, it is unknown
# Methods that a framework calls with what it has moved to the accelerator before, by a word in a base of their class.
_FED = {
    "forward": ("Module", "Model", "Function", "Layer", "PreTrained"),
    "backward": ("Function",),
    "compute_loss": ("Trainer",),
    "training_step": ("Trainer", "LightningModule"),
    "prediction_step": ("Trainer",),
}

# What has a device of its own, and is no tensor.
_MODEL = regex(r"self|model|module|accelerator|policy|actor|critic|net\b", re.IGNORECASE)

Place = Literal["cpu", "accelerator", "unknown"]


class Weight(NamedTuple):
    """How sure it is that the other tensor of a conflict is on an accelerator: a level, words, where that is seen."""

    severity: Severity
    other: str
    related: tuple[Location, ...] = ()


class Argument(NamedTuple):
    """Where callers have what they pass for a parameter, and one that says so."""

    place: Place
    site: Location | None


def reported(rule: Rule, site: Site, conflict: Conflict, meets: str, here: str) -> Iterator[Finding]:
    """What is said of a conflict; `meets`: what the tensor does with the other one, `here`: what the place says."""
    weight = weigh(conflict, site.project)
    if weight is not None:
        yield rule.finding(
            site.location,
            f"`{site.module.segment(site.call.func)}(…)` makes a tensor on the CPU, and it {meets} {weight.other}",
            severity=weight.severity,
            related=(conflict.place.location(conflict.node, here), *weight.related),
            fix=edit_device(site, conflict),
        )


def weigh(conflict: Conflict, project: Project) -> Weight | None:
    """The weight of a conflict; None where the callers show that both tensors are on the CPU.

    That something is on an accelerator is proved by a device, by the output of a model, or by every caller that can be
    read. What rests on an assumption is no error, and the words say what is assumed.
    """
    if conflict.tier == "model":
        return Weight("error", "the output of a model")
    function, name = conflict.function, conflict.other.partition(".")[0]
    is_argument = function is not None and name in _parameters(function)
    if conflict.tier == "placed" and not (conflict.is_relative and is_argument and not _MODEL.search(name)):
        return Weight("error", f"one on `{conflict.other}`" if conflict.other else "one on an accelerator")
    if function is not None and _collects_from_ray(conflict.place, function):
        return None
    if function is None or not is_argument:
        if conflict.tier == "param":
            return Weight("warning", "one that came in as an argument, taken to be on the accelerator")
        return Weight("warning", "a tensor, on a device that nothing here names")
    if _is_fed(function, conflict.place):
        # What lies beside a tensor with a device is most likely there as well, and no more than that.
        level: Severity = "warning" if conflict.tier == "sibling" else "error"
        return Weight(level, f"`{name}`, which `{function.name}` gets where the model is")
    found = _Callers(project).argument(conflict.place, function, name, 0)
    if found.place == "cpu":
        return None
    if found.place == "accelerator" and found.site is not None:
        return Weight(
            "error", f"`{name}`, which the callers of `{function.name}` have on the accelerator", (found.site,)
        )
    why = f"no caller of `{function.name}` says where it is"
    return Weight("warning", f"the argument `{name}`, taken to be on the accelerator because {why}")


@per_module
def _collects_from_ray(module: PythonModule, function: FunctionNode) -> bool:
    """Whether a function gets what workers of Ray send: they send it from the CPU, and it has most likely no GPU."""
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any("ray.get" in module.names.origins(func) for func in calls if last_name(func) == "get")


def _parameters(function: FunctionNode) -> list[str]:
    spec = function.args
    return [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]


def _is_fed(function: FunctionNode, module: PythonModule) -> bool:
    owner = module.parents.get(function)
    words = _FED.get(function.name, ())
    if not isinstance(owner, ast.ClassDef) or not words:
        return False
    return any(word in last_name(base) for base in owner.bases for word in words)


class _Callers:
    """Looks at the callers of a function, and at theirs, for one finding."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.sites = _MOST_SITES
        self.names = _MOST_NAMES
        self.parsed: set[str] = set()
        self.is_cut = False  # there may be callers that were not looked at

    def argument(self, module: PythonModule, function: FunctionNode, name: str, depth: int) -> Argument:
        """Where what is passed for a parameter lives. One caller that has it on the CPU decides."""
        places: set[Place] = set()
        shown: Location | None = None
        for other, site, is_certain in self._sites(module, function):
            if self.sites == 0:
                places.add("unknown")
                break
            self.sites -= 1
            for place, at in self._passed(other, site, module, function, name, depth):
                # Another class may have a method of that name: what it is given proves nothing but that it may differ.
                places.add(place if is_certain or place == "cpu" else "unknown")
                shown = at if place == "accelerator" and is_certain else shown
        if "cpu" in places:
            return Argument("cpu", None)
        is_proved = places == {"accelerator"} and not self.is_cut
        return Argument("accelerator" if is_proved else "unknown", shown if is_proved else None)

    def _sites(self, module: PythonModule, function: FunctionNode) -> Iterator[tuple[PythonModule, ast.Call, bool]]:
        """The calls of a function, each with its module, and whether it certainly is that function which is called."""
        for site in call_sites(module, function):
            yield module, site, True
        is_method = isinstance(module.parents.get(function), ast.ClassDef)
        for other in self._modules_calling(function.name, is_method, module):
            for call in other.calls:
                if last_name(call.func) == function.name:
                    is_it = self._is_call_of(call, other, module)
                    if is_it or (is_method and isinstance(call.func, ast.Attribute)):
                        yield other, call, is_it

    def _modules_calling(self, name: str, is_method: bool, module: PythonModule) -> Iterator[PythonModule]:
        """The other modules of the project, no tests, in which a function of a module may be called."""
        self.names -= 1
        found = files_calling(f"{'.' if is_method else ''}{name}(", self.project) if self.names >= 0 else []
        self.is_cut = self.is_cut or self.names < 0 or len(found) > _MOST_ASKED
        for path in found[:_MOST_ASKED]:
            if path == module.path or (not is_method and not may_import(path, module.path, self.project)):
                continue
            self.parsed.add(path)
            if len(self.parsed) > _MOST_PARSED:
                self.is_cut = True
                return
            with suppress(OSError, SourceError):
                yield self.project.module_in(path, by=module.path)

    def _is_call_of(self, call: ast.Call, other: PythonModule, module: PythonModule) -> bool:
        from trl_lint.project.modules import imported_name

        found = imported_name(other, call.func, self.project)
        return found is not None and found[0].path == module.path

    def _passed(
        self, other: PythonModule, site: ast.Call, module: PythonModule, function: FunctionNode, name: str, depth: int
    ) -> Iterator[tuple[Place, Location]]:
        """Where a call has what it passes for a parameter, each time the analysis of its function comes by."""
        from trl_lint.python.dataflow import callees

        caller = other.function(site)
        at = other.location(site, f"`{function.name}` is called here")
        if caller is None:
            yield "unknown", at
            return
        runs = passed_by(other, caller, self.project).get(site, [])
        if not runs:
            yield "unknown", at
        is_method = isinstance(module.parents.get(function), ast.ClassDef) and isinstance(site.func, ast.Attribute)
        for arguments, keywords in runs:
            bound = callees.bound(function, site, arguments, keywords, is_method)
            value = bound.get(name) if bound is not None else None
            if bound is None:
                yield "unknown", at
            elif value is not None:
                yield from ((place, at) for place in self._place_of(value, other, caller, depth))

    def _place_of(self, value: Value, module: PythonModule, caller: FunctionNode, depth: int) -> Iterator[Place]:
        if value.kind == "cpu":
            yield "cpu"
        elif value.kind in ("placed", "model"):
            yield "accelerator"
        elif value.kind not in ("host", "place"):
            origin = value.device.partition(".")[0]
            if origin not in _parameters(caller) or depth >= _CALLERS_DEEP:
                yield "unknown"
            elif _is_fed(caller, module):
                yield "accelerator"
            else:
                yield self.argument(module, caller, origin, depth + 1).place


@per_module
def passed_by(module: PythonModule, caller: FunctionNode, project: Project) -> Passed:
    """What each call in a function is given."""
    from trl_lint.python.dataflow.device import passed_in

    return passed_in(module, caller, resolver_of(project))
