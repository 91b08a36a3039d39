"""The one reader of the hand-written tables in `rules/`: TOML files whose heads explain their fields.

A table is read into a record (`trl_lint.records.NamedTuple`). Its annotations say which keys there are and what they
hold, its defaults which of them may be left out; a text that may not be is not empty. Whatever else stands in the file
is an error with its line. An annotation is `str`, `int`, `float`, `bool`, `object` (anything), a `Literal`,
`tuple[X, ...]`, `frozenset[X]`, `dict[str, X]` or `Mapping[str, X]`, another record, a union of these, `Range`,
`Ranges` or `Release`. A key that is a keyword of Python has a field with `_` behind it. What annotations cannot
say, the method `fault` of a record does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from trl_lint.knowledge import KnowledgeError, read_text, text_names
from trl_lint.knowledge.ranges import holds

# A specifier (PEP 440) that allows a known release, a known release, and specifiers by package. Where the key does not
# name the package, the nearest `package` around it does, else the caller of `read_rows`.
Range = Annotated[str, "range"]
Release = Annotated[str, "release"]
Ranges = Annotated[dict[str, str], "ranges"]

R = TypeVar("R")
# Instead of a package: ranges may be of any, also of one whose releases are not known.
ANY_PACKAGE = "*"

Check = Callable[[Any, str], Any]  # (a value of the TOML file, the package it is about) -> the value of the record

_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


class _WrongError(Exception):
    """What is wrong with a value; `keys` lead to it from the value that was being read."""

    def __init__(self, message: str, *keys: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.keys = keys

    def within(self, key: str | int) -> _WrongError:
        """The same, told of the value around it, which has this one at a key or a number."""
        if isinstance(key, str) and not self.keys:
            self.message = f"`{key}`: {self.message}"
        self.keys = (key, *self.keys)
        return self


def read_rows(path: str, record: type[R], package: str = "") -> R:
    """A table by its path in `rules/`, as a record of it; `package` is what its ranges are about.

    Raises KnowledgeError, with the file and the line, for a table that cannot be read or is not what the record says.
    """
    import tomli

    try:
        text = read_text(path)
        return read_record(tomli.loads(text), record, f"rules/{path}", text, package=package)
    except (OSError, ValueError) as error:
        raise KnowledgeError(f"rules/{path}: {error}") from None


def table_paths(folder: str) -> list[str]:
    """The paths, for `read_rows`, of the tables in a folder of `rules/`."""
    return [f"{folder}/{name}" for name in text_names(folder) if name.endswith(".toml")]


def read_record(values: dict[str, Any], record: type[R], file: str, text: str, above: int = 0, package: str = "") -> R:
    """Values of a TOML text as a record; `file` and the lines `above` the text only name the place of an error.

    Raises KnowledgeError where the values are not what the record says.
    """
    shape: Any = record
    try:
        found: R = _check_of(shape)(values, package)
    except _WrongError as error:
        line = above + line_of(text, error.keys)
        raise KnowledgeError(f"{file}:{line}: {error.message}") from None
    return found


def line_of(text: str, keys: Sequence[str | int]) -> int:
    """The line of a TOML text, from 1 on, in which keys and the numbers of rows lead to a value, as far as they do."""
    from trl_lint.sources import Source, SourceFile, nodes
    from trl_lint.sources.toml import read_toml

    node: nodes.Node = read_toml(Source(SourceFile("", text.encode()), "toml"))
    offset = 0
    for key in keys:
        if isinstance(node, nodes.Sequence) and isinstance(key, int):
            node = node.items[key]
            offset = node.start
            continue
        entry = (
            next((each for each in node.entries if each.key.value == key), None)
            if isinstance(node, nodes.Mapping)
            else None
        )
        if entry is None:
            break
        node, offset = entry.value, entry.key.start
    return text.count("\n", 0, offset) + 1


# -- what an annotation asks for --------------------------------------------------------------------------------------


@cache
def _check_of(hint: Any) -> Check:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is object:
        return lambda value, package: value
    if hint in _WORDS:
        return _scalar(hint)
    if origin is Annotated:
        return {"range": _range, "release": _release, "ranges": _ranges}[hint.__metadata__[0]]
    if origin is Literal:
        return _choice(arguments)
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin in (tuple, frozenset):
        return _list(origin, _check_of(arguments[0]))
    if origin in (dict, Mapping):
        return _mapping(_check_of(arguments[1]))
    if hasattr(hint, "_fields"):
        return _record(hint)
    raise TypeError(f"no table can hold {hint!r}")


def _scalar(kind: type) -> Check:
    kinds = (float, int) if kind is float else (kind,)

    def check(value: Any, package: str) -> Any:
        if type(value) not in kinds:
            raise _WrongError(f"{_WORDS[kind]} is expected, not {_shown(value)}")
        return value

    return check


def _choice(words: tuple[Any, ...]) -> Check:
    def check(value: Any, package: str) -> Any:
        if value not in words:
            raise _WrongError(f"one of {', '.join(map(_shown, words))} is expected, not {_shown(value)}")
        return value

    return check


def _union(hints: tuple[Any, ...]) -> Check:
    """The first of several kinds that fits; a value that none fits is judged by the last one of its shape."""
    checks = [(hint, _check_of(hint)) for hint in hints if hint is not type(None)]
    plain = {hint for hint, _ in checks if hint in _WORDS}

    def check(value: Any, package: str) -> Any:
        if type(value) in plain:
            return value
        faults = []
        for hint, one in checks:
            try:
                return one(value, package)
            except _WrongError as error:
                # Without what leads back to this frame, which holds the list.
                faults.append((_is_shaped_as(hint, value), error.with_traceback(None)))
        raise next((error for is_alike, error in reversed(faults) if is_alike), faults[-1][1])

    return check


def _is_shaped_as(hint: Any, value: Any) -> bool:
    shape = get_origin(hint)
    return isinstance(value, list if shape in (tuple, frozenset) else dict if shape is dict else (str, int, float))


def _list(kind: Callable[[list[Any]], Any], item: Check) -> Check:
    def check(value: Any, package: str) -> Any:
        if type(value) is not list:
            raise _WrongError(f"a list is expected, not {_shown(value)}")
        found: list[Any] = []
        try:
            for one in value:
                found.append(item(one, package))
        except _WrongError as error:
            raise error.within(len(found)) from None
        return kind(found)

    return check


def _mapping(item: Check) -> Check:
    def check(value: Any, package: str) -> Any:
        if type(value) is not dict:
            raise _WrongError(f"a table is expected, not {_shown(value)}")
        found = {}
        key = ""
        try:
            for key, one in value.items():
                found[key] = item(one, package)
        except _WrongError as error:
            raise error.within(key) from None
        return found

    return check


def _record(record: Any) -> Check:
    # All at once: `get_type_hints` takes more time for this than the rows do.
    texts = [record.__annotations__[name] for name in record._fields]
    hints = eval(f"({', '.join(texts)},)", vars(sys.modules[record.__module__]))
    defaults = record._field_defaults
    keys = [name.rstrip("_") for name in record._fields]
    needed = {key for key, name in zip(keys, record._fields, strict=True) if name not in defaults}
    places = {key: (place, _check_of(hint)) for place, (key, hint) in enumerate(zip(keys, hints, strict=True))}
    unread = [defaults.get(name) for name in record._fields]
    fault = getattr(record, "fault", None)

    def check(value: Any, package: str) -> Any:
        if type(value) is not dict:
            raise _WrongError(f"a table is expected, not {_shown(value)}")
        if package != ANY_PACKAGE and type(own := value.get("package")) is str:
            package = own
        read = unread.copy()
        key = ""
        try:
            for key, one in value.items():
                if key not in places:
                    raise _WrongError(_no_key(key, keys))
                if one == "" and key in needed:
                    raise _WrongError("the text is empty")
                place, inside = places[key]
                read[place] = inside(one, package)
        except _WrongError as error:
            raise error.within(key) from None
        if not needed <= value.keys():
            raise _WrongError(f"`{min(needed - value.keys(), key=keys.index)}` is missing")
        found = record(*read)
        if fault is not None and (message := fault(found)):
            raise _WrongError(message)
        return found

    return check


def _no_key(key: str, known: list[str]) -> str:
    from trl_lint.words import nearest

    close = nearest(key, known)
    return "nothing reads this key" + (f"; did you mean `{close}`?" if close else "")


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


# -- ranges and releases ----------------------------------------------------------------------------------------------


def _ranges(value: Any, package: str) -> dict[str, str]:
    if type(value) is not dict:
        raise _WrongError(f"a table is expected, not {_shown(value)}")
    name = ""
    try:
        for name, text in value.items():
            _range(text, ANY_PACKAGE if package == ANY_PACKAGE else name)
    except _WrongError as error:
        raise error.within(name) from None
    return value


def _range(value: Any, package: str) -> str:
    if type(value) is not str:
        raise _WrongError(f"a text is expected, not {_shown(value)}")
    if fault := _fault_of_range(value, package):
        raise _WrongError(fault)
    return value


@cache
def _fault_of_range(text: str, package: str) -> str:
    """What is wrong with a range, "" if nothing is."""
    from trl_lint.knowledge.releases import parse_specifier, release_names

    specifier = parse_specifier(text)
    if specifier is None:
        return f'"{text}" is no range of releases'
    if package == ANY_PACKAGE:
        return ""
    known = release_names(package)
    if not known:
        return f'the releases of "{package}" are not known'
    # Most ranges begin or end at a release that they hold, or hold the oldest or newest one: the others come last.
    ends = (clause.version for clause in specifier if clause.version in known)
    releases = list(known)
    for release in (*ends, releases[-1], *releases):
        if holds(text, release):
            return ""
    return f'"{text}" names no known release of {package}'


def _release(value: Any, package: str) -> str:
    from trl_lint.knowledge.releases import release_names

    if value not in release_names(package):
        raise _WrongError(f"{_shown(value)} is no known release of {package}")
    return str(value)
