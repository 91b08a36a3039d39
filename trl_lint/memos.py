"""What is worked out once for each module or project, for all the rules that ask for it.

`@per_module` keeps what a function returns with its argument `module`, `@per_project` with its argument `project`, by
the other arguments. A `project` beside a module is that of the module, and not compared. What is kept goes with the
module or the project, and when a rule was stopped in the midst of its work.

Such a function is called with positional arguments, all of them, and each of those that are compared must be hashable;
a node or a module counts as the same only where it is the same object.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeVar, cast

from trl_lint.tracked import collecting, note_collected

_F = TypeVar("_F", bound=Callable[..., object])
_OWNERS = ("module", "project")
_MISSING = object()


# What was found out about a module or a project: by the function that did, and its other arguments.
Memo = dict[object, Any]


class Circle:
    """What keeps things that refer to it again. It is told when it is dropped, and lets go of them."""

    __slots__ = ()

    def cut(self) -> None:
        raise NotImplementedError


def per_module(function: _F) -> _F:
    """Call the function once for each module, and each set of its other arguments."""
    return _once(function, "module")


def per_project(function: _F) -> _F:
    """Call the function once for each project, and each set of its other arguments."""
    return _once(function, "project")


def read_per_project(function: _F) -> _F:
    """As `per_project`; the files that the function reads are noted for each file whose check asks for its result.

    It reads them by `Files` or as modules of the project. What else the project has worked out notes nothing here.
    """

    def noting(*arguments: Any) -> tuple[Any, set[str]]:
        with collecting() as paths:
            return function(*arguments), paths

    known = _for_nothing_else(noting)

    def once(project: Any) -> Any:
        found, paths = known(project)
        note_collected(paths)
        return found

    return cast(_F, once)


def _once(function: _F, owner: str) -> _F:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    compared = [at for at, name in enumerate(names) if name not in _OWNERS]
    owner_at = names.index(owner)
    if not compared:
        made = _for_nothing_else(function)
    elif len(compared) == 1:
        made = _for_one_more(function, owner_at, compared[0])
    else:
        made = _for_more(function, owner_at, compared)
    made.__doc__, made.__name__, made.__module__ = function.__doc__, function.__name__, function.__module__
    return cast(_F, made)


def _for_nothing_else(function: Callable[..., Any]) -> Callable[..., Any]:
    def once(owner: Any, *project: Any) -> Any:
        memo = owner.memo
        found = memo.get(function, _MISSING)
        if found is _MISSING:
            found = memo[function] = function(owner, *project)
        return found

    return once


def _for_one_more(function: Callable[..., Any], owner: int, other: int) -> Callable[..., Any]:
    def once(*arguments: Any) -> Any:
        memo = arguments[owner].memo
        key = function, arguments[other]
        found = memo.get(key, _MISSING)
        if found is _MISSING:
            found = memo[key] = function(*arguments)
        return found

    return once


def _for_more(function: Callable[..., Any], owner: int, others: list[int]) -> Callable[..., Any]:
    compared = itemgetter(*others)

    def once(*arguments: Any) -> Any:
        memo = arguments[owner].memo
        key = function, compared(arguments)
        found = memo.get(key, _MISSING)
        if found is _MISSING:
            found = memo[key] = function(*arguments)
        return found

    return once
