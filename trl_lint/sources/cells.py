"""The cells of a notebook: what they hold, and where each character of it stands in the JSON text.

A notebook is mostly pictures and other outputs. So it is read by the scanner of `json`, which is written in C, and of
the places in it only those of the cells and of their sources are kept; the places inside a source are looked up when
somebody asks for one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from trl_lint.regexes import regex
from trl_lint.sources.magics import CellMagic, Magic, cell_magic, magics
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, find
from trl_lint.sources.text import LineIndex, Position, SourceError

# One match per character of the decoded string; a surrogate pair is one character.
_ESCAPE = regex(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]",
    re.DOTALL,
)
# What takes most of a notebook's room and holds no code.
_NOT_READ = frozenset(("outputs", "attachments", "widgets"))
_SPACE = regex(r"[ \t\n\r]*")
_KEY = regex(r'[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_NEXT = regex(r"[ \t\n\r]*([,\]}])[ \t\n\r]*")
_LANGUAGES = (("kernelspec", "language"), ("language_info", "name"), ("kernelspec", "name"))

Scan = Callable[[str, int], tuple[Any, int]]


class Cell:
    """One cell: its text, and where each character of it stands in the JSON text. `number` counts from 1.

    `whole` is the text of the file; in it the cell stands from `start` to `end`, and the JSON value of its source at
    `source`, None where it has none.
    """

    __slots__ = (
        "_lines", "_magic", "_magics", "_maps", "_source", "_starts", "_strings", "_whole", "end", "kind", "language",
        "number", "start", "text",
    )  # fmt: skip

    def __init__(
        self, number: int, whole: str, start: int, end: int, kind: str, language: str, text: str, source: int | None
    ) -> None:
        self.number = number
        self.start = start
        self.end = end
        self.kind = kind
        self.language = language
        self.text = text
        self._whole = whole
        self._source = source
        self._strings: list[Scalar] = []
        self._starts: list[int] = []
        self._maps: dict[int, list[int] | None] = {}
        self._lines: LineIndex | None = None
        self._magic: tuple[CellMagic | None] | None = None
        self._magics: list[Magic] | None = None

    @property
    def magic(self) -> CellMagic | None:
        """The cell magic that the cell begins with."""
        if self._magic is None:
            self._magic = (cell_magic(self.text),)
        return self._magic[0]

    @property
    def magics(self) -> list[Magic]:
        """The stretches of the cell that only IPython understands."""
        if self._magics is None:
            self._magics = magics(self.text)
        return self._magics

    def strings(self) -> list[Scalar]:
        """The JSON strings that the text is made of, at least one."""
        if not self._strings:
            self._strings = _strings(self._whole, self._source, self.start)
            self._starts = [0]
            for string in self._strings[:-1]:
                self._starts.append(self._starts[-1] + len(str(string.value)))
        return self._strings

    def raw_start(self, offset: int) -> int:
        """Where in the file the character at an offset of the cell's text begins; at its end, where the text ends."""
        if offset >= len(self.text):
            return self.raw_end(offset)
        self.strings()
        index = bisect_right(self._starts, offset) - 1
        return self._raw(index, offset - self._starts[index])

    def raw_end(self, offset: int) -> int:
        """Where in the file the character before an offset of the cell's text ends."""
        if offset <= 0:
            return self._raw(0, 0)
        self.strings()
        index = bisect_right(self._starts, min(offset, len(self.text)) - 1) - 1
        return self._raw(index, min(offset, len(self.text)) - self._starts[index])

    def _raw(self, index: int, offset: int) -> int:
        string = self.strings()[index]
        table = self._table(index)
        return string.start + 1 + (offset if table is None else table[offset])

    def _table(self, index: int) -> list[int] | None:
        """For each character of a string the offset in its raw form, and the end; None where they are the same."""
        if index not in self._maps:
            raw = self.strings()[index].raw[1:-1]
            table = None
            if "\\" in raw:
                table = [match.start() for match in _ESCAPE.finditer(raw)]
                table.append(len(raw))
            self._maps[index] = table
        return self._maps[index]

    def holds(self, raw_offset: int) -> bool:
        """Whether an offset of the file lies in the text of the cell (or right behind it)."""
        strings = self.strings()
        return strings[0].start < raw_offset < strings[-1].end

    def position(self, raw_offset: int) -> Position:
        """Line and column inside the cell of an offset of the file; outside its text the start of the cell."""
        if not self.holds(raw_offset):
            return Position(1, 1, self.number)
        if self._lines is None:
            self._lines = LineIndex(self.text)
        strings = self.strings()
        index = bisect_right([string.start for string in strings], raw_offset) - 1
        string = strings[index]
        inside = min(max(raw_offset - string.start - 1, 0), len(string.raw) - 2)
        table = self._table(index)
        if table is not None:
            inside = bisect_right(table, inside) - 1
        line, column, _ = self._lines.position(self._starts[index] + inside)
        return Position(line, column, self.number)


def _strings(whole: str, source: int | None, start: int) -> list[Scalar]:
    """The strings of a source, with their places; where it has none, the place that stands for the text."""
    from trl_lint.sources.json import read_value

    strings: list[Scalar] = []
    if source is not None:
        node = read_value(whole, source)
        if isinstance(node, Scalar):
            strings = [node]
        elif isinstance(node, Sequence):
            start = node.start
            strings = [item for item in node.items if isinstance(item, Scalar) and isinstance(item.value, str)]
    # An empty list of lines: the place behind its bracket stands for the text.
    return [string for string in strings if string.value] or strings[:1] or [Scalar("", '""', True, start, start + 2)]


