"""One line a finding, as editors and `grep` like it."""

from __future__ import annotations

from typing import TextIO

from trl_lint.finding import Finding
from trl_lint.reports import Report, summary, visible
from trl_lint.reports.colors import Palette


def write(report: Report, stream: TextIO) -> None:
    palette = Palette(report.color)
    for finding in report.findings:
        stream.write(headline(finding, report, palette) + "\n")
    if report.summary:
        stream.write(summary(report))


def headline(finding: Finding, report: Report, palette: Palette, url: str = "") -> str:
    """`train.py:12:9: TRL101 [*] error: message`."""
    code = palette.level(finding.code, finding.severity)
    if url:
        code = palette.link(code, url)
    mark = palette.blue("[*]") + " " if report.is_fixable(finding) else ""
    place = palette.bold(report.place(finding.location))
    return f"{place}: {code} {mark}{finding.severity}: {visible(finding.message)}"
