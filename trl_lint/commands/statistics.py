"""`--statistics`: how often each rule speaks."""

from __future__ import annotations

from collections import Counter
from typing import TextIO

from trl_lint.reports import Report, page_of, summary


def write_statistics(report: Report, name: str, stream: TextIO) -> None:
    """Counts by rule, the highest first; a list in JSON if that is the format."""
    counts = Counter(finding.code for finding in report.findings)
    fixable = Counter(finding.code for finding in report.findings if report.is_fixable(finding))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    pages = {code: page_of(code) for code in counts}
    if name == "json":
        from trl_lint.reports.log_safe import dump_json

        rows = [
            {"code": code, "name": page.name if (page := pages[code]) else "", "count": n, "fixable": fixable[code]}
            for code, n in ranked
        ]
        dump_json(rows, stream)
        return
    width = max((len(str(n)) for n in counts.values()), default=0)
    for code, n in ranked:
        mark = "[*]" if fixable[code] else "[ ]"
        page = pages[code]
        stream.write(f"{n:>{width}}  {code}  {mark}  {page.name if page else ''}\n")
    if report.summary:
        stream.write(summary(report))
