"""Which branches a place stands in, under an assumption: can this call run when FSDP is on?

The answer is three-valued. A test is evaluated piece by piece with an `Atom`, a function that knows the assumption and
says True, False or, for what it cannot judge, None.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from itertools import takewhile
from typing import Literal

from trl_lint.memos import per_module
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.regexes import regex

Truth = bool | None
Atom = Callable[[ast.expr], Truth]
Reach = Literal["excluded", "reached", "unsure"]

_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_CALLERS_DEEP = 3  # callers of callers; from further away a place is reached
# What holds a place that may fail, and is to: a `with`, or a decorator of a test.
EXPECTING = regex(r"raises|assertRaises|suppress|importorskip|skip|require|deprecat|warns|xfail", re.IGNORECASE)
# The marks of a test that is to fail: `pytest.mark.xfail`, and `unittest.expectedFailure`.
_FAILING = regex(r"xfail|expectedFailure")
# What no setting of a class or a trainer raises.
_OTHER_ERRORS = frozenset({"ImportError", "KeyboardInterrupt", "ModuleNotFoundError", "OSError", "SystemExit"})
_EXITS = frozenset({"_exit", "abort", "exit", "fail"})


def evaluate(test: ast.expr, atom: Atom) -> Truth:
    """The truth of a test under the assumption: `not`, `and`, `or`, `bool()` and constants are understood here."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = evaluate(test.operand, atom)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.Or)  # one True decides an `or`, one False an `and`
        values = [evaluate(value, atom) for value in test.values]
        if decisive in values:
            return decisive
        return None if None in values else not decisive
    if isinstance(test, ast.NamedExpr):
        return evaluate(test.value, atom)
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "bool" and test.args:
        return evaluate(test.args[0], atom)
    return atom(test)


class Assumption:
    """What is taken for true of a run, and which places of a module can run then.

    `atom` knows it; `mentions` says whether a test speaks about it at all. What the statements of a block, and the
    callers of a function, come to is worked out once for all places in them.
    """

    def __init__(self, module: PythonModule, atom: Atom, mentions: Callable[[ast.expr], bool]) -> None:
        self._module = module
        self._atom = atom
        self._mentions = mentions
        self._blocks: dict[tuple[ast.AST, str], _Block] = {}
        self._callers: dict[tuple[ast.AST, int], set[Reach]] = {}

    def reach(self, node: ast.AST, depth: int = 0) -> Reach:
        """Whether `node` can run under the assumption.

        "unsure" where a test on the way speaks about it in a way that `atom` does not understand. A function whose
        every caller in the module is excluded is excluded too.
        """
        unsure = False
        child = node
        for parent in self._module.ancestors(node):
            for test, wanted in _conditions(parent, child):
                truth = evaluate(test, self._atom)
                if truth is not None and truth is not wanted:
                    return "excluded"
                unsure = unsure or (truth is None and self._mentions(test))
            before = self._before(parent, child)
            if before == "excluded":
                return "excluded"
            unsure = unsure or before == "unsure"
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and depth < _CALLERS_DEEP:
                reaches = self._reaches(parent, depth)
                if reaches == {"excluded"}:
                    return "excluded"
                unsure = unsure or (bool(reaches) and "reached" not in reaches)
            child = parent
        return "unsure" if unsure else "reached"

    def _reaches(self, function: FunctionNode, depth: int) -> set[Reach]:
        """What becomes of the calls of a function in the module."""
        key = function, depth
        if key not in self._callers:
            self._callers[key] = {self.reach(site, depth + 1) for site in call_sites(self._module, function)}
        return self._callers[key]

    def _before(self, parent: ast.AST, child: ast.AST) -> Reach:
        """What the statements that run before `child` in the same block of `parent` make of it."""
        for name in ("body", "orelse", "finalbody"):
            key = parent, name
            if key not in self._blocks:
                statements = getattr(parent, name, None)
                self._blocks[key] = _Block(statements if isinstance(statements, list) else [])
            block = self._blocks[key]
            if child in block.places:
                return block.reach(block.places[child], self._atom, self._mentions)
        return "reached"


