"""TRL101: a model prepared with `evaluation_mode=True` stays on the CPU under FSDP."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.distribution._fsdp import FsdpRun, assume, fsdp_runs, project_fsdp
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding, Fix, Location
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.paths import is_test_file
from trl_lint.python.guards import bindings, call_sites, key_of, last_name
from trl_lint.python.islands import rewrite, with_keyword
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import argument, default_of, is_none, literal
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

if TYPE_CHECKING:
    import libcst as cst

# `Accelerator.prepare_model(model, device_placement=None, evaluation_mode=False)`, read in 0.20.0, 1.6.0 and 1.15.0.
_MODEL, _DEVICE_PLACEMENT, _EVALUATION_MODE = 0, 1, 2

_ROLES = (
    (regex(r"ref(?:erence)?(?:_|$)|(?:^|_)ref\b", re.I), "reference model"),
    (regex(r"reward|(?:^|_)rm(?:_|$)", re.I), "reward model"),
    (regex(r"teacher", re.I), "teacher model"),
    (regex(r"judge|critic|value_model|embedding_model", re.I), "auxiliary model"),
)
# Calls whose result is a model in evaluation mode: transformers and TRL call `.eval()` in them.
_LOADS_IN_EVAL = regex(r"from_pretrained$|^create_(?:reference_model|model_from_path)$")
_WRAPS = regex(r"fsdp|fully_?shard", re.I)
_DTYPE = regex(r"dtype$|^(?:b?float\d*|half|double)$")


class Preparation(NamedTuple):
    """A `prepare_model` call that leaves its model behind. `parameter` is the wrapper's parameter that switches it."""

    model: ast.expr
    target: ast.expr | None
    parameter: str
    callers: tuple[ast.Call, ...]

    @property
    def keys(self) -> set[str]:
        return {key_of(self.model), key_of(self.target)} - {""}


class ReferenceModelEvaluationMode(Rule):
    code = "TRL101"
    triggers = (".prepare_model", "(evaluation_mode=)")
    needles = (b"prepare_model",)

    def check_call(self, site: Site) -> Iterator[Finding]:
        preparation = read_preparation(site)
        if preparation is None:
            return
        if site.project.environment(site.module.path).package("accelerate").holds(">=0.20.0") == "none":
            return  # `evaluation_mode` does not exist there, and the call fails for that reason
        runs = fsdp_runs(site.module, site.project)
        proved = bool(runs) or assume(False, site.module).reach(site.call) == "excluded"
        # A run that the project sets up starts no test.
        set_up = None if proved or is_test_file(site.module.path) else project_fsdp(site.project)
        yield self.finding(
            site.location,
            word_message(site, preparation, proved, set_up is not None),
            severity=None if proved else "info" if set_up is None else "warning",
            related=read_evidence(site, preparation, runs, set_up),
            fix=edit_placement(site, preparation, runs),
        )


# -- reading -------------------------------------------------------------------------------------------------------


def read_preparation(site: Site) -> Preparation | None:
    """The preparation a call makes, None where it is no fault or nobody can tell."""
    call, module = site.call, site.module
    model = argument(call, "model", _MODEL)
    if not is_prepare_model(call, module) or not isinstance(model, ast.expr):
        return None
    function = module.function(call)
    if function is not None and re.search(r"fsdp|deepspeed", function.name, re.I):
        return None  # the helper of a backend places the model itself
    placement = argument(call, "device_placement", _DEVICE_PLACEMENT)
    mode = argument(call, "evaluation_mode", _EVALUATION_MODE)
    parameter, callers = read_forwarding(call, mode, function, module)
    if not callers and (not isinstance(mode, ast.expr) or literal(mode) is not True):
        return None
    if placement is UNKNOWN and not callers:
        return None
    if isinstance(placement, ast.expr) and literal(placement) not in (None, False):
        return None  # True is the remedy, and a name may hold it
    if not runs_under_fsdp(site.call, module):
        return None
    preparation = Preparation(model, read_target(call, module), parameter, callers)
    return None if is_placed(preparation, site) else preparation


def is_prepare_model(call: ast.Call, module: PythonModule) -> bool:
    """Whether this is accelerate's method, also behind an alias; a method of that name on `self` is not."""
    func = call.func
    if isinstance(func, ast.Name):
        return any(origin.endswith(".prepare_model") for origin in module.names.origins(func))
    if not isinstance(func, ast.Attribute) or func.attr != "prepare_model":
        return False
    return key_of(func.value) not in ("", "self", "cls") or isinstance(func.value, ast.Call)


