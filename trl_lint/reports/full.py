"""Causes with the lines they are about, and under them every other place the verdict rests on.

A long report is read from its end backwards, so one of many entries is concise, and says how to see more.
"""

from __future__ import annotations

from typing import TextIO

from trl_lint.causes import Entry, Group
from trl_lint.finding import Location
from trl_lint.project.pins import is_pin_place
from trl_lint.records import NamedTuple
from trl_lint.reports import Report, char_width, notes, page_of, summary, visible
from trl_lint.reports.colors import Palette
from trl_lint.reports.concise import also, arranged, headline, pin_line, write_entries
from trl_lint.reports.lines import Lines
from trl_lint.streams import places_of_orders, visible_char

_CONTEXT = 2
_TAB = 4
_MIN_WIDTH = 20
# So many entries with the lines around theirs fill a screen or two, and so many with their own lines several.
_MOST_WITH_CONTEXT = 10
_MOST_ENTRIES = 25


def write(report: Report, stream: TextIO) -> None:
    groups = arranged(report)
    number = 0 if report.unfold else sum(len(group.entries) for group in groups)
    if number > _MOST_ENTRIES:
        write_entries(groups, report, stream)
        if report.summary:
            stream.write("`--verbose` shows every place with its lines.\n")
        return
    painter = _Painter(report, _CONTEXT if number <= _MOST_WITH_CONTEXT else 0)
    for group in groups:
        if group.pin is not None:
            stream.write(painter.group(group) + "\n")
        else:
            for entry in group.entries:
                stream.write(painter.entry(entry) + "\n")
    stream.write(notes(report))
    if report.summary:
        stream.write(summary(report))


class _Painter:
    def __init__(self, report: Report, context: int) -> None:
        self.report = report
        self.context = context
        self.palette = Palette(report.color)
        self.lines = Lines(report)
        self.explained: set[str] = set()

    def group(self, group: Group) -> str:
        """The pin with its lines, and under it a line for each entry."""
        assert group.pin is not None
        place = group.pin.location
        margin = len(str(self.report.span(place)[1].line + _CONTEXT))
        out = [pin_line(group, self.report, self.palette), *self._excerpt(place, "^", "warning", margin, 0)]
        for entry in group.entries:
            out.append(headline(entry.first, self.report, self.palette) + also(entry, self.report))
        codes = dict.fromkeys(entry.first.code for entry in group.entries)
        out += [self._why(code, "") for code in codes if self._is_news(code)]
        return "".join(line + "\n" for line in out)

    def _is_news(self, code: str) -> bool:
        """Whether a rule is to be named: once, and not where only findings are wanted."""
        if code in self.explained or not self.report.summary or page_of(code) is None:
            return False
        self.explained.add(code)
        return True

    def _why(self, code: str, bar: str) -> str:
        return f"{bar}{self.palette.cyan('why')}: trl-lint rule {code}"

    def entry(self, entry: Entry) -> str:
        finding = entry.first
        page = page_of(finding.code)
        url = page.url if page else ""
        blocks = [(finding.location, "^", "", finding.severity)]
        blocks += [(place, "-", self.report.place(place), "info") for place in finding.related]
        margin = max((len(str(self.report.span(block[0])[1].line + _CONTEXT)) for block in blocks), default=1)
        out = [headline(finding, self.report, self.palette, url if self.report.links else "")]
        for location, mark, place, level in blocks:
            if place:
                message = f": {visible(location.message)}" if location.message else ""
                out.append(f"{' ' * margin}{self.palette.blue(':::')} {self.palette.bold(place)}{message}")
            if not place:
                context = 0 if entry.others else self.context  # each of several findings has other lines around it
                out.extend(self._excerpt(location, mark, level, margin, context))
            elif self.context and not (entry.others or is_pin_place(location) or location.start == 0):
                # A pin is in the words, and what stands for a whole file has no line to be shown.
                out.extend(self._excerpt(location, mark, level, margin, 0))
        bar = " " * margin + " " + self.palette.blue("=")
        if finding.fix is not None:
            hint = " (unsafe: `--unsafe-fixes`)" if finding.fix.applicability == "unsafe" else ""
            out.append(f"{bar} {self.palette.cyan('help')}: {visible(finding.fix.title)}{hint}")
        if more := also(entry, self.report):
            out.append(f"{bar} {more.strip()[1:-1]}")
        if self._is_news(finding.code):
            out.append(self._why(finding.code, f"{bar} "))
        return "".join(line + "\n" for line in out)

    def _excerpt(self, location: Location, mark: str, level: str, margin: int, context: int) -> list[str]:
        """The marked lines with `context` lines around them."""
        shown = self.lines.around(location, context)
        if not shown:
            return []
        empty = f"{' ' * margin} {self.palette.blue('|')}"
        around = [empty] if self.context else []  # room around the lines, where there is room
        out = [*around]
        for line in shown:
            if not line.number:
                out.append(f"{self.palette.blue('...'.rjust(margin + 2))}")
                continue
            row = _layout(line.text, line.start, line.stop, max(_MIN_WIDTH, self.report.width - margin - 3))
            label = self.palette.blue(f"{line.number:>{margin}} |")
            out.append(f"{label} {row.text}".rstrip())
            if line.is_marked:
                marks = self.palette.level(mark * row.length, level)
                out.append(f"{empty} {' ' * row.offset}{marks}")
        return [*out, *around]


class Row(NamedTuple):
    """One line as it is shown, and the columns its marks go from (`offset`) and cover (`length`)."""

    text: str
    offset: int
    length: int


def _layout(line: str, start: int, end: int, width: int) -> Row:
    """Lay out a line in `width` columns, with the columns of the characters `start` to `end` (at least one)."""
    near = 4 * width
    if len(line) > 4 * near:  # a line of megabytes: what lies far from the marks is clipped below in any case
        first = max(0, start - near)
        line, start, end = line[first : start + near], start - first, end - first
    shown: list[tuple[str, int]] = []
    orders = places_of_orders(line)
    column = 0
    offset = length = 0
    for index, char in enumerate(line):
        if index == start:
            offset = column
        if char == "\t":
            piece = " " * (_TAB - column % _TAB)
            wide = len(piece)
        elif index in orders:
            piece = "\\x23"
            wide = len(piece)
        else:
            piece = char if char.isascii() and char.isprintable() else visible_char(char)
            wide = char_width(piece) if len(piece) == 1 else len(piece)
        if start <= index < end:
            length += wide
        shown.append((piece, wide))
        column += wide
    if start >= len(line):
        offset = column
    length = max(1, length)
    if column <= width:
        return Row("".join(piece for piece, _ in shown), offset, length)
    return _clip(shown, offset, length, width)


def _clip(shown: list[tuple[str, int]], offset: int, length: int, width: int) -> Row:
    """The part of a long line around its marks, with `...` where something is left out."""
    skip = max(0, offset - width // 3) if offset + min(length, width // 2) > width - 3 else 0
    out: list[str] = []
    column = taken = left = 0
    for piece, wide in shown:
        if column < skip:
            column += wide
            left = column
            continue
        if taken + wide > width - 6:
            out.append("...")
            break
        out.append(piece)
        taken += wide
        column += wide
    head = "..." if left else ""
    begin = offset - left + len(head)
    return Row(head + "".join(out), begin, max(1, min(length, width - 3 - begin)))