def read_cells(text: str) -> list[Cell]:
    """All cells of a notebook, in order. Raises SourceError where the text is none."""
    try:
        return _scanned(text)
    except (_OtherwiseError, ValueError, StopIteration, RecursionError):
        return _from_nodes(text)  # an older format; or what is wrong, and where, is told by our own reading


class _OtherwiseError(Exception):
    """The text is not written as notebooks of today are."""


# -- by the scanner ---------------------------------------------------------------------------------------------------


def _scanned(text: str) -> list[Cell]:
    from json import JSONDecoder

    scan: Scan = JSONDecoder().scan_once  # type: ignore[attr-defined]
    cells: list[dict[str, Any]] | None = None
    language = "python"

    def read(key: str, offset: int) -> int:
        nonlocal cells, language
        if key == "cells":
            cells = []
            return _scan_list(text, offset, scan, cells)
        value, end = scan(text, offset)
        if key == "metadata":
            language = _language(value)
        return end

    end = _scan_members(text, _skip(text, 0), read)
    if cells is None or _skip(text, end) != len(text):
        raise _OtherwiseError
    return [_cell(number, text, found, language) for number, found in enumerate(cells, 1)]


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _scan_members(text: str, offset: int, read: Callable[[str, int], int]) -> int:
    """Read the members of the object at an offset: `read` gets the key and where its value begins, and says where that
    ends. Returns the end of the object.
    """
    if text[offset : offset + 1] != "{":
        raise _OtherwiseError
    offset = _skip(text, offset + 1)
    if text[offset : offset + 1] == "}":
        return offset + 1
    while key := _KEY.match(text, offset):
        follower = _NEXT.match(text, read(key[1], key.end()))
        if follower is None or follower[1] == "]":
            break
        if follower[1] == "}":
            return follower.end(1)
        offset = follower.end(1)
    raise _OtherwiseError


def _scan_list(text: str, offset: int, scan: Scan, cells: list[dict[str, Any]]) -> int:
    """Add the cells of the list at an offset; its end."""
    if text[offset : offset + 1] != "[":
        raise _OtherwiseError
    offset = _skip(text, offset + 1)
    if text[offset : offset + 1] == "]":
        return offset + 1
    while True:
        if text[offset : offset + 1] == "{":
            found: dict[str, Any] = {"": offset}

            def read(key: str, at: int, found: dict[str, Any] = found) -> int:
                value, end = scan(text, at)
                if key not in _NOT_READ:
                    found[f" {key}"] = value, at
                return end

            end = found["end"] = _scan_members(text, offset, read)
            cells.append(found)
        else:
            _, end = scan(text, offset)
        follower = _NEXT.match(text, end)
        if follower is None or follower[1] == "}":
            raise _OtherwiseError
        if follower[1] == "]":
            return follower.end(1)
        offset = follower.end()


def _cell(number: int, whole: str, found: dict[str, Any], language: str) -> Cell:
    kind = found.get(" cell_type", (None, 0))[0]
    metadata = found.get(" metadata", (None, 0))[0]
    vscode = metadata.get("vscode") if isinstance(metadata, dict) else None
    own = _plain(vscode.get("languageId")) if isinstance(vscode, dict) else None
    own = own or _plain(found.get(" language", (None, 0))[0])
    kind = str(_plain(kind))
    source = found.get(" source")
    if source is None and kind == "code":
        source = found.get(" input")  # nbformat 3
    value, at = source or (None, None)
    text = value if isinstance(value, str) else ""
    if isinstance(value, list):
        text = "".join([item for item in value if isinstance(item, str)])
    elif not isinstance(value, str):
        at = None
    return Cell(number, whole, found[""], found["end"], kind, own if isinstance(own, str) else language, text, at)


def _plain(value: Any) -> Any:
    return None if isinstance(value, (dict, list)) else value


def _language(metadata: Any) -> str:
    """The language of the kernel; a notebook that names none is taken for Python, as Jupyter does."""
    for outer, inner in _LANGUAGES:
        about = metadata.get(outer) if isinstance(metadata, dict) else None
        value = about.get(inner) if isinstance(about, dict) else None
        if isinstance(value, str) and value:
            return "python" if value.lower().startswith(("python", "ipython", "conda-env")) else value.lower()
    return "python"


# -- by nodes ---------------------------------------------------------------------------------------------------------


def _from_nodes(text: str) -> list[Cell]:
    from trl_lint.sources.json import read_json_text

    root = read_json_text(text, _NOT_READ)
    nodes = _cell_nodes(root)
    if nodes is None:
        raise SourceError("not a notebook: it has no list of cells", root.start)
    language = _language(_value(find(root, "metadata")))
    cells = []
    for number, node in enumerate(nodes, 1):
        found: dict[str, Any] = {"": node.start, "end": node.end}
        for entry in node.entries:
            if entry.key.value not in _NOT_READ:
                found[f" {entry.key.value}"] = _value(entry.value), entry.value.start
        cells.append(_cell(number, text, found, language))
    return cells


def _cell_nodes(root: Node) -> list[Mapping] | None:
    cells = find(root, "cells")
    if isinstance(cells, Sequence):
        return [cell for cell in cells.items if isinstance(cell, Mapping)]
    sheets = find(root, "worksheets")  # nbformat 3
    if not isinstance(sheets, Sequence):
        return None
    nodes = []
    for sheet in sheets.items:
        cells = find(sheet, "cells")
        if isinstance(cells, Sequence):
            nodes += [cell for cell in cells.items if isinstance(cell, Mapping)]
    return nodes


def _value(node: Node | None) -> Any:
    """What the scanner would give for a node, whose depth is bounded."""
    if isinstance(node, Mapping):
        return {entry.key.value: _value(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [_value(item) for item in node.items]
    return node.value if isinstance(node, Scalar) else None
