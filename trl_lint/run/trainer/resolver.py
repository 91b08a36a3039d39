"""How an expression was made: names, branches, calls of the project's functions, attributes, callers; within a budget.

Everything is worked out when it is asked for, and kept with the module that asked. Expressions are followed backwards
from where they are used, so that only what a trainer is given is read.
"""

from __future__ import annotations

import ast

from trl_lint.memos import Circle, per_module
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.python.module import FUNCTIONS, FunctionNode, PythonModule
from trl_lint.python.reaching import Branches
from trl_lint.python.values import literal
from trl_lint.run.trainer import attributes, calls, entries, names
from trl_lint.run.trainer.made import Condition, Conditions, Frame, Kind, Made, Options, beneath

# What is looked at for one question, how deep, and how many possibilities are kept. What lies beyond is unknown.
_STEPS = 4000
_DEEP = 60  # expressions in expressions; what is further in is unknown
MOST_OPTIONS = 24  # and one that is unknown, for the others


@per_module
def resolver_of(module: PythonModule, project: Project) -> Resolver:
    """The resolver for the objects that a module makes."""
    return Resolver(project)


class Resolver(Circle):
    """Answers how expressions were made. `project`: where imported names are looked for."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._known: dict[tuple[ast.AST, Frame], Options] = {}
        self._open: set[tuple[ast.AST, Frame]] = set()
        self._frames: dict[tuple[str, ast.AST | None], Frame] = {}
        self._bound: dict[tuple[ast.AST, Frame, ast.AST], Frame] = {}
        self._steps = _STEPS
        self.asked_callers = 0
        self.truths: dict[tuple[ast.AST, Frame, object], bool | None] = {}  # of tests, in runs or without one

    def cut(self) -> None:
        """Forget all answers: they stand in frames, which know their resolver."""
        self._known.clear()
        self._open.clear()
        self._frames.clear()
        self._bound.clear()
        self.truths.clear()

    def refill(self) -> None:
        """Begin another question, with a budget of its own."""
        self._steps, self.asked_callers = _STEPS, 0

    # -- frames ---------------------------------------------------------------------------------------------------

    def frame(self, module: PythonModule, function: FunctionNode | ast.Lambda | None = None) -> Frame:
        """A function as it is for any caller, or the body of a module."""
        key = module.path, function
        found = self._frames.get(key)
        if found is None or found.module is not module:
            found = self._frames[key] = Frame(self, module, function)
        return found

    def frame_at(self, node: ast.AST, frame: Frame) -> Frame:
        """The frame of a node in the module of another frame: this one, or that of the function around the node."""
        function = around(node, frame.module)
        return frame if function is frame.function else self.frame(frame.module, function)

    def bound(self, call: ast.Call, caller: Frame, function: FunctionNode | ast.Lambda, made: Frame) -> Frame:
        """The frame of a call; the same call gives the same frame again."""
        return self._bound.setdefault((call, caller, function), made)

    def conditions(self, branches: Branches, frame: Frame) -> Conditions:
        return tuple(Condition(branch.test, branch.truth, frame) for branch in branches)

    # -- expressions ----------------------------------------------------------------------------------------------

    def options(self, node: ast.expr, frame: Frame) -> Options:
        """How what an expression stands for may have been made."""
        key = (node, frame)
        known = self._known.get(key)
        if known is not None:
            return known
        if key in self._open or self._steps <= 0 or len(self._open) >= _DEEP:
            return (self.unknown(node, frame),)
        self._steps -= 1
        self._open.add(key)
        try:
            found = self.limited(self._read(node, frame), node, frame)
        finally:
            self._open.discard(key)
        if self._steps > 0:
            self._known[key] = found
        return found

    def limited(self, found: Options, node: ast.AST, frame: Frame) -> Options:
        """At most so many possibilities; none is as good as unknown."""
        if not found:
            return (self.unknown(node, frame),)
        return found if len(found) <= MOST_OPTIONS else (*found[:MOST_OPTIONS], self.unknown(node, frame))

    def unknown(self, node: ast.AST, frame: Frame) -> Made:
        return Made("unknown", node, frame)

    def absent(self, node: ast.AST, frame: Frame) -> Made:
        return Made("absent", node, frame)

    def _read(self, node: ast.expr, frame: Frame) -> Options:
        if isinstance(node, ast.Name):
            return names.of_name(self, node, frame)
        if isinstance(node, ast.Call):
            return calls.of_call(self, node, frame)
        if isinstance(node, ast.Attribute):
            return attributes.of_attribute(self, node, frame)
        if isinstance(node, ast.Subscript):
            return entries.of_subscript(self, node, frame)
        if isinstance(node, ast.IfExp):
            yes, no = Condition(node.test, True, frame), Condition(node.test, False, frame)
            return (*beneath(self.options(node.body, frame), (yes,)), *beneath(self.options(node.orelse, frame), (no,)))
        if isinstance(node, ast.BoolOp):
            return self._either(node, frame)
        if isinstance(node, (ast.Await, ast.NamedExpr, ast.Starred)):
            return self.options(node.value, frame)
        return (self._written(node, frame),)

    def _either(self, node: ast.BoolOp, frame: Frame) -> Options:
        """`a or b`: what is certainly false is passed over. An `and` is its last part, or something that is false."""
        if isinstance(node.op, ast.And):
            return (*self.options(node.values[-1], frame), Made("computed", node, frame))
        found: list[Made] = []
        for value in node.values[:-1]:
            options = self.options(value, frame)
            yes = (Condition(value, True, frame),)
            found += [made.beneath(yes) for made in options if not _is_false(made)]
            if all(attributes.is_true(self, made) for made in options):
                return (*found[: len(found) - len(options)], *options)
        no = tuple(Condition(value, False, frame) for value in node.values[:-1])
        return (*found, *beneath(self.options(node.values[-1], frame), no))

    def _written(self, node: ast.expr, frame: Frame) -> Made:
        kind: Kind = "computed"
        value: object = UNKNOWN
        if isinstance(node, (ast.Constant, ast.UnaryOp)):
            value = literal(node)
            kind = "literal" if value is not UNKNOWN else "computed"
        elif isinstance(node, ast.JoinedStr):
            kind = "literal"
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.ListComp)):
            kind, value = "list", literal(node)
        elif isinstance(node, ast.Dict):
            kind, value = "dict", literal(node)
        elif isinstance(node, ast.Lambda):
            kind = "function"
        return Made(kind, node, frame, value=value)

    # -- what rules ask of what was made --------------------------------------------------------------------------

    def argument(self, made: Made, name: str, position: int | None) -> Options:
        return entries.argument(self, made, name, position)

    def entry(self, made: Made, key: str) -> Options:
        return entries.entry(self, made, key)

    def items(self, made: Made) -> tuple[Options, ...] | None:
        return entries.items(self, made)

    def attribute(self, made: Made, name: str) -> Options:
        return attributes.attribute(self, made, name)


def _is_false(made: Made) -> bool:
    """Whether something is certainly passed over by an `or`."""
    return made.kind == "absent" or (made.kind == "literal" and made.value is not UNKNOWN and not made.value)


def around(node: ast.AST, module: PythonModule) -> FunctionNode | ast.Lambda | None:
    """The innermost function or lambda whose names a node uses."""
    from trl_lint.python.scopes import scopes

    scope = scopes(module).scope(node)
    while not isinstance(scope, (*FUNCTIONS, ast.Lambda)):
        if scope is module.tree:
            return None
        scope = scopes(module).scope(scope)
    return scope
