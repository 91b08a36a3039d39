"""The lines people see in their editor: those of a file, or of one cell of a notebook."""

from __future__ import annotations

from trl_lint.regexes import regex
from trl_lint.reports import Report
from trl_lint.sources.text import SourceError, SourceFile

_LINE_END = regex(r"\r\n|\r|\n")


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
