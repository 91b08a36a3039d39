"""Texts as a client has them open: incremental changes, and places as the protocol counts them.

A line ends as the protocol says (LF, CR LF, a lone CR), which is how `LineIndex` reads a file; a column counts in the
units that client and server agreed on. Whatever a client sends is brought into the text: no place is outside of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trl_lint.records import NamedTuple
from trl_lint.sources.notebook import NotebookFile
from trl_lint.sources.text import LineIndex, python_encoding

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
_MARK = "\ufeff"
_CODECS = {UTF8: ("utf-8", 1), UTF16: ("utf-16-le", 2), UTF32: ("utf-32-le", 4)}


class Place(NamedTuple):
    """A line and a column from 0, the column in units of an encoding."""

    line: int
    column: int


class Span(NamedTuple):
    """A stretch of the text that a client knows by `uri`."""

    uri: str
    start: Place
    end: Place


def units(text: str, encoding: str) -> int:
    """How many units of an encoding a text takes."""
    if text.isascii() or encoding == UTF32:
        return len(text)
    codec, width = _CODECS[encoding]
    return len(text.encode(codec, "surrogatepass")) // width


def characters(text: str, column: int, encoding: str) -> int:
    """How many characters of a line stand before a column."""
    if text.isascii() or encoding == UTF32:
        return min(column, len(text))
    codec, width = _CODECS[encoding]
    try:
        return len(text.encode(codec, "surrogatepass")[: column * width].decode(codec))
    except UnicodeDecodeError:
        pass  # the column is inside a character, or half a pair of surrogates stands in the text
    taken = 0
    for index, char in enumerate(text):
        taken += units(char, encoding)
        if taken > column:
            return index
    return len(text)


def offset_at(lines: LineIndex, place: Place, encoding: str) -> int:
    """The offset of a place in a text."""
    if place.line >= len(lines):
        return len(lines.text)
    start, _ = lines.line_range(place.line + 1)
    return start + characters(lines.line_text(place.line + 1), place.column, encoding)


def place_at(lines: LineIndex, offset: int, encoding: str) -> Place:
    """The place of an offset in a text."""
    offset = min(max(offset, 0), len(lines.text))
    line = lines.position(offset).line
    return Place(line - 1, units(lines.text[lines.starts[line - 1] : offset], encoding))


class Change(NamedTuple):
    """New text for a range of an open text; for all of it where there is none."""

    start: Place | None
    end: Place | None
    text: str


def changed(text: str, changes: Iterable[Change], encoding: str) -> str:
    """A text after changes, each of which counts in what the one before has left."""
    for change in changes:
        if change.start is None or change.end is None:
            text = change.text
            continue
        lines = LineIndex(text)
        start, end = sorted((offset_at(lines, change.start, encoding), offset_at(lines, change.end, encoding)))
        text = text[:start] + change.text + text[end:]
    return text


def encoded(path: str, text: str) -> bytes:
    """The bytes of a file that holds this text.

    A client has decoded it already: with a byte order mark no encoding that Python code declares is asked for again.
    """
    data = text.encode("utf-8", "surrogatepass")
    is_python = path.endswith((".py", ".pyi"))
    if is_python and not text.isascii() and python_encoding(data).lower().replace("_", "-") != UTF8:
        return data if text.startswith(_MARK) else _MARK.encode() + data
    return data


# -- views: between the offsets of a file and the places of what a client has open ------------------------------------


class View:
    """A file as a client has it open, at one version. Offsets count in the text of the file, without a byte order mark.

    `uris` are the documents that it is made of: one, or the cells of a notebook.
    """

    def __init__(self, path: str, uri: str, text: str, version: int | None, encoding: str) -> None:
        self.path = path
        self.uris: tuple[str, ...] = (uri,)
        self.versions: Mapping[str, int | None] = {uri: version}
        self.encoding = encoding
        self._lead = 1 if text.startswith(_MARK) else 0
        self._lines = LineIndex(text)

    @property
    def data(self) -> bytes:
        return encoded(self.path, self._lines.text)

    def span(self, start: int, end: int) -> Span:
        """Where a stretch of the file is seen."""
        first = place_at(self._lines, start + self._lead, self.encoding)
        return Span(self.uris[0], first, place_at(self._lines, max(start, end) + self._lead, self.encoding))

    def offset(self, uri: str, place: Place) -> int:
        """The offset in the file of a place in one of its documents."""
        return max(0, offset_at(self._lines, place, self.encoding) - self._lead)

    def written(self, content: str) -> str:
        """What an edit writes into a document, as it stands there."""
        return content


class Cell(NamedTuple):
    """One cell of an open notebook."""

    uri: str
    is_code: bool
    language: str
    text: str
    version: int | None


class NotebookView(View):
    """A notebook of which a client has each cell open as a document of its own."""

    def __init__(self, path: str, cells: Sequence[Cell], metadata: Any, encoding: str) -> None:
        self.path = path
        self.encoding = encoding
        self.uris = tuple(cell.uri for cell in cells)
        self.versions = {cell.uri: cell.version for cell in cells}
        self._data = json.dumps(_document(cells, metadata), ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._file = NotebookFile(path, self._data)
        self._texts = [LineIndex(cell.text) for cell in cells]

    @property
    def data(self) -> bytes:
        return self._data

    def span(self, start: int, end: int) -> Span:
        if not self.uris:
            return Span("", Place(0, 0), Place(0, 0))
        number, first = self._place(start)
        last_number, last = self._place(max(start, end))
        if last_number != number:
            last = place_at(self._texts[number], len(self._texts[number].text), self.encoding)
        return Span(self.uris[number], first, max(first, last))

    def _place(self, offset: int) -> tuple[int, Place]:
        found = self._file.position(offset)
        number = min((found.cell or 1) - 1, len(self.uris) - 1)
        if found.cell is None:
            return number, Place(0, 0)
        lines = self._texts[number]
        return number, place_at(lines, lines.offset(found.line, found.column), self.encoding)

    def offset(self, uri: str, place: Place) -> int:
        number = self.uris.index(uri)
        return self._file.cells[number].raw_start(offset_at(self._texts[number], place, self.encoding))

    def written(self, content: str) -> str:
        return str(json.loads(f'"{content}"'))


def _document(cells: Sequence[Cell], metadata: Any) -> dict[str, Any]:
    language = next((cell.language for cell in cells if cell.is_code), "python")
    return {
        "cells": [_written_cell(cell, language) for cell in cells],
        "metadata": _kernel(metadata) or {"language_info": {"name": language}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _written_cell(cell: Cell, language: str) -> dict[str, Any]:
    own = {} if cell.language == language else {"vscode": {"languageId": cell.language}}
    return {"cell_type": "code" if cell.is_code else "markdown", "metadata": own, "source": cell.text}


def _kernel(metadata: Any) -> dict[str, Any]:
    """What the notebook says about its kernel, wherever the client puts it; {} where it says nothing."""
    for inner in (metadata, _member(metadata, "metadata"), _member(_member(metadata, "custom"), "metadata")):
        found = {name: inner[name] for name in ("kernelspec", "language_info") if _member(inner, name)}
        if found:
            return found
    return {}


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
