"""How much of the training that a run saw was understood: as JSON, and as a table by entry point and reason."""

from __future__ import annotations

from typing import Any, TextIO

from trl_lint.coverage import KINDS, Entry
from trl_lint.finding import Location
from trl_lint.reports import Report, visible
from trl_lint.words import counted


def described(report: Report) -> dict[str, Any] | None:
    """As JSON has it; None where the rules that can tell were not asked."""
    coverage = report.coverage
    if not coverage.is_counted:
        return None
    numbers = {f"{what}s": {"seen": coverage.number(what), "understood": coverage.number(what, True)} for what in KINDS}
    return {"files": coverage.files, **numbers, "entry_points": [_entry(one, report) for one in coverage.entries()]}


def _entry(entry: Entry, report: Report) -> dict[str, Any]:
    return {
        "what": entry.what,
        "name": entry.entry,
        "reason": entry.reason or None,
        "number": entry.number,
        **place_of(entry.first, report),
    }


def place_of(location: Location, report: Report) -> dict[str, Any]:
    """The path of a location, and its first and last position."""
    start, end = (
        {name: value for name, value in one._asdict().items() if value is not None} for one in report.span(location)
    )
    return {"path": report.path(location.path), "start": start, "end": end}


def write_table(report: Report, stream: TextIO) -> None:
    """One line for each entry point, what was not understood first."""
    entries = report.coverage.entries()
    rows = [
        (str(one.number), one.what, visible(one.entry), one.reason or "understood", _place(one, report))
        for one in entries
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for number, *texts, place in rows:
        cells = [text.ljust(width) for text, width in zip(texts, widths[1:], strict=True)]
        stream.write("  ".join([number.rjust(widths[0]), *cells, place]) + "\n")
    files = counted(report.coverage.files, "file")
    seen = report.coverage.understood or "without a training command, a config, an argument object or a loop"
    stream.write(f"{files}, {seen}.\n")


def _place(entry: Entry, report: Report) -> str:
    return report.place(entry.first).rpartition(":")[0]
