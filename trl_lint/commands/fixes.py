"""What `--diff` and `--show-fixes` print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TextIO

from trl_lint.finding import Finding
from trl_lint.reports import Report, page_of, visible
from trl_lint.reports.colors import Palette
from trl_lint.reports.log_safe import is_ci_log
from trl_lint.sources.text import SourceFile
from trl_lint.words import counted


def write_diff(changed: Mapping[str, bytes], before: Mapping[str, SourceFile], report: Report, stream: TextIO) -> None:
    """The changes of all files as one patch, by path."""
    from trl_lint.fixes.diff import painted, safe_line
    from trl_lint.reports.diffs import unified

    for path, data in sorted(changed.items()):
        file = before[path]
        after = data.decode(file.encoding).removeprefix("\ufeff")
        lines = unified(report.path(path), file.text, after)
        # A patch for a program stays byte for byte; one for a terminal or a log must not be obeyed by it. What looks
        # like a log may be a pipe to `git apply`: there only lines change that a log would obey.
        if report.color or stream.isatty():
            lines = painted(lines, Palette(report.color))
        elif is_ci_log():
            lines = map(safe_line, lines)
        stream.writelines(lines)


def fix_list(fixed: Iterable[Finding], report: Report) -> str:
    """`- train.py:` and under it how often which rule was repaired."""
    counts: dict[str, Counter[str]] = {}
    for finding in fixed:
        counts.setdefault(visible(report.path(finding.location.path)), Counter())[finding.code] += 1
    total = sum(sum(codes.values()) for codes in counts.values())
    lines = [f"Fixed {counted(total, 'problem')}:"]
    for path, codes in sorted(counts.items()):
        lines.append(f"- {path}:")
        for code, number in sorted(codes.items()):
            page = page_of(code)
            lines.append(f"    {number} x {code}" + (f" ({page.name})" if page else ""))
    return "".join(line + "\n" for line in lines) + "\n"
