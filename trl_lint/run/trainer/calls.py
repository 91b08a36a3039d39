"""What a call gives: the returns of the project's functions, and the calls of others as they are written."""

from __future__ import annotations

import ast

from trl_lint.memos import per_module
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.reaching import Branch, branches_around, place_of
from trl_lint.python.values import is_none
from trl_lint.run.parsers import PARSING
from trl_lint.run.trainer import attributes, entries
from trl_lint.run.trainer.made import Frame, Made, Options, Resolver, beneath

_DEEP = 8  # calls in calls
_MOST_BEFORE = 40  # statements before a `return`, of which some may have returned already
_SAME = frozenset({"copy.copy", "copy.deepcopy", "deepcopy", "list", "tuple", "torch.compile"})
_PARSERS = frozenset({"TrlParser", "HfArgumentParser"})
_ARGPARSE = frozenset({"parse_args", "parse_known_args"})


class Bound:
    """What a call passes to the parameters of a function. `owner`: the object that a method is called on."""

    __slots__ = ("call", "caller", "function", "offset", "owner", "resolver")

    def __init__(
        self,
        resolver: Resolver,
        function: FunctionNode | ast.Lambda,
        call: ast.Call | None,
        caller: Frame,
        owner: Made | None,
    ) -> None:
        self.resolver = resolver
        self.function = function
        self.call = call
        self.caller = caller
        self.owner = owner
        self.offset = 1 if owner is not None else 0

    def of(self, name: str) -> Options | None:
        """What is passed for a parameter; None where nothing is, so that its default counts."""
        spec = self.function.args
        positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
        if self.owner is not None and positional[:1] == [name]:
            return (self.owner,)
        if self.call is None:
            return None
        if spec.kwarg is not None and spec.kwarg.arg == name:
            return (Made("dict", self.call, self.caller, "**"),)
        if spec.vararg is not None and spec.vararg.arg == name:
            rest = ast.Tuple(self.call.args[max(0, len(positional) - self.offset) :], ast.Load())
            return (Made("list", ast.copy_location(rest, self.call), self.caller),)
        position = positional.index(name) - self.offset if name in positional else None
        found = entries.given(self.resolver, self.call, self.caller, name, position)
        return None if all(made.kind == "absent" for made in found) else found


def of_call(resolver: Resolver, node: ast.Call, frame: Frame) -> Options:
    found: list[Made] = []
    for callee in resolver.options(node.func, frame):
        found += beneath(_called(resolver, callee, node, frame), callee.under)
    return tuple(found)


def _called(resolver: Resolver, callee: Made, node: ast.Call, frame: Frame) -> Options:
    if callee.kind == "function":
        return returned(resolver, callee, node, frame)
    if callee.kind == "class":
        is_dict = any(base.name == "TypedDict" for base in attributes.bases_of(resolver, callee))
        return (Made("dict" if is_dict else "instance", node, frame, callee.origin, base=None if is_dict else callee),)
    if callee.kind == "name":
        return _of_library(resolver, callee.origin, node, frame)
    if callee.kind == "part" and isinstance(callee.base, Made):
        return _method(resolver, callee.base, callee.origin, node, frame)
    return (resolver.unknown(node, frame),)


def _of_library(resolver: Resolver, origin: str, node: ast.Call, frame: Frame) -> Options:
    if origin == "dict":
        return (Made("dict", node, frame),)
    if origin in _SAME and node.args:
        return resolver.options(node.args[0], frame)
    if origin in ("typing.cast", "cast") and len(node.args) > 1:
        return resolver.options(node.args[1], frame)
    if origin == "getattr" and len(node.args) > 1:
        name = frame.module.value(node.args[1])
        if isinstance(name, str):
            found = [
                one
                for made in resolver.options(node.args[0], frame)
                for one in beneath(attributes.attribute(resolver, made, name, node, frame), made.under)
            ]
            return tuple(found)
    if origin == "tyro.cli" and node.args:
        return tuple(Made("parsed", node, frame, origin, base=made) for made in resolver.options(node.args[0], frame))
    return (Made("call", node, frame, origin),)


def _method(resolver: Resolver, base: Made, name: str, node: ast.Call, frame: Frame) -> Options:
    """A method of an object that is none of the project's."""
    kind = _parser_kind(resolver, base)
    if (kind == "dataclasses" and (name in PARSING or name.startswith("parse"))) or (
        kind == "argparse" and name in _ARGPARSE
    ):
        return (Made("parsed", node, frame, name, base=base),)
    if base.kind == "dict":
        if name == "copy":
            return (base,)
        if name in ("get", "pop", "setdefault") and node.args:
            key = frame.module.value(node.args[0])
            if isinstance(key, str):
                held = entries.entry(resolver, base, key)
                return tuple(made for one in held for made in _or_default(resolver, one, node, frame))
    if base.kind in ("unknown", "computed"):
        return (resolver.unknown(node, frame),)
    return (Made("call", node, frame, f".{name}", base=base),)


