"""Applying text edits: which fixes go together, and what a text becomes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from trl_lint.finding import Edit, Finding, Fix
from trl_lint.regexes import regex

_LINE_END = regex(r"\r\n|\r|\n")


def by_path(edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    """Edits of each file in the order of their places, each once. Insertions at one place keep their order."""
    found: dict[str, list[Edit]] = {}
    for edit in dict.fromkeys(edits):
        found.setdefault(edit.path, []).append(edit)
    return {path: sorted(group, key=lambda edit: (edit.start, edit.end)) for path, group in found.items()}


def in_line_ends_of(text: str, edits: Sequence[Edit]) -> list[Edit]:
    """The edits as they are made in a text: their lines end as those of the text do."""
    line_end = _LINE_END.search(text)
    if line_end is None or line_end[0] == "\n":
        return list(edits)
    return [edit._replace(content=_LINE_END.sub(line_end[0], edit.content)) for edit in edits]


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text after edits that are sorted and do not overlap. New lines end as the lines of the text do."""
    parts = []
    last = 0
    for edit in in_line_ends_of(text, edits):
        parts += [text[last : edit.start], edit.content]
        last = edit.end
    return "".join([*parts, text[last:]])


def is_sound(fix: Fix, lengths: dict[str, int]) -> bool:
    """Whether the edits of a fix lie inside their files and do not overlap one another."""
    for path, edits in by_path(fix.edits).items():
        last = 0
        for edit in edits:
            if not last <= edit.start <= edit.end <= lengths.get(path, -1):
                return False
            last = edit.end
    return bool(fix.edits)


def compatible(findings: Iterable[Finding]) -> list[Finding]:
    """The findings whose fixes can be applied at once: the first come first, a fix that touches another waits.

    A fix is all or nothing, so one edit too close keeps all of its edits back. Two fixes may share the very same edit,
    such as an import both need.
    """
    chosen: list[Finding] = []
    taken: dict[str, list[Edit]] = {}
    for finding in findings:
        assert finding.fix is not None
        groups = by_path(finding.fix.edits)
        if any(_collides(edit, taken.get(path, ())) for path, edits in groups.items() for edit in edits):
            continue
        chosen.append(finding)
        for path, edits in groups.items():
            others = taken.setdefault(path, [])
            for edit in edits:
                at = bisect_left(others, _place(edit), key=_place)
                if others[at : at + 1] != [edit]:
                    others.insert(at, edit)
    return chosen


def _collides(edit: Edit, others: Sequence[Edit]) -> bool:
    """Whether an edit touches one of others, which are sorted, all different, and do not touch each other."""
    at = max(0, bisect_left(others, (edit.start, 0), key=_place) - 1)  # the one before may reach up to here
    while at < len(others) and others[at].start <= edit.end:
        if edit != others[at] and edit.start <= others[at].end:
            return True
        at += 1
    return False


def _place(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


class Moves:
    """Where places of a text are after edits that are sorted and do not overlap."""

    __slots__ = ("_edits", "_ends", "_shifts")

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._edits = list(edits)
        self._ends = [edit.end for edit in self._edits]
        self._shifts = [0]
        for edit in self._edits:
            self._shifts.append(self._shifts[-1] + len(edit.content) - (edit.end - edit.start))

    def start(self, offset: int) -> int:
        """The new place of an offset; inside a replaced stretch it is the start of the new content."""
        index = bisect_right(self._ends, offset)
        if index and self._edits[index - 1].start == offset == self._edits[index - 1].end:
            index -= 1  # what begins where something was inserted may include the insertion
        if index < len(self._edits) and self._edits[index].start < offset:
            return self._edits[index].start + self._shifts[index]
        return offset + self._shifts[index]

    def end(self, offset: int) -> int:
        """The new place of the end of a stretch; inside a replaced stretch it is the end of the new content."""
        index = bisect_right(self._ends, offset)
        if index < len(self._edits) and self._edits[index].start < offset:
            return self._edits[index].end + self._shifts[index + 1]
        return offset + self._shifts[index]

    def ranges(self) -> list[tuple[int, int]]:
        """The stretches of the new text that are new content."""
        return [
            (edit.start + shift, edit.start + shift + len(edit.content))
            for edit, shift in zip(self._edits, self._shifts, strict=False)
        ]


def moves(text: str, edits: Sequence[Edit]) -> Moves:
    return Moves(in_line_ends_of(text, edits))
