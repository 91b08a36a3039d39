"""What shields.io wants of an endpoint: a badge with the number of errors and warnings."""

from __future__ import annotations

from typing import TextIO

from trl_lint.finding import levels
from trl_lint.reports import Report, is_all_clear
from trl_lint.reports.log_safe import dump_json


def write(report: Report, stream: TextIO) -> None:
    """Write `{"schemaVersion": 1, …}`; hints do not count, and what could not be checked is no pass."""
    findings = [finding for finding in report.findings if finding.severity != "info"]
    message, color = levels(findings), "red" if any(one.severity == "error" for one in findings) else "orange"
    if report.problems:
        message, color = "not checked", "lightgrey"
    elif not findings and not report.coverage.is_concerned:
        message, color = "nothing to check", "lightgrey"
    elif not findings:
        message, color = (
            ("passing", "brightgreen")
            if is_all_clear(report._replace(findings=findings))
            else ("nothing found", "green")
        )
    dump_json({"schemaVersion": 1, "label": "trl-lint", "message": message, "color": color}, stream)
