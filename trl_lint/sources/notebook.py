"""Jupyter notebooks: the code cells as one Python text, their shell commands, and edits inside the JSON strings.

A notebook is never written back from a parsed object, because that would change its layout: an edit replaces characters
of JSON strings, and all the rest of the file stays as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

from trl_lint.finding import Edit, Location
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.magics import cell_magic, magics
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, find, value_of
from trl_lint.sources.text import LineIndex, Position, SourceError, SourceFile

if TYPE_CHECKING:
    from trl_lint.sources.python_branches import Branch

# One match per character of the decoded string; a surrogate pair is one character.
_ESCAPE = regex(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]",
    re.DOTALL,
)
# What takes most of a notebook's room and holds no code.
_NOT_READ = frozenset(("outputs", "attachments", "widgets"))
_ESCAPED_NON_ASCII = regex(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")


class Cell:
    """One cell: its text, and where each character of it stands in the JSON text. `number` counts from 1."""

    __slots__ = ("_lines", "_maps", "_starts", "_strings", "end", "kind", "language", "number", "start", "text")

    def __init__(self, number: int, node: Mapping, kind: str, language: str, strings: list[Scalar], start: int) -> None:
        self.number = number
        self.kind = kind
        self.language = language
        self.start = node.start
        self.end = node.end
        self.text = "".join(str(string.value) for string in strings)
        self._strings = [string for string in strings if string.value] or strings[:1]
        if not self._strings:  # an empty list of lines: the place behind its bracket stands for the text
            self._strings = [Scalar("", '""', True, start, start + 2)]
        self._starts = [0]
        for string in self._strings[:-1]:
            self._starts.append(self._starts[-1] + len(str(string.value)))
        self._maps: dict[int, list[int] | None] = {}
        self._lines: LineIndex | None = None

    def raw_start(self, offset: int) -> int:
        """Where in the file the character at an offset of the cell's text begins; at its end, where the text ends."""
        if offset >= len(self.text):
            return self.raw_end(offset)
        index = bisect_right(self._starts, offset) - 1
        return self._raw(index, offset - self._starts[index])

    def raw_end(self, offset: int) -> int:
        """Where in the file the character before an offset of the cell's text ends."""
        if offset <= 0:
            return self._raw(0, 0)
        index = bisect_right(self._starts, min(offset, len(self.text)) - 1) - 1
        return self._raw(index, min(offset, len(self.text)) - self._starts[index])

    def _raw(self, index: int, offset: int) -> int:
        string = self._strings[index]
        table = self._table(index)
        return string.start + 1 + (offset if table is None else table[offset])

    def _table(self, index: int) -> list[int] | None:
        """For each character of a string the offset in its raw form, and the end; None where they are the same."""
        if index not in self._maps:
            raw = self._strings[index].raw[1:-1]
            table = None
            if "\\" in raw:
                table = [match.start() for match in _ESCAPE.finditer(raw)]
                table.append(len(raw))
            self._maps[index] = table
        return self._maps[index]

    def holds(self, raw_offset: int) -> bool:
        """Whether an offset of the file lies in the text of the cell (or right behind it)."""
        return self._strings[0].start < raw_offset < self._strings[-1].end

    def position(self, raw_offset: int) -> Position:
        """Line and column inside the cell of an offset of the file; outside its text the start of the cell."""
        if not self.holds(raw_offset):
            return Position(1, 1, self.number)
        if self._lines is None:
            self._lines = LineIndex(self.text)
        index = bisect_right([string.start for string in self._strings], raw_offset) - 1
        string = self._strings[index]
        inside = min(max(raw_offset - string.start - 1, 0), len(string.raw) - 2)
        table = self._table(index)
        if table is not None:
            inside = bisect_right(table, inside) - 1
        line, column, _ = self._lines.position(self._starts[index] + inside)
        return Position(line, column, self.number)


