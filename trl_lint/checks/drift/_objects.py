"""Objects that the file certainly builds itself: `trainer = GRPOTrainer(…)`, `self.llm = LLM(…)`, parsed arguments.

A name is followed if one place binds it, to a call of a known class, or to what a function of the file returns in its
only `return`. A parameter is what all calls of its function in the file hand over, if that is of one class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.drift._classes import Callee, instances, may_name_known
from trl_lint.knowledge.presence import is_class
from trl_lint.memos import per_module
from trl_lint.python.dataflow.callees import bound, named
from trl_lint.python.guards import call_sites, functions_named, key_of, last_name
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.scopes import scopes
from trl_lint.run.parsers import PARSING, dataclass_types

_PARSERS = ("HfArgumentParser", "TrlParser")
_DEEP = 3  # functions that an object goes through


def object_of(node: ast.expr, module: PythonModule) -> Callee | None:
    """The class of the object that an expression certainly is, with what classes of the file add to it."""
    if not may_hold_object(node, module):
        return None
    source = _source(node, module)
    return _built(source, module) if source is not None else None


def builds_objects(module: PythonModule) -> bool:
    """Whether any call of the file builds an object of a known class: most files need no look at their scopes."""
    return bool(_constructions(module))


@per_module
def _constructions(module: PythonModule) -> set[ast.Call]:
    """The calls that build an object of a known class."""
    return {call for call in module.calls if _of_class(call.func, module) is not None}


def may_hold_object(node: ast.expr, module: PythonModule) -> bool:
    """Whether an expression can be an object of a known class, to judge by the names that ever hold one.

    Only a handful of the names of a file do; the scopes of the others need not be read.
    """
    if not builds_objects(module):
        return False
    if isinstance(node, ast.Name):
        return node.id in _holders(module)
    if isinstance(node, ast.Attribute):
        return node.attr in _holders(module)
    return node in _constructions(module) or (isinstance(node, ast.Call) and _own_function(node, module) is not None)


@per_module
def _holders(module: PythonModule) -> set[str]:
    """The names and attributes that may hold an object of a known class, or something out of a parser's results."""
    found: set[str] = set()
    for call in module.calls:
        is_parsing = isinstance(call.func, ast.Attribute) and call.func.attr in PARSING
        if is_parsing or call in _constructions(module) or _own_function(call, module) is not None:
            found.update(_targets(call, module))
    for _ in range(_DEEP):
        found |= {name for function in module.functions for name in _parameters_given(function, found, module)}
    return found


def _parameters_given(function: FunctionNode, holders: set[str], module: PythonModule) -> set[str]:
    """The parameters of a function that some call hands what may be an object of a known class, and those beside."""
    made = _constructions(module)
    given = (
        arg for call in call_sites(module, function) for arg in (*call.args, *(one.value for one in call.keywords))
    )
    if not any(arg in made or last_name(arg) in holders for arg in given):
        return set()
    return {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}


def _own_function(call: ast.Call, module: PythonModule) -> FunctionNode | None:
    """The function of the file that a call certainly runs."""
    if not isinstance(call.func, ast.Name) or not functions_named(module, call.func.id):
        return None
    return named(module, call.func.id)


def _targets(call: ast.Call, module: PythonModule) -> Iterator[str]:
    """The last names of what a call, or an item of what it returns, is assigned to."""
    parent = module.parents.get(call)
    if isinstance(parent, ast.Subscript):
        parent = module.parents.get(parent)
    if isinstance(parent, ast.Assign):
        for target in parent.targets:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            yield from map(last_name, parts)
    elif isinstance(parent, (ast.AnnAssign, ast.NamedExpr)):
        yield last_name(parent.target)


def construction(node: ast.expr, module: PythonModule) -> ast.Call | None:
    """The call that built the object an expression stands for."""
    if object_of(node, module) is None:
        return None
    source = _source(node, module)
    return source if isinstance(source, ast.Call) else None


def _source(node: ast.expr, module: PythonModule, depth: int = 0) -> ast.expr | None:
    """What an expression was certainly assigned: a call, or the target among several that a call was unpacked to."""
    if isinstance(node, ast.Call):
        function = _own_function(node, module)
        return node if function is None else _returned(function, depth, module)
    if isinstance(node, ast.Name):
        site = scopes(module).binding(node)
        if isinstance(site, ast.arg):
            return _handed(site, depth, module)
    elif isinstance(node, ast.Attribute):
        site = _own_attribute(node, module)
    else:
        return None
    return _assigned(site, module, depth) if isinstance(site, (ast.Name, ast.Attribute)) else None


def _assigned(target: ast.Name | ast.Attribute, module: PythonModule, depth: int) -> ast.expr | None:
    parent = module.parents.get(target)
    if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        return parent.value if isinstance(parent.value, ast.Subscript) else _called(parent.value, module, depth)
    return target if isinstance(parent, (ast.Tuple, ast.List)) else None


def _called(node: ast.expr | None, module: PythonModule, depth: int) -> ast.expr | None:
    return _source(node, module, depth) if isinstance(node, ast.Call) else None


