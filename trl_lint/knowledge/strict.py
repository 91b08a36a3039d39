"""Records from TOML files: a key that the record lacks, and a value of another type, are errors with file and line.

The annotations of a record are the description of its table. Its fields are `str`, `int`, `float`, `bool`;
`tuple[X, ...]` and `frozenset[X]`, which are lists; `Mapping[str, X]`, a table of any keys; the name of another record;
or the name of a `Literal` or of a union of plain types. A field without a default has to be given.
"""

from __future__ import annotations

import sys
from typing import Any, Literal, TypeVar, get_args, get_origin

from trl_lint.knowledge import KnowledgeError

T = TypeVar("T")
Keys = tuple[str | int, ...]

_PLAIN = {"str": str, "int": int, "float": float, "bool": bool}


class TableError(KnowledgeError):
    """What is wrong with a file of `rules/`, and where: `PATH:LINE: …`."""


class _WrongError(Exception):
    """What is wrong with a value, and the keys and positions that lead to it."""

    def __init__(self, keys: Keys, message: str) -> None:
        super().__init__(message)
        self.keys = keys
        self.message = message


def read_record(record: type[T], path: str, data: bytes, **more: object) -> T:
    """The record in the TOML file at `path` of `rules/`, of which `data` are the bytes. `more` are fields not in it.

    Raises TableError.
    """
    import tomli

    try:
        table = tomli.loads(data.decode())
    except ValueError as error:
        raise TableError(f"{path}: {error}") from None
    try:
        for key in more.keys() & table.keys():
            raise _WrongError((key,), f"`{key}` is given by the file itself")
        return _record(record, {**table, **more}, ())
    except _WrongError as error:
        raise TableError(f"{path}:{_line_of(error.keys, path, data)}: {error.message}") from None


def _record(record: type[T], table: object, keys: Keys) -> T:
    annotations, defaults = record.__annotations__, getattr(record, "_field_defaults", {})
    if not isinstance(table, dict):
        raise _WrongError(keys, f"a table was expected, not {table!r}")
    for key in table:
        if key not in annotations:
            raise _WrongError((*keys, key), f"there is no key `{key}`, only {', '.join(annotations)}")
    for key in annotations:
        if key not in table and key not in defaults:
            raise _WrongError(keys, f"`{key}` is missing")
    names = vars(sys.modules[record.__module__])
    return record(**{key: _value(annotations[key], value, (*keys, key), names) for key, value in table.items()})


def _value(annotation: str, value: Any, keys: Keys, names: dict[str, Any]) -> object:
    """A value as an annotation wants it; `names` are those of the module that holds the annotation."""
    annotation = annotation.removesuffix(" | None")
    outer, _, inner = annotation.removesuffix("]").partition("[")
    if outer in ("tuple", "frozenset"):
        inner = inner.removesuffix(", ...")
        if not isinstance(value, list):
            raise _WrongError(keys, f"a list was expected, not {value!r}")
        items = [_value(inner, item, (*keys, at), names) for at, item in enumerate(value)]
        return tuple(items) if outer == "tuple" else frozenset(items)
    if outer == "Mapping":
        inner = inner.removeprefix("str, ")
        if not isinstance(value, dict):
            raise _WrongError(keys, f"a table was expected, not {value!r}")
        return {key: _value(inner, item, (*keys, key), names) for key, item in value.items()}
    wanted = _PLAIN.get(annotation) or names[annotation]
    if hasattr(wanted, "_fields"):
        return _record(wanted, value, keys)
    if get_origin(wanted) is Literal:
        if value not in get_args(wanted):
            raise _WrongError(keys, f"one of {', '.join(map(repr, get_args(wanted)))} was expected, not {value!r}")
    elif type(value) not in (get_args(wanted) or (wanted,)):
        raise _WrongError(keys, f"a value of the type {annotation} was expected, not {value!r}")
    return value


def _line_of(keys: Keys, path: str, data: bytes) -> int:
    """The line of a value, or of what is nearest around it."""
    from trl_lint.sources import Source, SourceFile, nodes
    from trl_lint.sources.toml import read_toml

    file = SourceFile(path, data)
    node: nodes.Node = read_toml(Source(file, "toml"))
    start = 0
    for key in keys:
        if isinstance(node, nodes.Mapping) and (entry := node.entry(str(key))) is not None:
            start, node = entry.key.start, entry.value
        elif isinstance(node, nodes.Sequence) and isinstance(key, int) and key < len(node.items):
            node = node.items[key]
            start = node.start
    return file.position(start).line