def _or_default(resolver: Resolver, made: Made, node: ast.Call, frame: Frame) -> Options:
    if made.kind != "absent":
        return (made,)
    if len(node.args) < 2:
        return (Made("literal", node, frame, under=made.under, value=None),)
    return beneath(resolver.options(node.args[1], frame), made.under)


def _parser_kind(resolver: Resolver, base: Made) -> str:
    """Whether an object is a parser: of dataclasses, of argparse, or "" for none."""
    if base.kind == "instance":
        cls = attributes.class_of(base)
        names = {one.name for one in attributes.bases_of(resolver, cls)} if cls is not None else set()
        if not names.isdisjoint(_PARSERS):
            return "dataclasses"
        return "argparse" if "ArgumentParser" in names else ""
    if base.kind != "call":
        return ""
    return "dataclasses" if base.name in _PARSERS else "argparse" if base.name == "ArgumentParser" else ""


# -- functions of the project ---------------------------------------------------------------------------------------


def frame_of(resolver: Resolver, function: Made, instance: Made) -> Frame:
    """The frame of the `__init__` that made an object of the project."""
    node, call = function.node, instance.node
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and isinstance(call, ast.Call)
    bound = Bound(resolver, node, call, instance.frame, Made("self", node, function.frame, base=instance.base))
    made = Frame(resolver, function.frame.module, node, bound, instance.frame, call)
    return resolver.bound(call, instance.frame, node, made)


def returned(resolver: Resolver, function: Made, call: ast.Call | None, caller: Frame) -> Options:
    """What a function of the project gives back for a call; None as a call stands for reading a property."""
    node, module = function.node, function.frame.module
    at: ast.AST = call if call is not None else node
    if caller.depth >= _DEEP or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return (resolver.unknown(at, caller),)
    bound = Bound(resolver, node, call, caller, _owner(node, function))
    frame = Frame(resolver, module, node, bound, caller, call)
    if call is not None:
        frame = resolver.bound(call, caller, node, frame)
    if isinstance(node, ast.Lambda):
        return resolver.options(node.body, frame)
    if node in _generators(module):
        return (resolver.unknown(at, caller),)
    found: list[Made] = []
    for statement in _returns(module).get(node, []):
        under = resolver.conditions(_tests_before(module, statement, node), frame)
        if statement.value is None or is_none(statement.value):
            found.append(Made("literal", statement, frame, under=under, value=None))
        else:
            found += beneath(resolver.options(statement.value, frame), under)
    return tuple(found) or (Made("literal", at, caller, value=None),)


def _owner(node: FunctionNode | ast.Lambda, function: Made) -> Made | None:
    """The object that the first parameter of a method stands for; None where it has none."""
    base = function.base
    if isinstance(node, ast.Lambda) or not isinstance(base, Made):
        return None
    decorators = {item.id for item in node.decorator_list if isinstance(item, ast.Name)}
    if "staticmethod" in decorators or (base.kind == "class" and "classmethod" not in decorators):
        return None
    return base


def _tests_before(module: PythonModule, statement: ast.Return, function: FunctionNode) -> tuple[Branch, ...]:
    """The tests on the way to a `return`: those around it, and those of an `if` before it that would have returned."""
    found: list[Branch] = list(branches_around(module, statement, function))
    child: ast.AST = statement
    for parent in module.ancestors(statement):
        for field in ("body", "orelse"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and block and place_of(block[0]) <= place_of(child) <= place_of(block[-1]):
                before = block[: block.index(child)][-_MOST_BEFORE:] if isinstance(child, ast.stmt) else []
                found += [
                    Branch(one.test, False)
                    for one in before
                    if isinstance(one, ast.If) and isinstance(one.body[-1], ast.Return) and not one.orelse
                ]
        if parent is function:
            break
        child = parent
    return tuple(found)


@per_module
def _returns(module: PythonModule) -> dict[ast.AST, list[ast.Return]]:
    table: dict[ast.AST, list[ast.Return]] = {}
    for statement in sorted(module.of(ast.Return), key=place_of):
        function = module.function(statement)
        if function is not None:
            table.setdefault(function, []).append(statement)
    return table


@per_module
def _generators(module: PythonModule) -> set[ast.AST]:
    """The functions that yield."""
    found = (module.function(node) for node in (*module.of(ast.Yield), *module.of(ast.YieldFrom)))
    return {function for function in found if function is not None}
