"""The lines people see in their editor: those of a file, or of one cell of a notebook."""

from __future__ import annotations

from trl_lint.finding import Location
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.reports import Report
from trl_lint.sources.text import SourceError, SourceFile

_LINE_END = regex(r"\r\n|\r|\n")
_MAX_MARKED_LINES = 6


class Shown(NamedTuple):
    """A line of an excerpt; `start` and `stop` are the characters a mark goes from and to, where it is marked.

    `number` 0 stands for lines that are left out.
    """

    number: int
    text: str = ""
    start: int = 0
    stop: int = 0
    is_marked: bool = False


class Lines:
    """Lines of the files of a report, split once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._known: dict[tuple[str, int | None], list[str]] = {}

    def of(self, path: str, cell: int | None = None) -> list[str]:
        """The lines of a file, or of a notebook's cell by its 1-based number; none if it cannot be read."""
        key = (path, cell)
        if key not in self._known:
            self._known[key] = self._read(path, cell)
        return self._known[key]

    def around(self, location: Location, context: int) -> list[Shown]:
        """The lines of a place with up to `context` lines on either side; none where there is nothing to show."""
        start, end = self._report.span(location)
        text = self.of(location.path, start.cell)
        if not text or start.line > len(text):
            return []
        if end.cell != start.cell or end.line < start.line:
            end = start._replace(column=start.column + 1)
        last = min(end.line, len(text))
        if last > start.line and end.column == 1:  # up to and with the line end
            last -= 1
            end = end._replace(line=last, column=len(text[last - 1]) + 1)
        first = max(1, start.line - context)
        while first < start.line and not text[first - 1].strip():
            first += 1
        until = min(len(text), last + context)
        while until > last and not text[until - 1].strip():
            until -= 1
        out = []
        for number in range(first, until + 1):
            marked = start.line <= number <= last
            if marked and number - start.line >= _MAX_MARKED_LINES - 1 and number < last:
                if number - start.line == _MAX_MARKED_LINES - 1:
                    out.append(Shown(0))
                continue
            line = text[number - 1]
            begin = start.column - 1 if number == start.line else len(line) - len(line.lstrip())
            stop = end.column - 1 if number == end.line else len(line.rstrip())
            out.append(Shown(number, line, begin, stop, marked and bool(line.strip() or start.line == last)))
        return out

    def _read(self, path: str, cell: int | None) -> list[str]:
        file = self._report.file(path)
        if file is None:
            return []
        try:
            return _LINE_END.split(file.text if cell is None else _cell_text(file, cell))
        except SourceError:
            return []


def _cell_text(file: SourceFile, cell: int) -> str:
    from trl_lint.sources.notebook import NotebookFile

    return file.cells[cell - 1].text if isinstance(file, NotebookFile) else ""
