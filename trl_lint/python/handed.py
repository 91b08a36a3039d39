"""The calls that an object is handed to, by the name that it has there: `make_trainable(model)`, `Wrapper(m=model)`.

What a function does with its arguments nobody sees where it is called: here stands only that an object got there.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from trl_lint.memos import per_module
from trl_lint.python.module import PythonModule
from trl_lint.python.reaching import Place, owner_of, place_of
from trl_lint.python.scopes import Scopes, scopes
from trl_lint.records import NamedTuple

_MOST = 64  # calls that one use of an object is held against
_PACKED = (ast.List, ast.Tuple, ast.Set)
# Attributes of a model that hold none of its layers.
_BESIDE = frozenset(
    {"__class__", "config", "device", "dtype", "generation_config", "hf_device_map", "name_or_path", "training"}
)


class Handed(NamedTuple):
    """The calls between a place that binds a name and one that uses it; `complete` is False where there are more."""

    calls: tuple[ast.Call, ...]
    complete: bool


NOWHERE = Handed((), True)


def handed_between(module: PythonModule, owner: str, site: ast.AST | None, use: ast.AST) -> Handed:
    """The calls that get `owner`, or a part of it, as an argument after `site` and before the statement of `use`.

    Functions that see the same name may run in between, wherever they stand. Without a `site`, for `self.model`, so may
    all methods.
    """
    found = _handings(module).get(owner)
    if found is None:
        return NOWHERE
    by_scope = _by_scope(module, owner)
    table = scopes(module)
    scope = table.scope(use)
    home = table.scope(site) if site is not None else None
    own = by_scope.get(scope, [])
    first = bisect_right(own, place_of(site), key=_place) if site is not None and home is scope else 0
    last = bisect_left(own, place_of(module.statement(use) or use), key=_place)
    calls = [call for _, call in own[max(first, last - _MOST) : last]]
    complete = last - first <= _MOST and len(by_scope) <= _MOST
    for number, (other, handings) in enumerate(by_scope.items()):
        if number >= _MOST or len(calls) > _MOST:
            break
        if other is not scope and (home is None or _sees(other, owner, home, table)):
            calls += [call for _, call in handings[: _MOST + 1]]
    return Handed(tuple(calls[:_MOST]), complete and len(calls) <= _MOST)


_Handing = tuple[ast.stmt, ast.Call]


def _place(handing: _Handing) -> Place:
    return place_of(handing[0])


def _sees(scope: ast.AST, name: str, home: ast.AST, table: Scopes) -> bool:
    """Whether a name in a scope may be that of another scope, which binds it."""
    bound = table.sites_of(name)
    if not bound:
        return True  # shared by several
    while scope is not home:
        outer = table.scope(scope)
        if scope in bound or outer is scope:
            return False
        scope = outer
    return True


@per_module
def _by_scope(module: PythonModule, owner: str) -> dict[ast.AST, list[_Handing]]:
    """The calls that get an object of a name, by their scope, in the order of the text."""
    table = scopes(module)
    found: dict[ast.AST, list[_Handing]] = {}
    for call in _handings(module).get(owner, ()):
        statement = module.statement(call)
        if statement is not None:
            found.setdefault(table.scope(call), []).append((statement, call))
    for handings in found.values():
        handings.sort(key=_place)
    return found


@per_module
def _handings(module: PythonModule) -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    for call in module.calls:
        for owner in dict.fromkeys(_owners(call)):
            found.setdefault(owner, []).append(call)
    return found


def _owners(call: ast.Call) -> Iterator[str]:
    """The names of what a call gets, also in lists and dicts that are written in it."""
    waiting = [*call.args, *(keyword.value for keyword in call.keywords)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Starred):
            waiting.append(node.value)
        elif isinstance(node, _PACKED):
            waiting += node.elts
        elif isinstance(node, ast.Dict):
            waiting += node.values
        elif (owner := owner_of(node)) and not _is_beside(node):
            yield owner


def _is_beside(node: ast.expr) -> bool:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute) and node.attr in _BESIDE:
            return True
        node = node.value
    return False