class _Block:
    """The statements of a block, looked at in their order, as far as somebody asks."""

    def __init__(self, statements: list[ast.stmt]) -> None:
        self.places: dict[ast.AST, int] = {statement: place for place, statement in enumerate(statements)}
        self._rest = iter(statements)
        self._seen = 0
        self._left = self._unsure = len(statements)  # the first statement that leaves the block, and that may

    def reach(self, place: int, atom: Atom, mentions: Callable[[ast.expr], bool]) -> Reach:
        """Whether what stands at a place can run, as far as the statements before it tell."""
        while self._seen < min(place, self._left):
            statement = next(self._rest)
            if _leaves([statement], atom):
                self._left = self._seen
            elif self._seen < self._unsure and _may_leave(statement, atom, mentions):
                self._unsure = self._seen
            self._seen += 1
        return "excluded" if self._left < place else "unsure" if self._unsure < place else "reached"


def never_runs(module: PythonModule, node: ast.AST) -> bool:
    """Whether a place stands under `if False:`, or under a name that is nothing but a false literal."""
    return _literals(module).reach(node) == "excluded"


@per_module
def _literals(module: PythonModule) -> Assumption:
    """That names are what their literals say."""

    def known(test: ast.expr) -> Truth:
        value = module.value(test)
        return bool(value) if isinstance(value, (bool, int)) else None

    return Assumption(module, known, lambda test: False)


def _conditions(parent: ast.AST, child: ast.AST) -> list[tuple[ast.expr, bool]]:
    """The tests that decide whether `parent` runs `child`, each with the outcome it needs."""
    if isinstance(parent, (ast.If, ast.IfExp)):
        if child is parent.test:
            return []
        body = parent.body if isinstance(parent.body, list) else [parent.body]
        return [(parent.test, child in body)]
    if isinstance(parent, ast.While) and child in parent.body:
        return [(parent.test, True)]
    if isinstance(parent, ast.BoolOp):
        needed = isinstance(parent.op, ast.And)
        return [(value, needed) for value in takewhile(lambda value: value is not child, parent.values)]
    if isinstance(parent, (ast.ListComp, ast.SetComp, ast.GeneratorExp)) and child is parent.elt:
        return [(test, True) for generator in parent.generators for test in generator.ifs]
    return []


def _leaves(block: list[ast.stmt], atom: Atom) -> bool:
    """Whether a block certainly leaves (returns, raises, goes to the next turn) under the assumption."""
    for statement in block:
        if isinstance(statement, _LEAVING):
            return True
        if isinstance(statement, ast.Assert) and evaluate(statement.test, atom) is False:
            return True
        if isinstance(statement, (ast.With, ast.AsyncWith)) and _leaves(statement.body, atom):
            return True
        if isinstance(statement, ast.If):
            truth = evaluate(statement.test, atom)
            taken = (
                [statement.body, statement.orelse] if truth is None else [statement.body if truth else statement.orelse]
            )
            if all(_leaves(branch, atom) for branch in taken):
                return True
    return False


def _may_leave(statement: ast.stmt, atom: Atom, mentions: Callable[[ast.expr], bool]) -> bool:
    """Whether a statement leaves after a test that speaks about the assumption but is not understood."""
    if isinstance(statement, ast.If) and evaluate(statement.test, atom) is None and mentions(statement.test):
        return _leaves(statement.body, atom) or _leaves(statement.orelse, atom)
    return isinstance(statement, ast.Assert) and evaluate(statement.test, atom) is None and mentions(statement.test)


def is_expecting(module: PythonModule, block: ast.With | ast.AsyncWith) -> bool:
    """Whether a `with` expects what is in it to fail: `pytest.raises(…)`, `self.assertRaises(…)`, `suppress(…)`."""
    return any(EXPECTING.search(module.segment(item.context_expr)) for item in block.items)


def is_expected_to_fail(module: PythonModule, node: ast.AST) -> bool:
    """Whether the program goes on where a place fails: a test expects it, or a handler neither raises nor leaves.

    A place in a handler counts as well: what it is tried for has failed in another way before. So does the whole of a
    test or a class of tests that is marked to fail, whatever the condition of the mark.
    """
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.With, ast.AsyncWith)) and child in parent.body and is_expecting(module, parent):
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and any(
            _FAILING.search(module.segment(decorator)) for decorator in parent.decorator_list
        ):
            return True
        if isinstance(parent, ast.Try) and (
            isinstance(child, ast.ExceptHandler) or (child in parent.body and any(map(_goes_on, parent.handlers)))
        ):
            return True
        child = parent
    return False


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes an error of a value or a call, and the program goes on."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    if all(kind is not None and last_name(kind) in _OTHER_ERRORS for kind in kinds):
        return False
    last = handler.body[-1]
    is_exit = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and last_name(last.value) in _EXITS
    return not is_exit and not isinstance(last, ast.Raise)


