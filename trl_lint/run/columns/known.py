"""Words for what is known of the columns of a dataset."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from trl_lint.finding import Location
from trl_lint.missing import UNKNOWN
from trl_lint.python.values import literal
from trl_lint.records import NamedTuple

_TEXT_METHODS = frozenset({"strip", "format", "join", "lower", "upper", "replace", "lstrip", "rstrip"})


class Columns(NamedTuple):
    """The columns of one dataset.

    `certain`: those that it has, with their kinds (those of `rules/models/datasets.toml`; "" where it is not known).
    `maybe`: those that it may have besides; `complete`: it has no others; `gone`: those that were taken away.
    `streams`: whether it has no length (`datasets.IterableDataset`), None where nobody can tell.
    `is_remembered`: a part rests on the table of datasets on the hub. `places`: where it is made or changed.
    """

    certain: Mapping[str, str] = {}
    maybe: frozenset[str] = frozenset()
    complete: bool = False
    gone: frozenset[str] = frozenset()
    streams: bool | None = None
    is_remembered: bool = False
    places: tuple[Location, ...] = ()

    def lacks(self, name: str) -> bool:
        """Whether it certainly has no column of that name."""
        return name not in self.certain and name not in self.maybe and (self.complete or name in self.gone)

    @property
    def names(self) -> list[str]:
        """The names it may have, as far as they are known."""
        return [*self.certain, *sorted(self.maybe)]


NOTHING_KNOWN = Columns()


def without(columns: Columns, names: Iterable[str]) -> Columns:
    """The same without these columns."""
    taken = frozenset(names)
    return columns._replace(
        certain={name: kind for name, kind in columns.certain.items() if name not in taken},
        maybe=columns.maybe - taken,
        gone=columns.gone | taken,
    )


def with_more(
    columns: Columns, certain: Mapping[str, str], maybe: Iterable[str] = (), complete: bool = True
) -> Columns:
    """The same with these columns besides; not `complete`: and with others that are not known."""
    both = {**columns.certain, **certain}
    named = frozenset(maybe).difference(both)
    return columns._replace(
        certain=both,
        maybe=(columns.maybe | named).difference(both),
        complete=columns.complete and complete,
        gone=columns.gone.difference(both, named) if complete else frozenset(),
    )


def doubtful(columns: Columns, names: Iterable[str]) -> Columns:
    """The same where these columns may have been taken away; "*" is all of them."""
    taken = set(names)
    if "*" in taken:
        taken.update(columns.certain)
    kept = {name: kind for name, kind in columns.certain.items() if name not in taken}
    return columns._replace(certain=kept, maybe=columns.maybe.union(taken.intersection(columns.certain)))


def uncertain(columns: Columns) -> Columns:
    """What is left of it after something that nobody understands."""
    return NOTHING_KNOWN._replace(streams=columns.streams, places=columns.places)


# -- kinds ----------------------------------------------------------------------------------------------------------


def kind_of_node(node: ast.expr | None) -> str:
    """The kind of a value by how it is written."""
    if isinstance(node, ast.JoinedStr):
        return "text"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        kinds = {kind_of_node(node.left), kind_of_node(node.right)}
        return "text" if "text" in kinds else "messages" if "messages" in kinds else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return "text" if node.func.attr in _TEXT_METHODS else ""
    if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
        first = node.elts[0]
        if isinstance(first, ast.Dict):
            keys = {literal(key) for key in first.keys if key is not None}
            return "messages" if {"role", "content"} <= keys else "from/value" if {"from", "value"} <= keys else "list"
        return "list"
    value = literal(node)
    return "" if value is UNKNOWN else kind_of_value(value)


def kind_of_value(value: object) -> str:
    """The kind of a value."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, list):
        keys = set(value[0]) if value and isinstance(value[0], dict) else set()
        return "messages" if {"role", "content"} <= keys else "from/value" if {"from", "value"} <= keys else "list"
    return "" if value is None else "other"