def read_forwarding(
    call: ast.Call, mode: object, function: FunctionNode | None, module: PythonModule
) -> tuple[str, tuple[ast.Call, ...]]:
    """A helper that hands `evaluation_mode` on: its parameter, and the calls in this file that switch it on.

    The parameter is "" where the helper hands on its `**kwargs`.
    """
    if function is None or not (mode is UNKNOWN or isinstance(mode, ast.Name)):
        return "", ()
    arguments = function.args
    names = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args)]
    keyword_only = [arg.arg for arg in arguments.kwonlyargs]
    if isinstance(mode, ast.Name):
        parameter = mode.id
        if parameter not in (*names, *keyword_only):
            return "", ()
    else:
        parameter = ""
        forwarded = [keyword.value for keyword in call.keywords if keyword.arg is None]
        catch_all = arguments.kwarg.arg if arguments.kwarg else None
        if len(forwarded) != 1 or key_of(forwarded[0]) != catch_all:
            return "", ()
    bound = isinstance(module.parents.get(function), ast.ClassDef)
    position = names.index(parameter) - bound if parameter in names else None
    callers = []
    for site in call_sites(module, function):
        given = argument(site, parameter or "evaluation_mode", position)
        on = (
            literal(given) is True if isinstance(given, ast.expr) else given is ABSENT and _default(function, parameter)
        )
        placed = parameter == "" and argument(site, "device_placement") is not ABSENT
        if on and not placed and runs_under_fsdp(site, module):
            callers.append(site)
    return parameter, tuple(callers)


def _default(function: FunctionNode, parameter: str) -> bool:
    """Whether a parameter of a helper is True where the caller says nothing."""
    default = default_of(function, parameter)
    return default is not None and literal(default) is True


def read_target(call: ast.Call, module: PythonModule) -> ast.expr | None:
    """What the prepared model is assigned to, if it is assigned."""
    parent = module.parents.get(call)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        return parent.targets[0]
    return parent.target if isinstance(parent, (ast.AnnAssign, ast.NamedExpr)) else None


def runs_under_fsdp(node: ast.AST, module: PythonModule) -> bool:
    """Whether nothing keeps FSDP from this place. A test about FSDP that is not understood counts as a guard."""
    return assume(True, module).reach(node) == "reached"


def is_placed(preparation: Preparation, site: Site) -> bool:
    """Whether something else moves or wraps the model: `.to(device)`, `device_map=`, an FSDP wrapper."""
    module, keys = site.module, preparation.keys
    if is_moved_value(preparation.model) or is_moved_result(site.call, module):
        return True
    values = (value for key in keys for value in bindings(module).get(key, ()))
    if any(is_moved_value(value) and runs_under_fsdp(value, module) for value in values):
        return True
    for call in module.calls:
        if call is site.call or not (is_move_of(call, keys) or is_wrap_of(call, keys)):
            continue
        if _same_scope(call, site, keys) and runs_under_fsdp(call, module):
            return True
    return False


def is_moved_value(value: ast.expr) -> bool:
    """Whether the expression that makes a model also puts it somewhere."""
    while isinstance(value, ast.Call):
        if _moves(value) or _WRAPS.search(last_name(value.func)):
            return True
        if any(k.arg == "device_map" and not is_none(k.value) for k in value.keywords):
            return True
        if not isinstance(value.func, ast.Attribute):
            return False
        value = value.func.value
    return False


def is_moved_result(call: ast.Call, module: PythonModule) -> bool:
    """Whether the prepared model is moved in the same breath: `prepare_model(…).eval().to(device)`."""
    node: ast.AST = call
    while isinstance(attribute := module.parents.get(node), ast.Attribute):
        node = module.parents.get(attribute, attribute)
        if isinstance(node, ast.Call) and node.func is attribute and _moves(node):
            return True
    return False


def is_move_of(call: ast.Call, keys: set[str]) -> bool:
    return _moves(call) and isinstance(call.func, ast.Attribute) and key_of(call.func.value) in keys


def is_wrap_of(call: ast.Call, keys: set[str]) -> bool:
    return bool(_WRAPS.search(last_name(call.func))) and bool(call.args) and key_of(call.args[0]) in keys