def call_sites(module: PythonModule, function: FunctionNode) -> list[ast.Call]:
    """The calls of a function in its own module: `name(…)`, or `self.name(…)` for a method."""
    kind = ast.Attribute if isinstance(module.parents.get(function), ast.ClassDef) else ast.Name
    return calls_by_name(module).get((kind, function.name), [])


@per_module
def calls_by_name(module: PythonModule) -> dict[tuple[type[ast.expr], str], list[ast.Call]]:
    """The calls of a module by how their callee is written: a name, or an attribute, and its last part."""
    table: dict[tuple[type[ast.expr], str], list[ast.Call]] = {}
    for call in module.calls:
        func = call.func
        if isinstance(func, (ast.Name, ast.Attribute)):
            name = func.id if isinstance(func, ast.Name) else func.attr
            table.setdefault((type(func), name), []).append(call)
    return table


@per_module
def calls_by_function(module: PythonModule) -> dict[FunctionNode | None, list[ast.Call]]:
    """The calls of each function in the order of the text, those that stand in none under None."""
    found: dict[FunctionNode | None, list[ast.Call]] = {}
    for call in module.calls:
        found.setdefault(module.function(call), []).append(call)
    return found


def functions_named(module: PythonModule, name: str) -> list[FunctionNode]:
    """The functions and methods of a module that have a name."""
    return _functions_by_name(module).get(name, [])


@per_module
def _functions_by_name(module: PythonModule) -> dict[str, list[FunctionNode]]:
    table: dict[str, list[FunctionNode]] = {}
    for function in module.functions:
        table.setdefault(function.name, []).append(function)
    return table


def exclusive(module: PythonModule, one: ast.AST, other: ast.AST) -> bool:
    """Whether two places can never run in the same pass: they stand in different branches of one `if`.

    Places in two functions are compared through the calls of these functions.
    """
    return all(_branches_differ(module, a, b) for a in _entries(module, one) for b in _entries(module, other))


def _entries(module: PythonModule, node: ast.AST) -> list[ast.AST]:
    function = module.function(node)
    sites: list[ast.AST] = list(call_sites(module, function)) if function is not None else []
    return sites or [node]


def _branches_differ(module: PythonModule, one: ast.AST, other: ast.AST) -> bool:
    path = {id(parent): child for parent, child in _path(module, one)}
    for parent, child in _path(module, other):
        if id(parent) in path:
            beside = path[id(parent)]
            if isinstance(parent, (ast.If, ast.IfExp)) and _conditions(parent, child) != _conditions(parent, beside):
                return True
            return _left_before(parent, beside, child)
    return False


def _left_before(parent: ast.AST, one: ast.AST, other: ast.AST) -> bool:
    """Whether the earlier of two statements of a block is an `if` that returns: the later one is its `else`."""
    if one is other:
        return False
    for name in ("body", "orelse"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and one in block and other in block:
            first = min((one, other), key=block.index)
            return isinstance(first, ast.If) and isinstance(first.body[-1], (ast.Return, ast.Raise))
    return False


def _path(module: PythonModule, node: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """Pairs of parent and child from a node outwards."""
    found, child = [], node
    for parent in module.ancestors(node):
        found.append((parent, child))
        child = parent
    return found


@per_module
def bindings(module: PythonModule) -> dict[str, list[ast.expr]]:
    """What every name and attribute of the module is assigned, by its `key_of`."""
    table: dict[str, list[ast.expr]] = {}
    for assignment in module.of(ast.Assign):
        for target in assignment.targets:
            table.setdefault(key_of(target), []).append(assignment.value)
    for annotated in module.of(ast.AnnAssign):
        if annotated.value is not None:
            table.setdefault(key_of(annotated.target), []).append(annotated.value)
    for named in module.of(ast.NamedExpr):
        table.setdefault(key_of(named.target), []).append(named.value)
    table.pop("", None)
    return table


def key_of(node: ast.expr | None) -> str:
    """A name for a place that holds a value: `self.model`, `models[]`; "" for everything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = key_of(node.value)
        return base and f"{base}.{node.attr}"
    if isinstance(node, ast.Subscript):
        base = key_of(node.value)
        return base and f"{base}[]"
    return ""


def last_name(node: ast.expr | None) -> str:
    """The last identifier of a dotted expression or of the function a call names: `self.accelerator` -> accelerator."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
