"""GitLab Code Quality: a JSON array that the merge request shows as a widget.

Two issues with one fingerprint are one issue to GitLab, so each has its own, and it stays when lines move.
"""

from __future__ import annotations

from typing import Any, TextIO

from trl_lint.causes import cause_keys
from trl_lint.finding import Finding
from trl_lint.fingerprints import Fingerprint, fingerprints
from trl_lint.reports import Report
from trl_lint.reports.log_safe import dump_json
from trl_lint.reports.places import Places, in_checkout

SEVERITIES = {"error": "critical", "warning": "major", "info": "info"}


def write(report: Report, stream: TextIO) -> None:
    report = in_checkout(report, "CI_PROJECT_DIR")
    places = Places(report)
    prints = fingerprints(report.findings, report.cwd, report.files)
    causes = cause_keys(report.findings, report.cwd)
    issues = [_issue(*each, report, places) for each in zip(report.findings, prints, causes, strict=True)]
    dump_json(issues, stream)


def _issue(finding: Finding, fingerprint: Fingerprint, cause: str, report: Report, places: Places) -> dict[str, Any]:
    start, end = places.span(finding.location)
    cell = places.in_cell(finding.location)
    where = f" ({cell})" if cell else ""
    return {
        "description": f"{finding.code}: {finding.message}{where}",  # `check_name` is not displayed
        "check_name": finding.code,
        "fingerprint": str(fingerprint),
        "cause": cause,  # beyond the format: GitLab passes over what it does not know
        "severity": SEVERITIES[finding.severity],
        "location": {
            "path": report.path(finding.location.path),
            "positions": {
                "begin": {"line": start.line, "column": start.column},
                "end": {"line": end.line, "column": end.column},
            },
        },
    }
