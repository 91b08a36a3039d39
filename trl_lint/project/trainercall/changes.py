"""What is done to an object in place between where it is made and where it is used."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right

from trl_lint.project.trainercall.made import Change, Frame, Resolver
from trl_lint.python.guards import key_of
from trl_lint.python.reaching import Branches, Place, Touch, branches_around, place_of, touches
from trl_lint.python.scopes import scopes

_MOST_CHANGES = 64


def changes_of(resolver: Resolver, owner: str, site: ast.AST, use: ast.AST, frame: Frame) -> tuple[Change, ...]:
    """The changes by statements between a place that binds `owner` and one that uses it, in their order."""
    if isinstance(site, (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return ()
    return changes_between(resolver, owner, place_of(site), use, frame)


def changes_between(resolver: Resolver, owner: str, start: Place, use: ast.AST, frame: Frame) -> tuple[Change, ...]:
    """The changes after `start` and before a use, in the function of both."""
    module = frame.module
    found = touches(module, owner)
    if not found:
        return ()
    end = place_of(module.statement(use) or use)
    first = bisect_right(found, start, key=_place_of_touch)
    last = bisect_left(found, end, key=_place_of_touch)
    near = found[max(first, last - _MOST_CHANGES) : last]
    if not near:
        return ()
    table = scopes(module)
    scope = table.scope(use)
    around = branches_around(module, use)
    changes = []
    for touch in near:
        if table.scope(touch.statement) is not scope:
            continue
        own = branches_around(module, touch.statement)
        if any(branch._replace(truth=not branch.truth) in around for branch in own):
            continue  # in the other arm
        under = tuple(branch for branch in own if branch not in around)
        changes.append(_change(resolver, touch.statement, owner, under, frame))
    return tuple(changes)


def _place_of_touch(touch: Touch) -> Place:
    return place_of(touch.statement)


def _change(resolver: Resolver, statement: ast.stmt, owner: str, under: Branches, frame: Frame) -> Change:
    conditions = resolver.conditions(under, frame)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        path = _path(statement.value.func, owner)
        return Change("call" if path else "other", path, statement.value, statement, frame, conditions)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, ast.Attribute) and (path := _path(target, owner)):
                return Change("set", path, statement.value, statement, frame, conditions)
            if isinstance(target, ast.Subscript) and key_of(target.value) == owner:
                key = frame.module.value(target.slice)
                text = key if isinstance(key, str) else ""
                return Change("item", text, statement.value, statement, frame, conditions)
    return Change("other", "", None, statement, frame, conditions)


def _path(node: ast.expr, owner: str) -> str:
    """What follows the owner in a dotted name, "" where it is none, or something else stands between."""
    key = key_of(node)
    return key[len(owner) + 1 :] if key.startswith(f"{owner}.") and "[" not in key else ""