class NotebookFile(SourceFile):
    """A notebook file. Its text is the raw JSON; positions are counted inside the cells."""

    __slots__ = ("_cells",)

    def __init__(self, path: str, data: bytes) -> None:
        super().__init__(path, data)
        self._cells: list[Cell] | None = None

    @property
    def cells(self) -> list[Cell]:
        """All cells in order. Raises SourceError where the file is no notebook."""
        if self._cells is None:
            self._cells = _read_cells(self.text)
        return self._cells

    def position(self, offset: int) -> Position:
        try:
            cells = self.cells
        except SourceError:  # then the place is in the JSON text
            return super().position(offset)
        index = bisect_right([cell.start for cell in cells], offset) - 1
        if index < 0 or offset > cells[index].end:
            return super().position(offset)
        return cells[index].position(offset)

    def escape(self, content: str) -> str:
        """Text as it must stand inside a JSON string of this file: non-ASCII escaped only where the file does it."""
        import json

        escapes = self.text.isascii() and _ESCAPED_NON_ASCII.search(self.text) is not None
        return json.dumps(content, ensure_ascii=escapes)[1:-1]


def _read_cells(text: str) -> list[Cell]:
    from trl_lint.sources.json import read_json_text

    root = read_json_text(text, _NOT_READ)
    nodes = _cell_nodes(root)
    if nodes is None:
        raise SourceError("not a notebook: it has no list of cells", root.start)
    language = _language(root)
    return [_read_cell(number, node, language) for number, node in enumerate(nodes, 1)]


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


def _language(root: Node) -> str:
    """The language of the kernel; a notebook that names none is taken for Python, as Jupyter does."""
    for path in ("metadata.kernelspec.language", "metadata.language_info.name", "metadata.kernelspec.name"):
        value = value_of(find(root, path))
        if isinstance(value, str) and value:
            return "python" if value.lower().startswith(("python", "ipython", "conda-env")) else value.lower()
    return "python"


def _read_cell(number: int, node: Mapping, language: str) -> Cell:
    kind = str(value_of(node.get("cell_type")))
    own = value_of(find(node, "metadata.vscode.languageId")) or value_of(node.get("language"))
    source = node.get("source")
    if source is None and kind == "code":
        source = node.get("input")  # nbformat 3
    strings: list[Scalar] = []
    start = node.start
    if isinstance(source, Scalar) and isinstance(source.value, str):
        strings = [source]
    elif isinstance(source, Sequence):
        start = source.start
        strings = [item for item in source.items if isinstance(item, Scalar) and isinstance(item.value, str)]
    return Cell(number, node, kind, own if isinstance(own, str) else language, strings, start)


