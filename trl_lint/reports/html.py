"""Findings as one page that needs nothing else: by cause, with excerpts and what the fixes would change.

All of it can be read without scripts. A script, if it may run, filters by level, rule, file, run and word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from trl_lint.causes import Entry, Group, entries_of, groups_of
from trl_lint.finding import SEVERITIES, Edit, Finding, Fix, Location, levels
from trl_lint.reports import Report, nothing_found, page_of
from trl_lint.reports.colors import Palette
from trl_lint.reports.concise import pin_line
from trl_lint.reports.diffs import unified
from trl_lint.reports.html_page import choice, code_told, folded, level_told, page, prose, title_of, told
from trl_lint.reports.lines import Lines
from trl_lint.reports.places import Places
from trl_lint.reports.run_places import MOST_RUNS, Concerned
from trl_lint.words import counted

_CONTEXT = 2
# A page stays below 2 MB: beyond this many characters of findings only their places are shown, and beyond so many
# findings only their number. Both are said.
_ROOM = 1_200_000
_MOST_FINDINGS = 2_000
_MOST_DIFF_LINES = 300  # of a file, from the first change to the last
_MOST_OPEN = 10


def write(report: Report, stream: TextIO) -> None:
    stream.write(_Writer(report).page())


class _Writer:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.lines = Lines(report)
        self.places = Places(report)
        self.findings = sorted(report.findings, key=lambda finding: -SEVERITIES.index(finding.severity))
        self.left_out = self.findings[_MOST_FINDINGS:]
        del self.findings[_MOST_FINDINGS:]
        self.concerned = Concerned(report.runs)
        self.room = _ROOM
        self.files: dict[str, int] = {}  # each file with findings, by its number in the filter
        self.runs: dict[int, None] = {}
        self.opened = 0

    def page(self) -> str:
        title = title_of("Findings of trl-lint", self.report.cwd)
        groups = groups_of(entries_of(self.findings))
        causes = [self._group(group) for group in groups]
        parts = [f"<h1>{told(title)}</h1>", *self._summary(groups), *self._notes()]
        if self.findings:
            parts += [self._filter(), "<main>", *causes, "</main>"]
        return page(title, [*parts, self._releases()], "filter" if self.findings else None)

    # -- above the findings ---------------------------------------------------------------------------------------

    def _summary(self, groups: Sequence[Group]) -> Iterator[str]:
        report = self.report
        if self.findings:
            number = sum(len(group.entries) for group in groups)
            files = counted(len({finding.location.path for finding in report.findings}), "file")
            yield f"<p>{levels([*self.findings, *self.left_out])} in {files}, of {counted(number, 'cause')}.</p>"
        else:
            yield f"<p>{told(nothing_found(report))}</p>"
        if report.fixed:
            yield f"<p>{counted(report.fixed, 'problem')} repaired before.</p>"
        if report.in_baseline:
            yield f"<p>{counted(report.in_baseline, 'finding')} of the baseline not shown.</p>"
        if self.left_out:
            yield f"<p><b>{counted(len(self.left_out), 'more finding')} not shown</b>: {levels(self.left_out)}.</p>"
        if self.room <= 0:
            yield "<p><b>The page is long: further findings are shown without their lines.</b></p>"
        if len(report.runs) > MOST_RUNS:
            yield f"<p>Only the first {MOST_RUNS} of {len(report.runs)} runs can be chosen.</p>"

    def _notes(self) -> Iterator[str]:
        report = self.report
        rows = [f"<li><b>{told(report.path(path))}</b>: {prose(message)}</li>" for path, message in report.problems]
        if rows:
            yield f"<h2>Not checked</h2><ul>{''.join(rows)}</ul>"
        rows = []
        for notice in report.notices:
            place = f"{self._where(notice.location)} " if notice.location is not None else ""
            rows.append(f"<li>{place}{prose(notice.message)}</li>")
        if rows:
            yield folded(f"Not judged: {counted(len(rows), 'note')}", f"<ul>{''.join(rows)}</ul>", "card")

    def _filter(self) -> str:
        present = [level for level in reversed(SEVERITIES) if any(one.severity == level for one in self.findings)]
        boxes = "".join(
            f'<label><input type="checkbox" name="level" value="{level}" checked> {level_told(level)}</label>'
            for level in present
        )
        codes = sorted({finding.code for finding in self.findings})
        rules = [(code, f"{code} {found.name}" if (found := page_of(code)) else code) for code in codes]
        files = sorted((self.report.path(path), number) for path, number in self.files.items())
        runs = sorted((self._run(number), number) for number in self.runs)
        fields = [
            f"<fieldset><legend>Level</legend>{boxes}</fieldset>",
            choice("rule", "Rule", rules),
            choice("file", "File", [(str(number), path) for path, number in files]),
            choice("run", "Run", [(str(number), text) for text, number in runs]) if runs else "",
            '<label>Word <input type="search" name="word"></label>',
            '<button type="reset">Show all</button>',
            '<span id="shown" role="status"></span>',
        ]
        return f'<form class="filter" hidden aria-label="Filter">{"".join(fields)}</form>'

    def _run(self, number: int) -> str:
        run = self.report.runs[number]
        return f"{self.report.place(run.command).rpartition(':')[0]} {run.name}"

    def _releases(self) -> str:
        rows = []
        for name, facts in sorted(self.report.environment.items()):
            cells = (facts["resolved"] or "not known", facts["specifier"] or "", facts["source"] or "")
            rows.append(f"<tr><th>{told(name)}</th>{''.join(f'<td>{told(cell)}</td>' for cell in cells)}</tr>")
        head = "<thead><tr><th>package</th><th>newest allowed</th><th>pin</th><th>known from</th></tr></thead>"
        table = f'<div class="wide"><table>{head}{"".join(rows)}</table></div>'
        return folded("Releases that were judged", table, "card") if rows else ""

    # -- findings -------------------------------------------------------------------------------------------------

    def _group(self, group: Group) -> str:
        entries = [self._entry(entry, is_open=group.pin is None) for entry in group.entries]
        if group.pin is None:
            return "".join(entries)
        line = pin_line(group, self.report, Palette(False)).partition(": ")[2].removesuffix(":")
        head = f"{self._where(group.pin.location)} {prose(line)}"
        told_once = f"<p>{head}:</p>{self._excerpt(group.pin.location, 0)}"
        return f'<section class="group card">{told_once}{"".join(entries)}</section>'

    def _entry(self, entry: Entry, is_open: bool) -> str:
        first = entry.first
        more = f" <b>and {counted(len(entry.others), 'more place')}</b>" if entry.others else ""
        summary = (
            f"{level_told(first.severity)} <b>{first.code}</b> {prose(first.message)}"
            f' <span class="where">{told(self.report.place(first.location))}{more}</span>'
        )
        body = [self._rule(first.code), *(self._finding(one, one is not first) for one in entry.findings)]
        opened = is_open and first.severity != "info" and self._opens()
        return folded(summary, "".join(body), "entry", opened)

    def _opens(self) -> bool:
        """Whether one more entry is shown opened from the start: the first few."""
        self.opened += 1
        return self.opened <= _MOST_OPEN

    def _rule(self, code: str) -> str:
        found = page_of(code)
        if found is None:
            return ""
        link = f'<a href="{told(found.url)}">{told(found.name)}</a>'
        return f'<p class="dim">{link} · impact: {told(found.impact)} · <code>trl-lint rule {code}</code></p>'

    def _finding(self, finding: Finding, is_further: bool) -> str:
        files = [self._file(place.path) for place in dict.fromkeys((finding.location, *finding.related))]
        runs = self.concerned.of(finding)
        self.runs.update(dict.fromkeys(runs))
        facts = f'data-rule="{finding.code}" data-level="{finding.severity}" data-files="{_numbers(files)}"'
        if runs:
            facts += f' data-runs="{_numbers(runs)}"'
        parts = [f'<div class="finding" {facts}>']
        if is_further:
            parts.append(f"<p>{self._where(finding.location)} {prose(finding.message)}</p>")
        if self.room > 0:
            parts += [self._excerpt(finding.location, 0 if is_further else _CONTEXT), self._related(finding)]
            parts.append(self._fix(finding.fix) if finding.fix is not None else "")
        if runs and len(self.report.runs) > 1:
            parts.append(f'<p class="dim">{self._in_runs(runs)}</p>')
        text = "".join(parts) + "</div>"
        self.room -= len(text)
        return text

    def _in_runs(self, runs: Sequence[int]) -> str:
        if len(runs) > 1:
            return f"In {len(runs)} of {len(self.report.runs)} runs"
        return f"In the run {told(self._run(runs[0]))}"

    def _file(self, path: str) -> int:
        return self.files.setdefault(path, len(self.files))

    def _where(self, location: Location) -> str:
        return f'<span class="where">{told(self.report.place(location))}</span>'

    def _related(self, finding: Finding) -> str:
        rows = []
        for place in finding.related:
            message = f": {prose(place.message)}" if place.message else ""
            excerpt = "" if place.start == 0 else self._excerpt(place, 0)
            rows.append(f"<li>{self._where(place)}{message}{excerpt}</li>")
        return f'<ul class="related">{"".join(rows)}</ul>' if rows else ""

    def _excerpt(self, location: Location, context: int) -> str:
        rows = []
        for line in self.lines.around(location, context):
            if not line.number:
                rows.append('<span class="n">  …</span>')
                continue
            marks = (line.start, max(line.stop, line.start + 1)) if line.is_marked else (0, 0)
            rows.append(f'<span class="n">{line.number:>4} </span>{code_told(line.text, *marks)}')
        return _block("code", rows)

    def _fix(self, fix: Fix) -> str:
        kind = "safe" if fix.applicability == "safe" else "may change behaviour: <code>--unsafe-fixes</code>"
        return f"<p><b>Fix</b> ({kind}): {prose(fix.title)}</p>" + "".join(
            self._diff(edit) for edit in self.places.replacements(fix)
        )

    def _diff(self, edit: Edit) -> str:
        index = self.places.lines(edit.path)
        assert index is not None  # of a file that cannot be read there is no replacement
        first, last = index.position(edit.start).line, index.position(max(edit.start, edit.end)).line
        where = f'<span class="where">{told(self.report.path(edit.path))}:{first}</span>'
        if last - first > _MOST_DIFF_LINES or len(edit.content) > 80 * _MOST_DIFF_LINES:
            return f"<p>{where}: {last - first + 1} lines; <code>--diff</code> shows the change</p>"
        start = index.text.rfind("\n", 0, edit.start) + 1
        end = index.text.find("\n", edit.end)
        end = len(index.text) if end < 0 else end + 1
        before = index.text[start:end]
        after = index.text[start : edit.start] + edit.content + index.text[edit.end : end]
        return f"<p>{where}</p>{_block('diff', _changes(unified('', before, after)))}"


def _changes(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a diff without its heads."""
    for number, line in enumerate(lines):
        text = line.rstrip("\r\n")
        if number < 2 or text.startswith("\\"):
            continue
        if text.startswith("@@"):
            if number > 2:
                yield '<span class="n">…</span>'
            continue
        tag = {"+": "ins", "-": "del"}.get(text[:1])
        shown = f"{text[:1]} {code_told(text[1:])}"
        yield f"<{tag}>{shown}</{tag}>" if tag else shown


def _block(kind: str, rows: Iterable[str]) -> str:
    text = "\n".join(rows)
    return f'<pre class="{kind}">{text}</pre>' if text else ""


def _numbers(found: Iterable[int]) -> str:
    return " ".join(map(str, dict.fromkeys(found)))
