"""`--add-noqa` and `--write-baseline`: accepting what is there today."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.finding import Finding
from trl_lint.fixes.apply import by_path, edited
from trl_lint.fixes.noqa import RefusedError, noqa_edits
from trl_lint.records import NamedTuple
from trl_lint.reports import Report
from trl_lint.sources import SourceError, SourceFile
from trl_lint.sources.files import Files
from trl_lint.writing import WriteError, put_file, write_file

BASELINE = "trl-lint-baseline.json"  # where nobody names another


def write_baseline(path: str, findings: Iterable[Finding], files: Files) -> None:
    """Write a baseline of these findings. Raises UsageError if the file cannot be written, or is something else."""
    from trl_lint.baseline import baseline_text, is_baseline

    try:
        if os.path.isfile(path):
            with open(path, "rb") as stream:
                if not is_baseline(stream.read()):
                    raise UsageError(f"{path}: is no baseline, so it was left as it is")
        put_file(path, baseline_text(path, findings, files).encode())
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {tracked.reason(error)}") from None


class Added(NamedTuple):
    """What became of findings that were to be suppressed.

    `comments` is how many were added or extended, `left` (place, why) of the findings that got none, `problems`
    (path, why) of the files that could not be written.
    """

    comments: int
    left: list[tuple[str, str]]
    problems: list[tuple[str, str]]


def add_noqas(findings: Sequence[Finding], report: Report, reason: str) -> Added:
    """Add a `# noqa` for every finding and write the files."""
    if re.search(r"[\r\n]", reason):
        raise UsageError("--add-noqa: the reason must be one line")
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.location.path, []).append(finding)
    added = 0
    left: list[tuple[str, str]] = []
    problems: list[tuple[str, str]] = []
    for path, group in by_file.items():
        file = report.file(path)
        try:
            if file is None:
                raise RefusedError("the file cannot be read")
            number, refused = _add_to_file(file, group, reason.strip())
        except WriteError as error:
            problems.append((path, str(error)))
            continue
        except (RefusedError, SourceError) as error:
            left += [(report.place(finding.location), str(error)) for finding in group]
            continue
        added += number
        left += [(report.place(finding.location), why) for finding, why in refused]
    return Added(added, left, problems)


def _add_to_file(file: SourceFile, findings: list[Finding], reason: str) -> tuple[int, list[tuple[Finding, str]]]:
    edits, refused = noqa_edits(file, findings, reason)
    if edits:
        text = edited(file.text, by_path(edits)[file.path])
        write_file(file.path, file.encode(text), file.data)
    return len(edits), refused
