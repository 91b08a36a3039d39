"""What a script makes of its config after it is made: fields that it sets, lists and dicts that it changes in place.

A value counts as known where nothing but the config can be meant. For all else that may be one, the field is unknown.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from trl_lint.finding import Location
from trl_lint.memos import per_module
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.modules import imported_name
from trl_lint.python.guards import bindings, key_of
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.parsers import PARSING, is_training_class

_SETTERS = ("setattr", "__setattr__")
# Those of lists, dicts and sets that change them.
_METHODS = frozenset(
    {
        "__delitem__", "__setitem__", "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem",
        "remove", "reverse", "setdefault", "sort", "update",
    }
)  # fmt: skip
# Modules that a config is handed on through; what lies behind them is not looked at.
_MOST_HELPERS = 8


class Changes(NamedTuple):
    """The fields that a script sets, with what is known about the values; `is_open`: it may set others as well."""

    fields: dict[str, Setting]
    is_open: bool


@per_module
def changes_in(module: PythonModule, project: Project) -> Changes:
    """What a script, and the functions of the project that it hands its config to, may make of it."""
    fields, is_open = dict(_assigned(module)), _sets_any(module)
    for call, helper in _helpers(module, project):
        place = module.location(call)
        for reached in _handed_on(helper, project):
            fields |= {name: Setting(UNKNOWN, "script", place) for name, _ in _assigned(reached)}
            is_open |= _sets_any(reached)
    return Changes(fields, is_open)


def setting_of(value: object, location: Location) -> Setting:
    """What a script sets a field to, as far as it is a plain value."""
    return Setting(value if isinstance(value, (str, int, float, type(None))) else UNKNOWN, "script", location)


@per_module
def _assigned(module: PythonModule) -> list[tuple[str, Setting]]:
    """The attributes that are assigned to by name or changed in place, and the keywords of `replace(…)` calls."""
    found = []
    for node in module.of(ast.Attribute):
        is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        if (
            is_own
            or _is_loaded(node.value, module)
            or not (isinstance(node.ctx, ast.Store) or _is_changed(node, module))
        ):
            continue
        value: object = UNKNOWN
        parent = module.parents[node]
        if isinstance(parent, ast.Assign) and isinstance(node.ctx, ast.Store) and _is_config(node.value, module):
            value = UNKNOWN if _is_conditional(module, parent) else module.value(parent.value)
        found.append((node.attr, setting_of(value, module.location(node))))
    twice = {name for name, count in Counter(name for name, _ in found).items() if count > 1}
    found = [(name, one._replace(value=UNKNOWN) if name in twice else one) for name, one in found]
    for call in module.calls:
        name = key_of(call.func).rpartition(".")[2]
        if name == "replace" or name.startswith("set_"):  # dataclasses.replace, TrainingArguments.set_training
            given = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
        else:
            given = [_set_by(call, module)] if name in _SETTERS else []
        found += [(name, Setting(UNKNOWN, "script", module.location(call))) for name in given if name]
    return found


def _is_loaded(node: ast.expr, module: PythonModule) -> bool:
    """Whether a name only ever holds what was loaded of a model: a tokenizer has a `pad_token` of its own."""
    values = bindings(module).get(node.id, []) if isinstance(node, ast.Name) else []
    loaded = [one for one in values if isinstance(one, ast.Call) and key_of(one.func).endswith(".from_pretrained")]
    is_parameter = any(
        isinstance(node, ast.Name) and node.id in _parameters(one) for one in module.functions_around(node)
    )
    return bool(values) and len(loaded) == len(values) and not is_parameter


def _set_by(call: ast.Call, module: PythonModule) -> str:
    """The field that `setattr(x, name, value)` or `x.__setattr__(name, value)` sets, "" if its name cannot be read."""
    name = module.value(call.args[-2]) if len(call.args) in (2, 3) else UNKNOWN
    return name if isinstance(name, str) else ""


@per_module
def _sets_any(module: PythonModule) -> bool:
    return any(_sets_hidden(call, module) for call in module.calls) or any(
        _is_changed(node, module) for node in _tables(module)
    )


def _sets_hidden(call: ast.Call, module: PythonModule) -> bool:
    """Whether a call may set an attribute of another object whose name cannot be read."""
    name = key_of(call.func)
    if name == "exec":
        return True
    is_own = call.args and key_of(call.args[0]).partition(".")[0] in ("self", "cls")
    return name.rpartition(".")[2] in _SETTERS and not _set_by(call, module) and not is_own


def _tables(module: PythonModule) -> Iterator[ast.expr]:
    """What gives all attributes of an object at once: `vars(x)`, `x.__dict__`."""
    if "vars(" in module.text:
        yield from (call for call in module.calls if isinstance(call.func, ast.Name) and call.func.id == "vars")
    if "__dict__" in module.text:
        yield from (node for node in module.of(ast.Attribute) if node.attr == "__dict__")


def _is_changed(node: ast.expr, module: PythonModule) -> bool:
    """Whether a list or a dict is changed where it stands, or gets a name by which it is."""
    parent = module.parents[node]
    if isinstance(parent, ast.AugAssign):
        return parent.target is node
    if isinstance(parent, ast.Assign) and parent.value is node and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id in _changed_names(module)
    return _is_changed_in_place(node, module)


def _is_changed_in_place(node: ast.AST, module: PythonModule) -> bool:
    """Whether items of an expression are set, or one of its methods changes them: `x.append(…)`, `x["a"] = …`."""
    parent = module.parents[node]
    if isinstance(parent, ast.Subscript):
        return parent.value is node and not isinstance(parent.ctx, ast.Load)
    if not isinstance(parent, ast.Attribute) or parent.attr not in _METHODS:
        return False
    call = module.parents[parent]
    return isinstance(call, ast.Call) and call.func is parent


@per_module
def _changed_names(module: PythonModule) -> frozenset[str]:
    """The names whose lists or dicts are changed in place."""
    return frozenset(node.id for node in module.of(ast.Name) if _is_changed_in_place(node, module))


# -- who holds the config ---------------------------------------------------------------------------------------------


def _is_config(node: ast.expr, module: PythonModule) -> bool:
    """Whether a name holds what a parser or a call of a config class gave, and nothing else."""
    if not isinstance(node, ast.Name) or node.id not in _names(module).given - _names(module).other:
        return False
    # Nobody knows what a function is called with.
    return not any(node.id in _parameters(function) for function in module.functions_around(node))


class _Names(NamedTuple):
    """The names that a parser or a call of a config class gives something to, and those that something else does."""

    given: frozenset[str]
    other: frozenset[str]


def _parameters(function: FunctionNode) -> set[str]:
    given = function.args
    return {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


@per_module
def _names(module: PythonModule) -> _Names:
    found: tuple[set[str], set[str]] = set(), set()
    for assignment in module.of(ast.Assign):
        names = found[not _gives_config(assignment.value, module)]
        for target in assignment.targets:
            elements = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            names.update(each.id for each in elements if isinstance(each, ast.Name))
    return _Names(frozenset(found[0]), frozenset(found[1]))


def _gives_config(node: ast.expr, module: PythonModule) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in PARSING:
        return True
    return any(map(is_training_class, module.names.origins(node.func)))


def _helpers(module: PythonModule, project: Project) -> Iterator[tuple[ast.Call, PythonModule]]:
    """The calls that hand a config to a function of another file, each with the module of the function."""
    known = _names(module).given
    for call in module.calls:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any((isinstance(node, ast.Name) and node.id in known) or _gives_config(node, module) for node in given):
            found = imported_name(module, call.func, project)
            if found is not None:
                yield call, found[0]


def _handed_on(helper: PythonModule, project: Project) -> list[PythonModule]:
    """The module of a function that gets a config, and those of the functions that it hands its parameters to."""
    found = [helper]
    for module in found:
        if len(found) < _MOST_HELPERS:
            found += [one for one in _handing(module, project) if one not in found]
    return found[:_MOST_HELPERS]


@per_module
def _handing(module: PythonModule, project: Project) -> list[PythonModule]:
    """The modules whose functions get a parameter of a function of this one."""
    found = []
    for call in module.calls:
        names = {node.id for node in call.args if isinstance(node, ast.Name)}
        if names and any(not names.isdisjoint(_parameters(one)) for one in module.functions_around(call)):
            found.append(imported_name(module, call.func, project))
    return list(dict.fromkeys(one[0] for one in found if one is not None))


def _is_conditional(module: PythonModule, node: ast.AST) -> bool:
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            return False
        if not isinstance(parent, (ast.With, ast.If)) or (isinstance(parent, ast.If) and not _is_main(parent)):
            return True
    return False


def _is_main(node: ast.If) -> bool:
    return isinstance(node.test, ast.Compare) and key_of(node.test.left) == "__name__"
