"""What is done to an object in place between where it is made and where it is used."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from trl_lint.memos import per_module
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.reaching import Branches, Place, branches_around, owner_of, place_of
from trl_lint.python.scopes import scopes
from trl_lint.run.trainer.made import Change, ChangeKind, Frame, Resolver

_MOST_CHANGES = 64  # the last ones before a use; those before them are one that is unknown


def changes_of(resolver: Resolver, owner: str, site: ast.AST, use: ast.AST, frame: Frame) -> tuple[Change, ...]:
    """The changes by statements between a place that binds `owner` and one that uses it, in their order."""
    if isinstance(site, (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return ()
    return changes_between(resolver, owner, place_of(site), use, frame)


def changes_between(resolver: Resolver, owner: str, start: Place, use: ast.AST, frame: Frame) -> tuple[Change, ...]:
    """The changes after `start` and before a use, in the function of both.

    Of very many only the last ones are told, after one of the kind "other", which may have changed anything.
    """
    module = frame.module
    found = _by_scope(module, owner).get(scopes(module).scope(use))
    if not found:
        return ()
    end = place_of(module.statement(use) or use)
    first = bisect_right(found, start, key=place_of)
    last = bisect_left(found, end, key=place_of)
    near = found[max(first, last - _MOST_CHANGES) : last]
    if not near:
        return ()
    around = branches_around(module, use)
    changes: list[Change] = []
    if last - first > _MOST_CHANGES:
        changes.append(Change("other", "", None, found[last - _MOST_CHANGES - 1], frame))
    for statement in near:
        own = branches_around(module, statement)
        if any(branch._replace(truth=not branch.truth) in around for branch in own):
            continue  # in the other arm
        under = tuple(branch for branch in own if branch not in around)
        changes += _changes_by(resolver, statement, owner, under, frame)
    return tuple(changes)


@per_module
def _by_scope(module: PythonModule, owner: str) -> dict[ast.AST, list[ast.stmt]]:
    """The statements that change something of a name in place, by the function they stand in, in text order."""
    table: dict[ast.AST, list[ast.stmt]] = {}
    for statement in touches(module, owner):
        table.setdefault(scopes(module).scope(statement), []).append(statement)
    return table


def _changes_by(resolver: Resolver, statement: ast.stmt, owner: str, under: Branches, frame: Frame) -> Iterator[Change]:
    """What one statement changes of an object: something for each of its targets."""
    conditions = resolver.conditions(under, frame)

    def change(kind: ChangeKind, path: str = "", value: ast.expr | None = None) -> Change:
        return Change(kind, path, value, statement, frame, conditions)

    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if _is_setter(call):
            path = _set_path(call, owner, frame.module)
            is_set = path != "" and isinstance(call.func, ast.Name) and call.func.id == "setattr"
            yield change("set" if is_set else "other", path, call.args[2] if is_set else None)
        else:
            path = _path(call.func, owner)
            yield change("call", path, call) if path else change("other", _within(call.func, owner), call)
        return
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return  # declares, and sets nothing
    is_plain = isinstance(statement, (ast.Assign, ast.AnnAssign))
    for target, value in _targets(statement):
        if isinstance(target, ast.Attribute) and (path := _path(target, owner)):
            yield change("set" if is_plain and value is not None else "other", path, value if is_plain else None)
        elif is_plain and isinstance(target, ast.Subscript) and key_of(target.value) == owner:
            key = frame.module.value(target.slice)
            yield change("item", key if isinstance(key, str) else "", value)
        elif isinstance(target, (ast.Attribute, ast.Subscript)) and owner_of(target.value) == owner:
            yield change("other", _within(target.value, owner))


def _targets(statement: ast.stmt) -> list[tuple[ast.expr, ast.expr | None]]:
    """What a statement binds, sets or deletes, each with its new value; None where that is not written by itself."""
    if isinstance(statement, ast.Delete):
        return [(target, None) for target in statement.targets]
    if isinstance(statement, ast.Assign):
        waiting: list[tuple[ast.expr, ast.expr | None]] = [(target, statement.value) for target in statement.targets]
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        waiting = [(statement.target, statement.value)]
    else:
        return []
    found = []
    for target, value in waiting:
        if isinstance(target, (ast.Tuple, ast.List)):
            waiting += zip(target.elts, _parts(value, target.elts), strict=True)
        elif isinstance(target, ast.Starred):
            waiting.append((target.value, None))
        else:
            found.append((target, value))
    return found


def _parts(value: ast.expr | None, targets: list[ast.expr]) -> list[ast.expr] | list[None]:
    """The values for the targets of `a, b = 1, 2`."""
    values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    is_spread = any(isinstance(one, ast.Starred) for one in (*values, *targets))
    return [None] * len(targets) if is_spread or len(values) != len(targets) else values


def _set_path(call: ast.Call, owner: str, module: PythonModule) -> str:
    """The path that `setattr(x.a, "b", …)` sets of `x`: `a.b`; "" where it is not known which."""
    holder = key_of(call.args[0])
    name = module.value(call.args[1]) if len(call.args) > 1 and not call.keywords else None
    if not isinstance(name, str) or "[" in holder or (holder != owner and not holder.startswith(f"{owner}.")):
        return ""
    return f"{holder}.{name}"[len(owner) + 1 :]


def _within(node: ast.expr, owner: str) -> str:
    """The attributes between the owner and an item: `a` for `x.a["b"]`, "" where there are none."""
    key = key_of(node).partition("[")[0]
    return key[len(owner) + 1 :] if key.startswith(f"{owner}.") else ""


def _path(node: ast.expr, owner: str) -> str:
    """What follows the owner in a dotted name, "" where it is none, or something else stands between."""
    key = key_of(node)
    return key[len(owner) + 1 :] if key.startswith(f"{owner}.") and "[" not in key else ""


def touches(module: PythonModule, owner: str) -> list[ast.stmt]:
    """The statements that set or call something of a name, in text order.

    `x.a = …`, `x.a, y = …`, `x["a"] += …`, `del x.a`, `x.update(…)`, `setattr(x, …)`.
    """
    return _touches(module).get(owner, [])


@per_module
def _touches(module: PythonModule) -> dict[str, list[ast.stmt]]:
    table: dict[str, list[ast.stmt]] = {}
    statements: list[ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Delete] = [
        *module.of(ast.Assign), *module.of(ast.AugAssign), *module.of(ast.AnnAssign), *module.of(ast.Expr),
        *module.of(ast.Delete),
    ]  # fmt: skip
    for statement in sorted(statements, key=place_of):
        for owner in dict.fromkeys(_owners(statement)):
            table.setdefault(owner, []).append(statement)
    return table


def _owners(statement: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Delete) -> Iterator[str]:
    if isinstance(statement, ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            yield owner_of(call.func.value)
        elif _is_setter(call) and isinstance(call, ast.Call):
            yield owner_of(ast.Attribute(call.args[0], "", ast.Load()))
        return
    waiting = list(statement.targets if isinstance(statement, (ast.Assign, ast.Delete)) else [statement.target])
    for target in waiting:
        if isinstance(target, (ast.Attribute, ast.Subscript)):
            yield owner_of(target.value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            waiting += target.elts
        elif isinstance(target, ast.Starred):
            waiting.append(target.value)


def _is_setter(node: ast.expr) -> bool:
    """Whether it is `setattr(x, …)` or `delattr(x, …)`."""
    is_named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr")
    return is_named and isinstance(node, ast.Call) and bool(node.args)
