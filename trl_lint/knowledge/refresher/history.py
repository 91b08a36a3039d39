"""Facts of many releases merged into intervals: each fact keeps only the releases where it changed.

A gap is a change to absent and another one back, so a parameter that went and came back is told as it was.
"""

from __future__ import annotations

from collections.abc import Iterable

from trl_lint.knowledge.histories import ABSENT_VALUE
from trl_lint.knowledge.refresher.index import Facts
from trl_lint.knowledge.refresher.release import BORROWED
from trl_lint.records import NamedTuple


class Timeline(NamedTuple):
    """(release, value) for every release where a fact changed, oldest first; `-` is absent."""

    changes: tuple[tuple[str, str], ...]


class Symbol(NamedTuple):
    """One symbol: the releases in which it comes (`+`) and goes (`-`), and its facts."""

    life: Timeline
    facts: dict[str, Timeline]


def merge(releases: Iterable[tuple[str, Facts]]) -> dict[str, Symbol]:
    """The history of a package from (version, facts), oldest first.

    `outside` only grows: its names may be imported from some module in some release, no more is said. While a symbol is
    absent its facts are left as they were: only the symbol's own line says that it is gone.
    """
    lives: dict[str, list[tuple[str, str]]] = {}
    facts: dict[str, dict[str, list[tuple[str, str]]]] = {}
    current: dict[str, dict[str, str]] = {}
    for version, found in releases:
        for symbol, values in found.items():
            _change(lives.setdefault(symbol, []), version, "+")
            known = current.setdefault(symbol, {})
            history = facts.setdefault(symbol, {})
            for name, value in values.items():
                if known.get(name) != value:
                    _change(history.setdefault(name, []), version, value)
            for name in known:
                if name not in values and symbol != "outside":
                    _change(history[name], version, ABSENT_VALUE)
            current[symbol] = dict(values)
        for symbol, life in lives.items():
            if symbol not in found:
                _change(life, version, ABSENT_VALUE)
    return {
        symbol: Symbol(
            Timeline(tuple(lives[symbol])),
            {
                name: Timeline(tuple(changes))
                for name, changes in map(_unmark, facts[symbol].items())
                if name != "+" and changes
            },
        )
        for symbol in lives
    }


def _unmark(item: tuple[str, list[tuple[str, str]]]) -> tuple[str, list[tuple[str, str]]]:
    """A name that a module never defined but only imported for its own use is left out of its table.

    Such names stand in `outside`, once for the package: half of all lines would say that some module imports `pad`. A
    name that ever was at home in the module keeps its whole history there, imports included.
    """
    name, changes = item
    if all(value == ABSENT_VALUE or value.startswith(BORROWED) for _, value in changes) and name != "+":
        is_marked = any(value.startswith(BORROWED) for _, value in changes)
        return (name, []) if is_marked else item
    plain: list[tuple[str, str]] = []
    for version, value in changes:
        _change(plain, version, value.lstrip(BORROWED))
    return name, plain


def _change(changes: list[tuple[str, str]], version: str, value: str) -> None:
    if not changes or changes[-1][1] != value:
        changes.append((version, value))
