"""Places for programs that read the files themselves: those of the text on disk, for a notebook of its JSON text."""

from __future__ import annotations

from collections.abc import Sequence

from trl_lint import tracked
from trl_lint.finding import Edit, Fix, Location
from trl_lint.paths import is_below
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

    def replacements(self, fix: Fix) -> list[Edit]:
        """The edits of a fix as one for each file, because readers take several for alternatives.

        None at all if a file cannot be read.
        """
        by_path: dict[str, list[Edit]] = {}
        for edit in fix.edits:
            by_path.setdefault(edit.path, []).append(edit)
        found = []
        for path, edits in by_path.items():
            index = self.lines(path)
            if index is None:
                return []
            found.append(_joined(edits, index.text))
        return found


def _joined(edits: Sequence[Edit], text: str) -> Edit:
    """One edit that does what several in the same text do; the text between them is kept."""
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    first = ordered[0]
    parts, last = [], first.start
    for edit in ordered:
        parts += [text[last : edit.start], edit.content]
        last = edit.end
    return Edit(first.path, first.start, last, "".join(parts))


def in_checkout(report: Report, variable: str) -> Report:
    """A report whose paths count from the checkout that a CI service names in an environment variable.

    Services look files up there, wherever in it the tool was started. Outside of the service nothing changes.
    """
    root = tracked.variable(variable)
    if not root:
        return report
    root = tracked.real(root)
    return report._replace(cwd=root) if is_below(report.cwd, root) else report
