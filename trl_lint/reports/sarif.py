"""SARIF 2.1.0 (OASIS), for GitHub code scanning and other viewers.

Columns count characters, and a place in a notebook is that of its JSON text, because that is the artifact; the cell is
named in the message. Paths are relative, so the same project gives the same report on every machine. What GitHub reads
of it is in its documentation, "SARIF support for code scanning".
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from trl_lint import __version__
from trl_lint.causes import cause_keys
from trl_lint.finding import Edit, Finding, Location, Notice
from trl_lint.fingerprints import Fingerprint, fingerprints
from trl_lint.knowledge.pages import HOME
from trl_lint.paths import is_below
from trl_lint.reports import Report, page_of
from trl_lint.reports.line_hashes import line_hashes
from trl_lint.reports.log_safe import dump_json
from trl_lint.reports.places import Places, in_checkout

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
# The words of GitHub's filter "severity" of alerts that are not about security.
_PROBLEMS = {"error": "error", "warning": "warning", "info": "recommendation"}
_MAX_TEXT = 1024


def write(report: Report, stream: TextIO) -> None:
    dump_json(_Writer(in_checkout(report, "GITHUB_WORKSPACE")).log(), stream)


class _Writer:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.places = Places(report)
        self.codes = sorted({finding.code for finding in report.findings})
        self._hashes: dict[str, list[str]] = {}

    def log(self) -> dict[str, Any]:
        findings = self.report.findings
        prints = fingerprints(findings, self.report.cwd, self.report.files)
        causes = cause_keys(findings, self.report.cwd)
        run = {
            "tool": {
                "driver": {
                    "name": "trl-lint",
                    "version": __version__,
                    "informationUri": HOME,
                    "rules": [_rule(code) for code in self.codes],
                }
            },
            "invocations": [self._invocation()],
            "originalUriBaseIds": {ROOT: {"description": {"text": "The folder that was checked, or the checkout."}}},
            "columnKind": "unicodeCodePoints",
            "newlineSequences": ["\r\n", "\n", "\r"],
            "results": [self._result(*each) for each in zip(findings, prints, causes, strict=True)],
        }
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}

    def _invocation(self) -> dict[str, Any]:
        problems = [
            {
                "level": "error",
                "message": {"text": message},
                "locations": [{"physicalLocation": {"artifactLocation": self._artifact(path)}}],
            }
            for path, message in self.report.problems
        ]
        notes = [*problems, *map(self._notification, self.report.notices)]
        found: dict[str, Any] = {"executionSuccessful": not problems}
        return {**found, "toolExecutionNotifications": notes} if notes else found

    def _notification(self, notice: Notice) -> dict[str, Any]:
        found: dict[str, Any] = {
            "level": "note",
            "message": {"text": notice.message},
            "properties": {"kind": notice.kind},
        }
        if notice.location is not None:
            found["locations"] = [{"physicalLocation": self._physical(notice.location)}]
        return found

    def _result(self, finding: Finding, fingerprint: Fingerprint, cause: str) -> dict[str, Any]:
        cell = self.places.in_cell(finding.location)
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": self.codes.index(finding.code),
            "level": LEVELS[finding.severity],
            "message": {"text": f"{finding.message} ({cell})" if cell else finding.message},
            "locations": [{"physicalLocation": self._physical(finding.location)}],
            "partialFingerprints": {
                **self._line_hash(finding.location),
                "trlLint/v1": str(fingerprint),
            },
            "properties": {"cause": cause},
        }
        if finding.related:
            result["relatedLocations"] = [self._related(n, place) for n, place in enumerate(finding.related, 1)]
        if fixes := self._fixes(finding):
            result["fixes"] = fixes
        return result

    def _related(self, number: int, place: Location) -> dict[str, Any]:
        cell = self.places.in_cell(place)
        text = " ".join(part for part in (place.message, f"({cell})" if cell else "") if part)
        message = {"message": {"text": text}} if text else {}
        return {"id": number, "physicalLocation": self._physical(place), **message}

    def _line_hash(self, location: Location) -> dict[str, str]:
        path = location.path
        if path not in self._hashes:
            file = self.report.file(path)
            self._hashes[path] = [] if file is None else line_hashes(file.data)
        line = self.places.span(location)[0].line
        hashes = self._hashes[path]
        return {"primaryLocationLineHash": hashes[line - 1]} if line <= len(hashes) else {}

    def _physical(self, location: Location) -> dict[str, Any]:
        return {"artifactLocation": self._artifact(location.path), "region": self._region(location)}

    def _artifact(self, path: str) -> dict[str, str]:
        if path not in self.report.shown_as and not is_below(path, self.report.cwd):
            return {"uri": Path(path).as_uri()}  # a relative one would have to climb, which SARIF discourages
        return {"uri": quote(os.fsencode(self.report.path(path))), "uriBaseId": ROOT}

    def _region(self, place: Location | Edit) -> dict[str, int]:
        start, end = self.places.span(place)
        return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}

    def _fixes(self, finding: Finding) -> list[dict[str, Any]]:
        # A viewer offers every fix in the same words, so it gets only those that `--fix` as given would make.
        if finding.fix is None or not self.report.is_fixable(finding):
            return []
        changes = [
            {
                "artifactLocation": self._artifact(edit.path),
                "replacements": [{"deletedRegion": self._region(edit), "insertedContent": {"text": edit.content}}],
            }
            for edit in self.places.replacements(finding.fix)
        ]
        return [{"description": {"text": finding.fix.title}, "artifactChanges": changes}] if changes else []


def _rule(code: str) -> dict[str, Any]:
    """What the page of a rule says, as a reporting descriptor."""
    from trl_lint.knowledge.pages import page_text

    page = page_of(code)
    if page is None:
        return {
            "id": code,
            "shortDescription": {"text": code},
            "fullDescription": {"text": code},
            "help": {"text": code},
        }
    text = page_text(page)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in page.name.split("-")),
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": _clipped(_first_paragraph(page.body))},
        "help": {"text": text, "markdown": text},
        "helpUri": page.url,
        "defaultConfiguration": {"enabled": page.default, "level": LEVELS[page.severity]},
        "properties": {
            "tags": ["reinforcement-learning", page.impact],
            "precision": "high",
            "problem.severity": _PROBLEMS[page.severity],
        },
    }


def _first_paragraph(body: str) -> str:
    """The first lines of a page that are neither a heading nor empty, in one line."""
    return " ".join(_paragraph(body.splitlines()))


def _paragraph(lines: Iterable[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if not line.strip():
            if found:
                break
        elif not line.startswith("#"):
            found.append(line.strip())
    return found


def _clipped(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
