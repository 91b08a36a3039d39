"""Places for programs that read the files themselves: those of the text on disk, for a notebook of its JSON text."""

from __future__ import annotations

from trl_lint.finding import Edit, Location
from trl_lint.reports import Report
from trl_lint.sources.text import LineIndex, Position, SourceError

_START = Position(1, 1)


class Places:
    """Lines and columns in the files of a report as they are on disk; each file is split into lines once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._known: dict[str, LineIndex | None] = {}

    def span(self, place: Location | Edit) -> tuple[Position, Position]:
        """Where a place begins and ends (exclusive); a file that cannot be read has one place, its start."""
        index = self.lines(place.path)
        if index is None:
            return _START, _START
        return index.position(place.start), index.position(max(place.start, place.end))

    def lines(self, path: str) -> LineIndex | None:
        """The lines of a file, None if it cannot be read."""
        if path not in self._known:
            file = self._report.file(path)
            try:
                self._known[path] = None if file is None else LineIndex(file.text)
            except SourceError:
                self._known[path] = None
        return self._known[path]

    def in_cell(self, location: Location) -> str:
        """`cell 3, line 2` for a place in a notebook: what its JSON lines tell nobody. Empty for other files."""
        start, _ = self._report.span(location)
        return "" if start.cell is None else f"cell {start.cell}, line {start.line}"