class Segment(NamedTuple):
    """A stretch of the joined text and the stretch of a cell it stands for.

    An exact segment is a copy, character by character. Any other (a replaced magic, the line end between two cells)
    stands for its stretch of the cell as a whole.
    """

    start: int
    text: str
    cell: Cell
    cell_start: int
    cell_end: int
    exact: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class NotebookSource(Source):
    """A text made of stretches of cells. Raises SourceError on an edit that leaves its cell or touches a magic.

    `branch`: the branches of the Python around a shell line, as in `python_branches`.
    """

    __slots__ = ("_segments", "_starts", "branch")

    def __init__(self, file: NotebookFile, language: str, segments: list[Segment], branch: Branch = ()) -> None:
        super().__init__(file, language, "".join(segment.text for segment in segments))
        self.branch = branch
        self._segments = segments
        self._starts = [segment.start for segment in segments]

    def _segment(self, offset: int) -> Segment:
        return self._segments[max(bisect_right(self._starts, offset) - 1, 0)]

    def file_offset(self, offset: int) -> int:
        if not self._segments:
            return 0
        segment = self._segment(offset)
        if offset >= segment.end:
            return segment.cell.raw_end(segment.cell_end)
        if not segment.exact:
            return segment.cell.raw_start(segment.cell_start)
        return segment.cell.raw_start(segment.cell_start + offset - segment.start)

    def _end_offset(self, start: int, end: int) -> int:
        """Behind the last character of a range, not in front of the next line's string."""
        if end <= start or not self._segments:
            return self.file_offset(end)
        segment = self._segment(end - 1)
        if not segment.exact:
            return segment.cell.raw_end(segment.cell_end)
        return segment.cell.raw_end(segment.cell_start + end - segment.start)

    def location(self, start: int, end: int, message: str = "") -> Location:
        return Location(self.path, self.file_offset(start), self._end_offset(start, end), message)

    def edit(self, start: int, end: int, content: str) -> Edit:
        if not self._segments:
            raise SourceError("this notebook has no cell to edit")
        first, last = self._segment(start), self._segment(max(start, end - 1))
        if first.cell is not last.cell:
            raise SourceError("an edit cannot reach over two cells", self.file_offset(start))
        between = self._segments[self._segments.index(first) : self._segments.index(last) + 1]
        if end > start and any(not segment.exact and segment.cell_start < segment.cell_end for segment in between):
            raise SourceError("an edit cannot change a magic", self.file_offset(start))
        if any(one.cell_end != other.cell_start for one, other in pairwise(between)):
            raise SourceError("an edit cannot reach over indentation that IPython takes away", self.file_offset(start))
        file = self.file
        assert isinstance(file, NotebookFile)
        return Edit(self.path, self.file_offset(start), self._end_offset(start, end), file.escape(content))


def _code_cells(file: SourceFile) -> list[Cell]:
    if not isinstance(file, NotebookFile):
        raise TypeError(f"not a notebook: {file.path}")
    return [cell for cell in file.cells if cell.kind == "code" and cell.language == "python"]


def python_source(file: SourceFile) -> NotebookSource:
    """The Python cells of a notebook, one behind the other; magics and shell escapes become `pass`.

    Cells of other languages (`%%bash`, `%%html`, `%%writefile`) are left out. Raises SourceError if the file is no
    notebook.
    """
    segments: list[Segment] = []
    offset = 0

    def add(text: str, cell: Cell, start: int, end: int, exact: bool) -> None:
        nonlocal offset
        if text:
            segments.append(Segment(offset, text, cell, start, end, exact))
            offset += len(text)

    for cell in _code_cells(file):
        magic = cell_magic(cell.text)
        if magic is not None and not magic.is_python:
            continue
        done = 0
        for found in magics(cell.text):
            add(cell.text[done : found.start], cell, done, found.start, True)
            add(found.replacement, cell, found.start, found.end, False)
            done = found.end
        add(cell.text[done:], cell, done, len(cell.text), True)
        if not cell.text.endswith("\n"):
            add("\n", cell, len(cell.text), len(cell.text), False)
    assert isinstance(file, NotebookFile)
    return NotebookSource(file, "python", segments)


def shell_lines(file: SourceFile) -> list[NotebookSource]:
    """The shell texts of a notebook: what follows `!`, `%pip`, `%conda` (with the word itself), `%sx`; `%%bash` cells.

    `{name}` in them is filled in by IPython, as `$name` is by the shell: neither is known from the text.
    """
    from trl_lint.sources.python_branches import branches_of

    sources: list[NotebookSource] = []
    for cell in _code_cells(file):
        magic = cell_magic(cell.text)
        if magic is not None and not magic.is_python:
            spans = [(magic.end, len(cell.text))] if magic.is_shell else []
        else:
            spans = [(found.shell_start, found.end) for found in magics(cell.text) if found.shell_start is not None]
        assert isinstance(file, NotebookFile)
        for (start, end), branch in zip(spans, branches_of(cell.text, [start for start, _ in spans]), strict=True):
            segment = Segment(0, cell.text[start:end], cell, start, end, True)
            sources.append(NotebookSource(file, "shell", [segment], branch))
    return sources
