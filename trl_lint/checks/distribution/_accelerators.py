"""The `Accelerator` objects of a module: how they were made, what they prepared, and what they run on."""

from __future__ import annotations

import ast

from trl_lint.finding import Location
from trl_lint.memos import per_module
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.python.guards import bindings, call_sites, key_of
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.runs import run_of
from trl_lint.run.sharding import fsdp_version

_PREPARING = frozenset({"prepare", "prepare_model", "prepare_optimizer"})
_CALLERS_DEEP = 2  # callers of callers; beyond them it is unknown


class Evidence(NamedTuple):
    """What a run is certainly started with, and where this is said.

    Weak where only documentation shows the run, or where the run's script imports the file and need not use it all.
    """

    kind: str
    location: Location
    is_weak: bool = False


class Prepared(NamedTuple):
    """A name that is given what `prepare` returns: the statement, what went in, and the accelerator."""

    statement: ast.Assign
    value: ast.expr
    accelerator: ast.expr


def constructor_of(module: PythonModule, node: ast.expr) -> ast.Call | None:
    """The call that made the `accelerate.Accelerator` an expression names; None where that is not certain."""
    key = key_of(node)
    made = bindings(module).get(key, []) if key else []
    if len(made) != 1 or not isinstance(made[0], ast.Call):
        return None
    call = made[0]
    is_certain = module.names.is_certain(call.func) and module.names.origins(call.func) == {"accelerate.Accelerator"}
    return call if is_certain else None


def backend_of(launch: Launch, project: Project) -> Evidence | None:
    """DeepSpeed, FSDP1 or FSDP2 where an `accelerate launch` certainly uses it."""
    run = run_of(launch, project)
    said, version = run.configs.accelerate.given("distributed_type"), fsdp_version(run)
    is_deepspeed = isinstance(said, Setting) and said.value == "DEEPSPEED"
    name = "DeepSpeed" if is_deepspeed else f"FSDP{version}" if version is not None else ""
    if not name or not isinstance(said, Setting) or said.location is None:
        return None
    return Evidence(name, said.location._replace(message=f"this run uses {name}"), launch.is_documentation)


# -- what was prepared ------------------------------------------------------------------------------------------------


def prepared_at(module: PythonModule, node: ast.expr, depth: int = 0) -> Prepared | None:
    """The last `prepare` that gave an expression its value, if nothing but `prepare` can have done so.

    A name is followed to the function it is assigned in, and a parameter to every call of its function in the module;
    an attribute of `self` is what its class assigns.
    """
    key = key_of(node)
    if not key or "[" in key:
        return None
    if "." in key:
        around = module.class_of(node) if key.startswith("self.") else None
        if around is None:
            return None
        own = [store for store in stores(module, key) if module.class_of(store) is around]
    else:
        home = next((one for one in module.functions_around(node) if _binds(module, one, key)), None)
        own = [store for store in stores(module, key) if module.function(store) is home]
        if home is not None and key in parameters(home):
            return _of_callers(module, home, key, depth) if not own else None
    found = {id(one.statement): one for one in _prepared(module).get(key, [])}
    made = [found[id(one)] for store in own if id(one := module.statement(store)) in found]
    if not made:
        return None
    last = max(made, key=lambda one: one.statement.lineno)
    others = [store for store in own if id(module.statement(store)) not in found]
    function = module.function(last.statement)
    if any(module.function(store) is not function or store.lineno > last.statement.lineno for store in others):
        return None
    is_after = module.function(node) is not function or node.lineno > (last.statement.end_lineno or 0)
    return last if is_after else None


def _of_callers(module: PythonModule, function: FunctionNode, name: str, depth: int) -> Prepared | None:
    found = None
    is_method = isinstance(module.parents.get(function), ast.ClassDef)
    if is_method and function.decorator_list:
        return None  # it may have no `self`
    position = parameters(function).index(name) - is_method
    for site in call_sites(module, function) if depth < _CALLERS_DEEP else ():
        given = next((keyword.value for keyword in site.keywords if keyword.arg == name), None)
        if given is None and not any(isinstance(arg, ast.Starred) for arg in site.args):
            given = site.args[position] if 0 <= position < len(site.args) else None
        found = prepared_at(module, given, depth + 1) if given is not None else None
        if found is None:
            return None
    return found


def parameters(function: FunctionNode) -> list[str]:
    args = function.args
    return [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


def is_visible(module: PythonModule, key: str, node: ast.AST) -> bool:
    """Whether a name of the module, or an attribute of its `self`, can be written at a place."""
    root = key.partition(".")[0]
    around = list(module.functions_around(node))
    if any(root in parameters(one) for one in around):
        return True
    homes = [module.function(store) for store in stores(module, root)]
    return any(home is None or home in around for home in homes)


def _binds(module: PythonModule, function: FunctionNode, name: str) -> bool:
    return name in parameters(function) or any(module.function(one) is function for one in stores(module, name))


def stores(module: PythonModule, key: str) -> list[ast.Name | ast.Attribute]:
    """Where a name or an attribute is bound, by its `key_of`."""
    return _stores(module).get(key, [])


@per_module
def _stores(module: PythonModule) -> dict[str, list[ast.Name | ast.Attribute]]:
    table: dict[str, list[ast.Name | ast.Attribute]] = {}
    nodes: list[ast.Name | ast.Attribute] = [*module.of(ast.Name), *module.of(ast.Attribute)]
    for node in nodes:
        if isinstance(node.ctx, ast.Store):
            table.setdefault(key_of(node), []).append(node)
    return table


@per_module
def _prepared(module: PythonModule) -> dict[str, list[Prepared]]:
    """What `prepare` of an accelerator of the module is assigned to, by its `key_of`."""
    table: dict[str, list[Prepared]] = {}
    for statement in module.of(ast.Assign):
        call = statement.value
        func = call.func if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not isinstance(func, ast.Attribute) or func.attr not in _PREPARING:
            continue
        if call.keywords or constructor_of(module, func.value) is None:
            continue
        for target, value in _pairs(statement.targets[-1], call.args):
            table.setdefault(key_of(target), []).append(Prepared(statement, value, func.value))
    return table


def _pairs(target: ast.expr, values: list[ast.expr]) -> list[tuple[ast.expr, ast.expr]]:
    if not isinstance(target, (ast.Tuple, ast.List)):
        return [(target, values[0])] if len(values) == 1 and not isinstance(values[0], ast.Starred) else []
    if any(isinstance(one, ast.Starred) for one in (*target.elts, *values)) or len(target.elts) != len(values):
        return []
    return list(zip(target.elts, values, strict=True))
