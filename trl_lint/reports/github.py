"""GitHub annotations: the workflow commands that the runner turns into marks on the lines of a pull request.

Escaping is that of the runner's own library (actions/toolkit, core/src/command.ts). Of one step the runner keeps ten
annotations a level; the log has them all.
"""

from __future__ import annotations

from typing import TextIO

from trl_lint.finding import Finding
from trl_lint.reports import Report, page_of, visible
from trl_lint.reports.places import Places, in_checkout

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def write(report: Report, stream: TextIO) -> None:
    report = in_checkout(report, "GITHUB_WORKSPACE")
    places = Places(report)
    for finding in report.findings:
        stream.write(_annotation(finding, report, places))
    for path, message in report.problems:
        stream.write(command("error", f"{report.path(path)}: {message}", {"title": "trl-lint"}))


def _annotation(finding: Finding, report: Report, places: Places) -> str:
    start, end = places.span(finding.location)
    page = page_of(finding.code)
    properties = {
        "title": f"{finding.code} ({page.name})" if page else finding.code,
        "file": report.path(finding.location.path),
        "line": str(start.line),
        "col": str(start.column),
        "endLine": str(end.line),
    }
    if end.line == start.line:  # GitHub knows columns within one line only
        properties["endColumn"] = str(end.column)
    # The log shows neither file nor line of an annotation, so the message begins with them.
    text = f"{report.place(finding.location)}: {finding.code} {visible(finding.message)}"
    return command(COMMANDS[finding.severity], text, properties)


def command(name: str, message: str, properties: dict[str, str]) -> str:
    """A workflow command in one line."""
    shown = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {shown}::{_data(message)}\n"


def _data(text: str) -> str:
    text = visible(text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