def _moves(call: ast.Call) -> bool:
    """`.cuda()` and `.to(device)`; `.to(dtype)` and `.to("cpu")` move nothing to an accelerator."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr in ("cuda", "xpu", "npu"):
        return True
    if call.func.attr != "to":
        return False
    if any(keyword.arg in ("device", "other") for keyword in call.keywords):
        return True
    first = call.args[0] if call.args else None
    return first is not None and literal(first) != "cpu" and not _DTYPE.search(last_name(first))


def _same_scope(call: ast.Call, site: Site, keys: set[str]) -> bool:
    """Attributes of `self` are one thing in the whole class, a plain name only in its function."""
    if any("." in key for key in keys):
        return site.module.class_of(call) is site.module.class_of(site.call)
    return site.module.function(call) is site.module.function(site.call)


def read_role(preparation: Preparation) -> str:
    """What the model is for, by its names."""
    names = [last_name(preparation.model), last_name(preparation.target)]
    return next((role for pattern, role in _ROLES if any(pattern.search(name) for name in names)), "model")


def lacks_eval(preparation: Preparation, module: PythonModule) -> bool:
    """Whether nothing in the module puts the model into evaluation mode; `evaluation_mode=True` does not.

    Only asked of models that never train. transformers loads in evaluation mode, so `from_pretrained` needs nothing.
    """
    if read_role(preparation) == "model":
        return False
    names = {_singular(last_name(node)) for node in (preparation.model, preparation.target) if node is not None}
    for key, values in bindings(module).items():
        if _singular(key.removesuffix("[]").rpartition(".")[2]) in names:
            for value in values:
                for call in (node for node in ast.walk(value) if isinstance(node, ast.Call)):
                    if _LOADS_IN_EVAL.search(last_name(call.func)) or last_name(call.func) == "eval":
                        return False
    return not any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("eval", "train")
        and _singular(last_name(call.func.value)) in names
        for call in module.calls
    )


def _singular(name: str) -> str:
    return name.removesuffix("s")


# -- words and edits -----------------------------------------------------------------------------------------------


def word_message(site: Site, preparation: Preparation, proved: bool, is_set_up: bool) -> str:
    role = read_role(preparation)
    text = " ".join(site.module.segment(preparation.model).split())
    named = f"{role} `{text}`" if len(text) <= 60 else role
    given = argument(site.call, "device_placement", _DEVICE_PLACEMENT)
    refused = isinstance(given, ast.expr) and literal(given) is False
    why = "`device_placement=False`" if refused else "`evaluation_mode=True`"
    shown = ", which this run uses," if proved else ", which this project is set up for," if is_set_up else ""
    of = "test" if is_test_file(site.module.path) else "project"
    rest = "" if proved or is_set_up else f"; this {of} shows no run with FSDP"
    return (
        f"{named} stays on the CPU under FSDP{shown or ','} because with {why} accelerate neither moves nor shards it: "
        f"pass `device_placement=True`{rest}"
    )


def read_evidence(
    site: Site, preparation: Preparation, runs: list[FsdpRun], set_up: Location | None
) -> tuple[Location, ...]:
    callers = [site.module.location(caller, "evaluation mode is asked for here") for caller in preparation.callers]
    return (*callers, *(run.location for run in runs), *([] if set_up is None else [set_up]))


def edit_placement(site: Site, preparation: Preparation, runs: list[FsdpRun]) -> Fix | None:
    """Let accelerate move the model: `device_placement=True`, and `.eval()` behind the call where nothing else does it.

    Unsafe where FSDP loads the weights on rank 0 alone (or may): the other ranks hold empty weights until a wrapper
    broadcasts them, and a model that is moved instead of wrapped would be used empty.
    """
    if not preparation.parameter and preparation.callers:
        return None  # the helper hands on its **kwargs: the remedy belongs to its callers
    value = f"{preparation.parameter} or None" if preparation.parameter else "True"
    add_eval = not preparation.callers and lacks_eval(preparation, site.module)
    # A call in a chain (`….train()`) says itself what mode it wants.
    add_eval = add_eval and not isinstance(site.module.parents.get(site.call), ast.Attribute)

    def change(call: cst.Call) -> cst.BaseExpression:
        import libcst as cst

        placed = with_keyword(_keywords_only(call), "device_placement", value)
        return cst.Call(cst.Attribute(placed, cst.Name("eval"))) if add_eval else placed

    edit = rewrite(site, site.call, change)
    if edit is None:
        return None
    safe = all(run.rank0_loads is False for run in runs)
    title = f"Add `device_placement={value}`" + (" and `.eval()`" if add_eval else "")
    if not safe:
        title += " (right only where every rank loads the weights: `fsdp_cpu_ram_efficient_loading: false`)"
    return Fix(title, "safe" if safe else "unsafe", (edit,))


def _keywords_only(call: cst.Call) -> cst.Call:
    """The call with a positional `device_placement` or `evaluation_mode` named, so that a keyword can be set."""
    import libcst as cst

    names = ("model", "device_placement", "evaluation_mode")
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    args = [
        arg.with_changes(keyword=cst.Name(names[index]), equal=equal)
        if 0 < index < len(names) and arg.keyword is None and not arg.star
        else arg
        for index, arg in enumerate(call.args)
    ]
    return call.with_changes(args=args)


rule = ReferenceModelEvaluationMode()
