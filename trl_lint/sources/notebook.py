"""Jupyter notebooks: the code cells as one Python text, their shell commands, and edits inside the JSON strings.

A notebook is never written back from a parsed object, because that would change its layout: an edit replaces characters
of JSON strings, and all the rest of the file stays as it is.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from trl_lint.finding import Edit, Location
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.cells import Cell, read_cells
from trl_lint.sources.python_branches import Branch
from trl_lint.sources.text import Position, SourceError, SourceFile

_ESCAPED_NON_ASCII = regex(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")


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
            self._cells = read_cells(self.text)
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
        magic = cell.magic
        if magic is not None and not magic.is_python:
            continue
        done = 0
        for found in cell.magics:
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
        magic = cell.magic
        if magic is not None and not magic.is_python:
            spans = [(magic.end, len(cell.text))] if magic.is_shell else []
        else:
            spans = [(found.shell_start, found.end) for found in cell.magics if found.shell_start is not None]
        if not spans:
            continue
        assert isinstance(file, NotebookFile)
        for (start, end), branch in zip(spans, branches_of(cell.text, [start for start, _ in spans]), strict=True):
            segment = Segment(0, cell.text[start:end], cell, start, end, True)
            sources.append(NotebookSource(file, "shell", [segment], branch))
    return sources


def code_of(file: SourceFile) -> Source | None:
    """The Python of a notebook, None where it cannot be read as one."""
    try:
        return python_source(file)
    except SourceError:
        return None