@per_module
def _returned(function: FunctionNode, depth: int, module: PythonModule) -> ast.expr | None:
    """What the only `return` of a function gives."""
    found = [node.value for node in module.of(ast.Return) if module.function(node) is function]
    if depth >= _DEEP or len(found) != 1 or found[0] is None:
        return None
    return _source(found[0], module, depth + 1)


@per_module
def _handed(parameter: ast.arg, depth: int, module: PythonModule) -> ast.expr | None:
    """What the first call of its function hands over for a parameter, if all of them certainly do so of one class."""
    function = module.parents.get(module.parents[parameter])
    if depth >= _DEEP or not isinstance(function, ast.FunctionDef) or named(module, function.name) is not function:
        return None
    sources: list[ast.expr] = []
    for call in call_sites(module, function):
        values = bound(function, call, call.args, {one.arg: one.value for one in call.keywords}, False)
        given = values.get(parameter.arg) if values is not None else None
        source = _source(given, module, depth + 1) if given is not None else None
        if source is None:
            return None
        sources.append(source)
    built = [_built(source, module) for source in sources]
    return sources[0] if sources and None not in built and all(one == built[0] for one in built) else None


def _own_attribute(node: ast.Attribute, module: PythonModule) -> ast.Attribute | None:
    """The one place in its class that assigns `self.x`, if no other code of the file assigns an attribute `x`."""
    if not isinstance(node.value, ast.Name):
        return None
    function = module.function(node)
    cls = module.class_of(node)
    if function is None or cls is None or not _is_self(node.value, module):
        return None
    assigned = stored(module).get(node.attr, [])
    if len(assigned) != 1 or node.attr in _class_level(cls):
        return None
    (only,) = assigned
    is_here = module.class_of(only) is cls and isinstance(only.value, ast.Name) and _is_self(only.value, module)
    return only if is_here and isinstance(only.ctx, ast.Store) else None


def _is_self(node: ast.Name, module: PythonModule) -> bool:
    """Whether a name is the first parameter of a plain method."""
    site = scopes(module).binding(node)
    if not isinstance(site, ast.arg):
        return False
    function = module.parents.get(module.parents[site])
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    positional = [*function.args.posonlyargs, *function.args.args]
    is_method = isinstance(module.parents.get(function), ast.ClassDef)
    marks = {key_of(d) for d in function.decorator_list}
    return is_method and bool(positional) and positional[0] is site and not marks & {"staticmethod", "classmethod"}


def _class_level(cls: ast.ClassDef) -> set[str]:
    names = {getattr(statement, "name", "") for statement in cls.body}
    for statement in cls.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        names.update(key_of(target) for target in targets)
    return names


@per_module
def stored(module: PythonModule) -> dict[str, list[ast.Attribute]]:
    """The places that assign or delete an attribute, by its name."""
    table: dict[str, list[ast.Attribute]] = {}
    for node in module.of(ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            table.setdefault(node.attr, []).append(node)
    return table


def class_named(node: ast.expr, module: PythonModule) -> ast.expr | None:
    """The expression that names the class of the object which an expression certainly is: in the call that builds it,
    or among the classes of its parser.
    """
    source = _source(node, module) if object_of(node, module) is not None else None
    return _class_node(source, module) if source is not None else None


@per_module
def _built(source: ast.expr, module: PythonModule) -> Callee | None:
    cls = _class_node(source, module)
    return _of_class(cls, module) if cls is not None else None


def _class_node(source: ast.expr, module: PythonModule) -> ast.expr | None:
    if isinstance(source, ast.Call):
        return source.func
    if isinstance(source, ast.Subscript):  # parser.parse_args_and_config()[0]
        index = source.slice.value if isinstance(source.slice, ast.Constant) else None
        return _parsed(source.value, index, None, module) if isinstance(index, int) and index >= 0 else None
    around = module.parents[source]
    assign = module.parents.get(around)
    if not isinstance(around, (ast.Tuple, ast.List)) or not isinstance(assign, ast.Assign):
        return None
    if any(isinstance(element, ast.Starred) for element in around.elts) or around not in assign.targets:
        return None
    return _parsed(assign.value, around.elts.index(source), len(around.elts), module)


def _of_class(node: ast.expr, module: PythonModule) -> Callee | None:
    found = instances(node, module) if may_name_known(node, module) else None
    return found if found is not None and is_class(found.dotted) else None


def _parsed(node: ast.expr, index: int, count: int | None, module: PythonModule) -> ast.expr | None:
    """The class at a place of what a parser for dataclasses returns: they come in the order in which it got them."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in PARSING:
        return None
    parser = object_of(node.func.value, module)
    built = construction(node.func.value, module)
    if parser is None or built is None or parser.name not in _PARSERS:
        return None
    classes = dataclass_types(built, module)
    if classes is None or any(isinstance(cls, ast.Starred) for cls in classes) or index >= len(classes):
        return None
    # Besides the objects there may be one more result: the arguments that no class took.
    if count is not None and count - len(classes) not in (0, 1):
        return None
    return classes[index]
