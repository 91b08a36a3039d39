"""rdjson, the format of reviewdog (its proto/rdf/reviewdog.proto), with suggestions.

Columns count bytes of UTF-8. A suggestion can change one range of the file it stands in, so a fix that changes several
files is left out.
"""

from __future__ import annotations

from typing import Any, TextIO

from trl_lint.causes import cause_keys
from trl_lint.finding import Edit, Finding, Location
from trl_lint.knowledge.pages import HOME
from trl_lint.reports import Report, page_of
from trl_lint.reports.log_safe import dump_json
from trl_lint.reports.places import Places
from trl_lint.sources.text import Position

SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def write(report: Report, stream: TextIO) -> None:
    writer = _Writer(report)
    causes = cause_keys(report.findings, report.cwd)
    document = {
        "source": {"name": "trl-lint", "url": HOME},
        "diagnostics": [writer.diagnostic(*pair) for pair in zip(report.findings, causes, strict=True)],
    }
    dump_json(document, stream)


class _Writer:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.places = Places(report)

    def diagnostic(self, finding: Finding, cause: str) -> dict[str, Any]:
        page = page_of(finding.code)
        cell = self.places.in_cell(finding.location)
        found: dict[str, Any] = {
            "message": f"{finding.message} ({cell})" if cell else finding.message,
            "location": self._location(finding.location),
            "severity": SEVERITIES[finding.severity],
            "code": {"value": finding.code, "url": page.url} if page else {"value": finding.code},
            # The format refuses fields of others, and this one is for what the tool itself says.
            "original_output": f"cause: {cause}",
        }
        if suggestions := self._suggestions(finding):
            found["suggestions"] = suggestions
        if finding.related:
            found["related_locations"] = [
                {"message": place.message, "location": self._location(place)} for place in finding.related
            ]
        return found

    def _suggestions(self, finding: Finding) -> list[dict[str, Any]]:
        if finding.fix is None or not self.report.is_fixable(finding):
            return []
        edits = self.places.replacements(finding.fix)
        if [edit.path for edit in edits] != [finding.location.path]:
            return []
        return [{"range": self._range(edits[0]), "text": edits[0].content}]

    def _location(self, location: Location) -> dict[str, Any]:
        return {"path": self.report.path(location.path), "range": self._range(location)}

    def _range(self, place: Location | Edit) -> dict[str, dict[str, int]]:
        start, end = self.places.span(place)
        return {"start": self._position(place.path, start), "end": self._position(place.path, end)}

    def _position(self, path: str, position: Position) -> dict[str, int]:
        lines = self.places.lines(path)
        before = "" if lines is None else lines.line_text(position.line)[: position.column - 1]
        # Past the characters of a line stands its line end, one byte for each.
        beyond = position.column - 1 - len(before)
        return {"line": position.line, "column": len(before.encode("utf-8", "surrogatepass")) + beyond + 1}
