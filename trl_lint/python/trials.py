"""Imports that are tried, and the tests that ask whether they went well.

`try: from trl import X / except ImportError: X = None` tells nothing of a release in which X is: there every call of X
reaches it. So what such a trial covers is the import itself, and the code that runs where it failed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from trl_lint.memos import per_module
from trl_lint.python.guards import bindings, key_of
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple

CATCHING = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "Exception", "BaseException", "RuntimeError"}
)


class Trial(NamedTuple):
    """A `try` of nothing but imports: what it imports, dotted, and the names that are true where all went well."""

    imported: tuple[str, ...]
    names: frozenset[str]


def catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes what an import or a call raises that a release does not know."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or key_of(kind).rpartition(".")[2] in CATCHING for kind in kinds)


@per_module
def trials(module: PythonModule) -> dict[str, Trial]:
    """The trials of a module by each name that tells how they went: imported names, and flags such as `HAS_TRL`."""
    found: dict[str, Trial] = {}
    torn = set[str]()
    for node in module.of(ast.Try):
        trial = _trial(node, module)
        for name in trial.names if trial is not None else _bound(node):
            if trial is None or name in found:
                torn.add(name)
            else:
                found[name] = trial
    return {name: trial for name, trial in found.items() if name not in torn}


def passed_trials(
    module: PythonModule, test: ast.expr, outcome: bool, is_other: Callable[[ast.expr], bool]
) -> list[Trial] | None:
    """The trials that certainly went well where a test has this outcome; None where it says anything else as well.

    `is_other`: whether a part of the test speaks about releases in a way of its own.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return passed_trials(module, test.operand, not outcome, is_other)
    if isinstance(test, ast.BoolOp):
        if not any(isinstance(node, ast.Name) and node.id in trials(module) for node in ast.walk(test)):
            return None
        if isinstance(test.op, ast.And) is not outcome:
            return None
        parts = [passed_trials(module, value, outcome, is_other) for value in test.values]
        if any(part is None and is_other(value) for part, value in zip(parts, test.values, strict=True)):
            return None
        return [trial for part in parts for trial in part or ()]
    asked = _asked(module, test)
    return [asked[0]] if asked is not None and asked[1] is outcome else None


def is_of_failed_trial(module: PythonModule, test: ast.expr, outcome: bool) -> bool:
    """Whether a test of this outcome says that a trial failed: `if SFTConfig is None:`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_of_failed_trial(module, test.operand, not outcome)
    if isinstance(test, ast.BoolOp):  # one of the parts may be what decides
        return any(is_of_failed_trial(module, value, outcome) for value in test.values)
    asked = _asked(module, test)
    return asked is not None and asked[1] is not outcome


def _asked(module: PythonModule, test: ast.expr) -> tuple[Trial, bool] | None:
    """The trial that a test asks for, and the outcome that the test has where it went well."""
    known = trials(module)
    match test:
        case ast.Name(name) if name in known:
            return known[name], True
        case ast.Compare(ast.Name(name), [ast.Is() | ast.Eq()], [ast.Constant(value)]) if name in known:
            return known[name], value is True
        case ast.Compare(ast.Name(name), [ast.IsNot() | ast.NotEq()], [ast.Constant(value)]) if name in known:
            return known[name], value is not True
        case _:
            return None


def _trial(node: ast.Try, module: PythonModule) -> Trial | None:
    if not node.handlers or not all(map(catches, node.handlers)) or node.finalbody:
        return None
    imports = [one for one in node.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    if not imports or not all(map(_is_plain, node.body)):
        return None
    names = {alias.asname or alias.name.partition(".")[0] for one in imports for alias in one.names}
    if any(_reimports(handler, names) for handler in node.handlers):
        return None
    flags = _true_constants((*node.body, *node.orelse))
    table = bindings(module)
    telling = {name for name in names if table.get(name) and all(map(_is_false, table[name]))}
    for name, values in flags.items():
        others = [value for value in table.get(name, ()) if value not in values]
        if others and all(map(_is_false, others)) and not module.names.is_imported(name):
            telling.add(name)
    return Trial(tuple(_dotted(imports)), frozenset(telling))


def _dotted(imports: list[ast.Import | ast.ImportFrom]) -> Iterator[str]:
    for node in imports:
        for alias in node.names:
            if isinstance(node, ast.Import):
                yield alias.name
            elif not node.level and node.module and alias.name != "*":
                yield f"{node.module}.{alias.name}"


def _is_plain(statement: ast.stmt) -> bool:
    """Whether a statement of a trial imports, or notes that it went well: no other way to fail is meant."""
    if isinstance(statement, ast.Assign):
        return isinstance(statement.value, ast.Constant)
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass))


def _true_constants(statements: tuple[ast.stmt, ...]) -> dict[str, list[ast.expr]]:
    """The names that statements set to a true constant, and these constants."""
    found: dict[str, list[ast.expr]] = {}
    for statement in statements:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant) and statement.value.value:
            for target in statement.targets:
                found.setdefault(key_of(target), []).append(statement.value)
    return found


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _reimports(handler: ast.ExceptHandler, names: set[str]) -> bool:
    """Whether a handler gets one of the names from elsewhere: then it tells nothing of how the trial went."""
    return any(
        isinstance(node, (ast.Import, ast.ImportFrom))
        and any((alias.asname or alias.name.partition(".")[0]) in names for alias in node.names)
        for statement in handler.body
        for node in ast.walk(statement)
    )


def _bound(node: ast.Try) -> set[str]:
    """The names that a `try` binds, whatever it does."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)} | {
        alias.asname or alias.name.partition(".")[0]
        for one in ast.walk(node)
        if isinstance(one, (ast.Import, ast.ImportFrom))
        for alias in one.names
    }
