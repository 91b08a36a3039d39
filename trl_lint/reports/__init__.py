"""What a run says. One module per format, each with `write(report, stream)`; shared here: places, names, counts.

Nothing that comes from an analysed file reaches a terminal as it is: see `visible`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

from trl_lint.coverage import EXAMPLE, NO_RELEASE, Coverage, sentence
from trl_lint.finding import SEVERITIES, Finding, Location, Notice, Severity, levels
from trl_lint.paths import relative_to
from trl_lint.records import NamedTuple
from trl_lint.sources.files import Files
from trl_lint.sources.text import Position, SourceError, SourceFile
from trl_lint.streams import visible as visible
from trl_lint.words import counted, listed

if TYPE_CHECKING:
    from trl_lint.knowledge.pages import Page
    from trl_lint.reports.run_places import RunPlaces

FOR_PEOPLE = ("full", "concise")
WITH_EDITS = ("html", "json", "sarif", "rdjson")
WITH_ENVIRONMENT = ("html", "json")
FORMATS = (*FOR_PEOPLE, "html", "json", "sarif", "github", "gitlab", "junit", "rdjson", "badge")


class Report(NamedTuple):
    """Everything a format may want to show.

    `problems` are (path, message) of what could not be done. `environment` maps packages to specifier, resolved release
    and source. `shown_as` renames paths (standard input). `width` is the number of columns to fill. For people:
    `least` is the lowest level that is shown, and `unfold` shows every place of an entry. `runs` are those of the
    projects, for the page. `coverage`: what of training was seen, and how much of it understood.
    """

    findings: Sequence[Finding]
    problems: Sequence[tuple[str, str]]
    files: Files
    cwd: str
    environment: Mapping[str, Mapping[str, str | None]] = {}
    shown_as: Mapping[str, str] = {}
    unsafe_fixes: bool = False
    color: bool = False
    links: bool = False
    width: int = 120
    fixed: int = 0
    in_baseline: int = 0
    summary: bool = True
    notices: Sequence[Notice] = ()
    least: Severity = "info"
    runs: Sequence[RunPlaces] = ()
    unfold: bool = False
    coverage: Coverage = Coverage(0)

    def path(self, path: str) -> str:
        """A path as the user knows it: from the working directory, with forward slashes."""
        return self.shown_as.get(path) or relative_to(path, self.cwd)

    def file(self, path: str) -> SourceFile | None:
        """The file, or None where it cannot be read."""
        try:
            return self.files.own(path)
        except (OSError, SourceError):
            return None

    def span(self, location: Location) -> tuple[Position, Position]:
        """First and last place of a location; a file that cannot be read has one place, its start."""
        file = self.file(location.path)
        if file is None:
            return Position(1, 1), Position(1, 1)
        return file.position(location.start), file.position(max(location.start, location.end))

    def place(self, location: Location) -> str:
        """`train.py:12:9`, or `nb.ipynb:cell 3:2:1`."""
        start, _ = self.span(location)
        cell = f"cell {start.cell}:" if start.cell is not None else ""
        return f"{visible(self.path(location.path))}:{cell}{start.line}:{start.column}"

    def for_people(self) -> list[Finding]:
        """The findings that formats for people show."""
        least = SEVERITIES.index(self.least)
        return [finding for finding in self.findings if SEVERITIES.index(finding.severity) >= least]

    def is_fixable(self, finding: Finding) -> bool:
        """Whether `--fix` as given would try to repair the finding."""
        return finding.fix is not None and (self.unsafe_fixes or finding.fix.applicability == "safe")


def write(name: str, report: Report, stream: TextIO) -> None:
    """Write a report in one of the FORMATS."""
    if name in FOR_PEOPLE and not report.for_people():  # what these formats differ in
        stream.write(notes(report) + (summary(report) if report.summary else ""))
        return
    import_module(f"trl_lint.reports.{name}").write(report, stream)


def page_of(code: str) -> Page | None:
    """The page of a rule; None if it has none, which is no reason to lose a finding."""
    from trl_lint.knowledge import KnowledgeError
    from trl_lint.knowledge.pages import page

    try:
        return page(code)
    except (KnowledgeError, OSError):
        return None


def char_width(char: str) -> int:
    """How many columns a terminal gives a character."""
    if char.isascii():
        return 1
    import unicodedata

    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


# -- counts -----------------------------------------------------------------------------------------------------------


# So many entry points that were not understood have a line each.
_MOST_NOT_UNDERSTOOD = 3
_OF_RELEASES = ("newer-release", "unknown-release")


def notes(report: Report) -> str:
    """The lines about what was not judged."""
    lines = []
    for notice in report.notices:
        place = f"{report.place(notice.location)}: " if notice.location is not None else ""
        lines.append(f"{place}note: {visible(notice.message)}\n")
    if report.summary:
        lines += [f"{line}\n" for line in _not_understood(report)]
    return "".join(lines)


def _not_understood(report: Report) -> list[str]:
    """The entry points whose options, keys or keywords were not checked, the most frequent first."""
    is_said = any(notice.kind in _OF_RELEASES for notice in report.notices)
    entries = [one for one in report.coverage.entries() if one.reason and one.what != EXAMPLE]
    entries = [one for one in entries if not (is_said and one.reason == NO_RELEASE)]
    shown = entries if report.unfold else entries[:_MOST_NOT_UNDERSTOOD]
    lines = [f"{report.place(entry.first)}: note: {visible(sentence(entry))}" for entry in shown]
    if left := sum(entry.number for entry in entries[len(shown) :]):
        lines.append(f"note: {left} more were not understood; `trl-lint runs --coverage` has them all")
    return lines


def summary(report: Report) -> str:
    """The lines under a report for people."""
    lines = []
    findings = report.for_people()
    hints = len(report.findings) - len(findings)
    if report.fixed:
        left = f": {levels(findings)}" if findings else ""
        lines.append(f"Fixed {counted(report.fixed, 'problem')}, {len(findings)} remaining{left}.")
    elif findings:
        lines.append(f"Found {levels(findings)}{_causes(report)}.")
        if report.coverage.understood and not report.coverage.is_complete:
            lines.append(f"{report.coverage.understood}.")
    elif not report.problems:
        lines.append(nothing_found(report))
    lines += _shared_pins(report)
    safe = sum(f.fix is not None and f.fix.applicability == "safe" for f in findings)
    unsafe = sum(f.fix is not None and f.fix.applicability == "unsafe" for f in findings)
    fixable = safe + unsafe if report.unsafe_fixes else safe
    hidden = 0 if report.unsafe_fixes else unsafe
    if fixable:
        also = f" ({hidden} more with `--unsafe-fixes`)" if hidden else ""
        lines.append(f"[*] {fixable} fixable with `--fix`{also}.")
    elif hidden:
        lines.append(f"{hidden} fixable with `--fix --unsafe-fixes`.")
    if hints:
        lines.append(f"{counted(hints, 'hint')}: `--hints` shows {'it' if hints == 1 else 'them'}.")
    if report.in_baseline:
        lines.append(f"{counted(report.in_baseline, 'finding')} of the baseline not shown.")
    return "".join(line + "\n" for line in lines)


def is_all_clear(report: Report) -> bool:
    """Whether nothing was found where all was understood, and nothing was left out."""
    return report.coverage.is_complete and not (report.findings or report.notices or report.in_baseline)


def nothing_found(report: Report) -> str:
    """That nothing was found, and in how much."""
    coverage = report.coverage
    files = counted(coverage.files, "file") if coverage.files else ""
    if coverage.is_counted and not (coverage.is_concerned or report.findings or report.notices):
        return f"Nothing to check: no file here trains or configures anything ({files or 'no file'} looked at)."
    number = ", ".join(filter(None, [files, coverage.understood, _release(report)]))
    if is_all_clear(report):
        return f"All checks passed! {number}."
    judged = " in what was judged" if report.notices else ""
    above = f"; see {counted(len(report.notices), 'note')} above" if report.notices else ""
    return f"No errors or warnings{judged}{':' if number else ''} {number}".rstrip() + f"{above}."


def _release(report: Report) -> str:
    """The release by which most was judged, with its pin, and how many others."""
    releases = report.coverage.releases
    if not releases:
        return ""
    name, pin = releases[0]
    place = f" ({line_of(pin, report)})" if pin is not None else ""
    return f"{name}{place}" + (f" and {len(releases) - 1} more" if releases[1:] else "")


def line_of(location: Location, report: Report) -> str:
    """The place of something without its column."""
    return report.place(location).rpartition(":")[0]


def _causes(report: Report) -> str:
    """How many causes a report tells of, as JSON counts them, where that is less than its findings."""
    if report.unfold:
        return ""
    from trl_lint.causes import cause_keys

    findings = report.for_people()
    number = len(set(cause_keys(findings, report.cwd)))
    return f" ({counted(number, 'cause')})" if number < len(findings) else ""


def _shared_pins(report: Report) -> list[str]:
    """The few lines that most findings rest on, and what to do about them."""
    findings = report.for_people()
    if not findings:
        return []
    from trl_lint.causes import most_rest_on

    number, pins = most_rest_on(findings)
    if not pins:
        return []
    named = [f"{report.place(pin.location)} `{visible(pin.package + pin.specifier)}`" for pin in pins]
    it = "it" if len(named) == 1 else "them"
    return [f"{number} of {len(findings)} rest on {listed(named)}: bound {it}, or migrate."]
