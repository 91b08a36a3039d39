"""What a parameter stands for: what the call passes, or, for a function that is read by itself, what its callers do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.memos import per_module
from trl_lint.project.modules import imported_name
from trl_lint.python.guards import calls_by_name, key_of
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.scopes import scopes
from trl_lint.python.values import default_of
from trl_lint.run.trainer import calls, entries
from trl_lint.run.trainer.made import Frame, Made, Options, Resolver
from trl_lint.sources import SourceError

# What is looked at for one function: calls, files that name it, and functions whose callers one question may ask for.
_MOST_SITES = 12
_MOST_ASKED = 12  # files with callers; with more, what is handed over is unknown
_MOST_FUNCTIONS = 40  # whose callers are looked for; what others get is unknown
# Decorators, and functions that are given one, which take the arguments from the command line.
_COMMANDS = frozenset({"command", "main"})
_FIRE = frozenset({"fire.Fire", "Fire", "typer.run", "tyro.cli"})


def of_parameter(resolver: Resolver, site: ast.arg, frame: Frame) -> Options:
    function = frame.function
    if function is None:
        return (resolver.unknown(site, frame),)
    bound = frame.arguments
    if isinstance(bound, calls.Bound):
        return _passed(resolver, bound, site, frame)
    if isinstance(function, ast.Lambda):
        return (resolver.unknown(site, frame),)
    cls = frame.module.parents.get(function)
    if isinstance(cls, ast.ClassDef) and _is_first(function, site):
        home = resolver.frame(frame.module)
        return (Made("self", site, frame, base=Made("class", cls, home, cls.name)),)
    if _is_cell(function):
        return _of_cells(resolver, site, frame)
    if _is_command(function, frame.module):
        default = default_of(function, site.arg)
        parsed = Made("parsed", function, frame, "main")
        return (Made("field", default or site, frame, site.arg, base=parsed),)
    return _of_callers(resolver, function, site, frame)


def _passed(resolver: Resolver, bound: calls.Bound, site: ast.arg, frame: Frame) -> Options:
    """What a call passes for a parameter; where it may pass nothing, the default counts."""
    layers = entries.Layers(resolver, site, frame)
    layers.lay(bound.of(site.arg) or ())
    return layers.over(_default(resolver, bound.function, site, frame) if layers.is_open else ())


def _default(resolver: Resolver, function: FunctionNode | ast.Lambda, site: ast.arg, frame: Frame) -> Options:
    if isinstance(function, ast.Lambda):
        return (resolver.unknown(site, frame),)
    default = default_of(function, site.arg)
    home = resolver.frame(frame.module)
    return (resolver.unknown(site, frame),) if default is None else resolver.options(default, home)


def _is_first(function: FunctionNode, site: ast.arg) -> bool:
    positional = [*function.args.posonlyargs, *function.args.args]
    names = {key_of(item) for item in function.decorator_list}
    return bool(positional) and positional[0] is site and "staticmethod" not in names


# -- callers --------------------------------------------------------------------------------------------------------


def _of_callers(resolver: Resolver, function: FunctionNode, site: ast.arg, frame: Frame) -> Options:
    resolver.asked_callers += 1
    if resolver.asked_callers > _MOST_FUNCTIONS:
        return (resolver.unknown(site, frame),)
    found: list[Made] = []
    for number, one in enumerate(call_sites(resolver, function, frame)):
        if number >= _MOST_SITES or one is None:
            return (*found, resolver.unknown(site, frame))
        other, call, owner = one
        caller = resolver.frame_at(call, resolver.frame(other))
        found += _passed(resolver, calls.Bound(resolver, function, call, caller, owner), site, frame)
    return tuple(found) or (resolver.unknown(site, frame),)


def call_sites(
    resolver: Resolver, function: FunctionNode, frame: Frame
) -> Iterator[tuple[PythonModule, ast.Call, Made | None] | None]:
    """The calls of a function in its module, else in others: each with its module, and the owner of a method.

    None stands for calls in files that nobody looked at.
    """
    module = frame.module
    cls = module.parents.get(function)
    name, owner = function.name, None
    if isinstance(cls, ast.ClassDef):
        owner = Made("self", cls, resolver.frame(module), base=Made("class", cls, resolver.frame(module), cls.name))
        if name == "__init__":
            name = cls.name
    is_method = owner is not None and function.name != "__init__"
    kind = ast.Attribute if is_method else ast.Name
    own = [call for call in calls_by_name(module).get((kind, name), []) if not is_method or _is_self(call)]
    if own:
        yield from ((module, call, owner) for call in own)
        return
    if is_method:
        anywhere = calls_by_name(module).get((ast.Attribute, name), [])
        yield from ((module, call, owner) for call in anywhere)
        if anywhere:
            return
    for other in _modules_calling(resolver, name, is_method, module):
        if other is None:
            yield None
            return
        named = calls_by_name(other)
        for call in (*named.get((ast.Name, name), ()), *named.get((ast.Attribute, name), ())):
            imported = imported_name(other, call.func, resolver.project)
            if imported is not None and imported[0].path == module.path:
                yield other, call, owner


def _is_self(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and key_of(call.func.value) in ("self", "cls")


def _modules_calling(
    resolver: Resolver, name: str, is_method: bool, module: PythonModule
) -> Iterator[PythonModule | None]:
    """The other modules in which a function may be called; None as the last one where there may be more."""
    project = resolver.project
    if is_method or not module.path.endswith(".py"):
        return
    from trl_lint.project.callers import files_calling, has_more_files, may_import

    asked = 0
    for path in files_calling(f"{name}(", project):
        if path == module.path or not may_import(path, module.path, project):
            continue
        asked += 1
        if asked > _MOST_ASKED:
            yield None
            return
        try:
            other = project.module_in(path, by=module.path)
        except (OSError, SourceError):
            other = None  # it calls the function nobody knows how
        yield other
    if has_more_files(project):
        yield None


# -- functions that are called by no call ---------------------------------------------------------------------------


def _is_cell(function: FunctionNode) -> bool:
    """Whether it is a cell of a marimo notebook, whose parameters are what other cells return."""
    return any(
        key_of(item.func if isinstance(item, ast.Call) else item) in ("app.cell", "app.function")
        for item in function.decorator_list
    )


def _of_cells(resolver: Resolver, site: ast.arg, frame: Frame) -> Options:
    from trl_lint.python.reaching import final_in
    from trl_lint.run.trainer import names

    found: list[Made] = []
    for scope, sites in scopes(frame.module).sites_of(site.arg).items():
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_cell(scope):
            if any(isinstance(one, ast.arg) for one in sites):
                continue
            home = resolver.frame(frame.module, scope)
            for one in final_in(frame.module, sites, scope.body).sites:
                under = resolver.conditions(one.under, home)
                found += [made.beneath(under) for made in names.bound_at(resolver, one.site, site.arg, home)]
    return tuple(found) or (resolver.unknown(site, frame),)


def _is_command(function: FunctionNode, module: PythonModule) -> bool:
    """Whether the function takes its arguments from the command line: click, typer, hydra, fire."""
    for item in function.decorator_list:
        name = key_of(item.func if isinstance(item, ast.Call) else item)
        if "." in name and name.rpartition(".")[2] in _COMMANDS:
            return True
    return function.name in _fired(module)


@per_module
def _fired(module: PythonModule) -> frozenset[str]:
    """The functions that are handed to what reads the command line for them."""
    given = [call.args[0] for call in module.calls if key_of(call.func) in _FIRE and call.args]
    return frozenset(node.id for node in given if isinstance(node, ast.Name))
