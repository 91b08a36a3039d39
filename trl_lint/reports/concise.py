"""One line a cause, as editors and `grep` like it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from trl_lint.causes import Entry, Group, entries_of, groups_of
from trl_lint.finding import Finding
from trl_lint.reports import Report, line_of, notes, summary, visible
from trl_lint.reports.colors import Palette
from trl_lint.words import counted

# How many places and names an entry shows before it only counts them.
_MOST_PLACES = 3
_MOST_NAMES = 8


def write(report: Report, stream: TextIO) -> None:
    write_entries(arranged(report), report, stream)


def arranged(report: Report) -> list[Group]:
    """The entries of a report in groups; each finding for itself where every place is to be shown."""
    findings = report.for_people()
    if report.unfold:
        return [Group(None, (Entry((finding,)),)) for finding in findings]
    return groups_of(entries_of(findings))


def write_entries(groups: list[Group], report: Report, stream: TextIO) -> None:
    palette = Palette(report.color)
    explained: set[str] = set()
    for group in groups:
        if group.pin is not None:
            stream.write(pin_line(group, report, palette) + "\n")
        for entry in group.entries:
            code = entry.first.code
            hint = "" if code in explained or not report.summary else f" [trl-lint rule {code}]"
            explained.add(code)
            pinned = pinned_at(entry.first, report) if group.pin is None else ""
            line = headline(entry.first, report, palette) + also(entry, report) + pinned
            stream.write(line + palette.faint(hint) + "\n")
    stream.write(notes(report))
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


def pinned_at(finding: Finding, report: Report) -> str:
    """` (pin: requirements.txt:1)`: the first pin that a finding rests on, where it stands in another line."""
    if not finding.related:
        return ""
    from trl_lint.project.pins import is_pin_place

    here = line_of(finding.location, report)
    for location in filter(is_pin_place, finding.related):
        place = line_of(location, report)
        if place != here:
            return f" (pin: {place})"
    return ""


def pin_line(group: Group, report: Report, palette: Palette) -> str:
    """`setup.py:69:6: trl>=0.19.1 lets 50 findings happen: bound it (`trl>=0.19.1,<0.20.0`), or migrate:`."""
    pin = group.pin
    assert pin is not None
    number = counted(len(group.findings), "finding")
    way_out = f" (`{visible(pin.package + group.way_out)}`)" if group.way_out else ""
    remedy = f"raise it{way_out}" if pin.is_floor else f"bound it{way_out}, or migrate"
    place = palette.bold(report.place(pin.location))
    others = [line_of(location, report) for location in group.places if location != pin.location]
    shown = ", ".join(others[:_MOST_PLACES]) + (", …" if others[_MOST_PLACES:] else "")
    more = f" (and {counted(len(others), 'more place')}: {shown})" if others else ""
    return f"{place}: `{visible(pin.package + pin.specifier)}`{more} lets {number} happen; {remedy}:"


def also(entry: Entry, report: Report) -> str:
    """` (also `b`, `c`; 11 more places: a.yaml:5, …)` for an entry of several findings."""
    parts = list(_also(entry, report))
    return f" ({'; '.join(parts)})" if parts else ""


def _also(entry: Entry, report: Report) -> Iterator[str]:
    names = [visible(name) for name in entry.names()]
    if names:
        between = "; " if any(": " in name for name in names) else ", "
        yield "also " + between.join(names[:_MOST_NAMES]) + (f"{between}…" if len(names) > _MOST_NAMES else "")
    places = list(dict.fromkeys(line_of(finding.location, report) for finding in entry.others))
    places = [place for place in places if place != line_of(entry.first.location, report)]
    if places:
        shown = ", ".join(places[:_MOST_PLACES]) + (", …" if len(places) > _MOST_PLACES else "")
        yield f"{'' if names else 'and '}{counted(len(places), 'more place')}: {shown}"
