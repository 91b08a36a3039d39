"""Findings for programs. The layout is versioned: fields are added, never changed, within a version."""

from __future__ import annotations

from typing import Any, TextIO

from trl_lint.causes import cause_keys
from trl_lint.finding import Edit, Finding, Location, Notice
from trl_lint.fingerprints import Fingerprint, fingerprints
from trl_lint.reports import Report, page_of
from trl_lint.reports.coverage import described
from trl_lint.reports.log_safe import dump_json
from trl_lint.reports.places import Places
from trl_lint.sources.text import Position

VERSION = 1


def write(report: Report, stream: TextIO) -> None:
    writer = _Writer(report)
    prints = fingerprints(report.findings, report.cwd, report.files)
    causes = cause_keys(report.findings, report.cwd)
    document = {
        "version": VERSION,
        "findings": [writer.finding(*each) for each in zip(report.findings, prints, causes, strict=True)],
        "errors": [{"path": report.path(path), "message": message} for path, message in report.problems],
        "notices": [writer.notice(notice) for notice in report.notices],
        "coverage": described(report),
        "environment": {name: dict(package) for name, package in sorted(report.environment.items())},
        "files": writer.files(),
    }
    dump_json(document, stream)


class _Writer:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.places = Places(report)

    def files(self) -> dict[str, list[str]]:
        """The ids by which git may know the files with findings: as they are, and with the line ends git may make."""
        found = {}
        for path in sorted({finding.location.path for finding in self.report.findings}):
            file = self.report.file(path)
            if file is not None:
                found[self.report.path(path)] = sorted({_blob(file.data), _blob(file.data.replace(b"\r\n", b"\n"))})
        return found

    def finding(self, finding: Finding, fingerprint: Fingerprint, cause: str) -> dict[str, Any]:
        page = page_of(finding.code)
        return {
            "code": finding.code,
            "name": page.name if page else "",
            "severity": finding.severity,
            "impact": page.impact if page else "",
            "message": finding.message,
            **self._place(finding.location),
            "related": [{**self._place(place), "message": place.message} for place in finding.related],
            "fix": None
            if finding.fix is None
            else {
                "title": finding.fix.title,
                "applicability": finding.fix.applicability,
                "edits": [self._edit(edit) for edit in finding.fix.edits],
            },
            "url": page.url if page else "",
            "fingerprint": str(fingerprint),
            "cause": cause,
        }

    def notice(self, notice: Notice) -> dict[str, Any]:
        facts = {"package": notice.package, "version": notice.version, "newest_known": notice.newest_known}
        place = self._place(notice.location) if notice.location is not None else {}
        return {
            "kind": notice.kind,
            "message": notice.message,
            **{name: value for name, value in facts.items() if value},
            **place,
        }

    def _place(self, location: Location) -> dict[str, Any]:
        start, end = self.report.span(location)
        return {"path": self.report.path(location.path), "start": _position(start), "end": _position(end)}

    def _edit(self, edit: Edit) -> dict[str, Any]:
        # Positions of edits are those of the file itself, for a notebook those of its JSON text: applying the edits as
        # they are gives the repaired file.
        start, end = self.places.span(edit)
        return {
            "path": self.report.path(edit.path),
            "start": _position(start),
            "end": _position(end),
            "content": edit.content,
        }


def _blob(data: bytes) -> str:
    import hashlib

    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _position(position: Position) -> dict[str, int]:
    place = {"line": position.line, "column": position.column}
    return place if position.cell is None else {"cell": position.cell, **place}
