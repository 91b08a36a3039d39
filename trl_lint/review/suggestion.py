"""A fix as GitHub can apply it: whole lines in the place of whole lines that one hunk shows."""

from __future__ import annotations

from itertools import pairwise

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.review.diff import FileDiff, Hunk
from trl_lint.review.report import Change, Place, Repair

# Beyond this nobody reads what a button would commit.
_MAX_LINES = 40
_MAX_CHARACTERS = 20_000  # a longer one is not offered as a button; the comment stands


class Suggestion(NamedTuple):
    """The lines `first` to `last` of a file become `lines`; none at all deletes them."""

    first: int
    last: int
    lines: tuple[str, ...]


def suggest(fix: Repair, place: Place, file: FileDiff) -> Suggestion | None:
    """The fix of the finding at `place` as a suggestion.

    None where it touches another file, or lines that are not together in the hunk of the finding, or where it is not
    certain what GitHub would make of it.
    """
    changes = sorted(fix.changes, key=lambda change: (change.place.line, change.place.column))
    if not changes or any(change.place.path != place.path for change in changes) or place.cell is not None:
        return None
    if any(
        (one.place.end_line, one.place.end_column) > (two.place.line, two.place.column)
        for one, two in pairwise(changes)
    ):
        return None
    first, last = changes[0].place.line, max(change.place.end_line for change in changes)
    if last > first and _ends_at_line_start(changes, last):
        last -= 1
    hunk = file.hunk(min(first, place.line), max(last, place.line))
    if hunk is None or not all(_is_plain(hunk.text(line)) for line in range(first, last + 1)):
        return None
    new = _replaced(changes, hunk, first, last)
    return None if new is None else _trimmed(hunk, first, last, new)


def _ends_at_line_start(changes: list[Change], last: int) -> bool:
    """Whether the last line is only touched at its very beginning, behind a line end that stays or goes as a whole."""
    at_last = [change for change in changes if change.place.end_line == last]
    (*_, change) = at_last
    starts_line = change.place.column == 1 and not change.content
    return (
        len(at_last) == 1
        and change.place.end_column == 1
        and change.place.line < last
        and (starts_line or change.content.endswith("\n"))
    )


def renames_alone(fix: Repair, file: FileDiff) -> bool:
    """Whether a fix does nothing but write the new names of arguments for the old ones, as `rules/compat` has them."""
    from trl_lint.knowledge.renames import keywords, renames

    known = {(row.old, row.new) for row in renames()} | {(row.old, row.new) for row in keywords()}
    for change in fix.changes:
        place = change.place
        hunk = file.hunk(place.line, place.line)
        if hunk is None or place.end_line != place.line:
            return False
        if (hunk.text(place.line)[place.column - 1 : place.end_column - 1], change.content) not in known:
            return False
    return bool(fix.changes)


# What becomes of other line ends, of a byte order mark and of undecodable bytes is GitHub's affair, and unknown. What
# is not seen, or is seen in another order than it stands in, nobody should commit.
_NOT_PLAIN = regex(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffd]"
)


def _is_plain(line: str) -> bool:
    return _NOT_PLAIN.search(line) is None


def _replaced(changes: list[Change], hunk: Hunk, first: int, last: int) -> list[str] | None:
    """The lines after the changes; None if a place does not exist in the lines before."""
    starts, length = [], 0
    for line in range(first, last + 1):
        starts.append(length)
        length += len(hunk.text(line)) + 1
    text = "".join(hunk.text(line) + "\n" for line in range(first, last + 1))
    starts.append(length)

    def offset(line: int, column: int) -> int | None:
        limit = 0 if line > last else len(hunk.text(line))
        return starts[line - first] + column - 1 if column - 1 <= limit else None

    parts, done = [], 0
    for change in changes:
        start = offset(change.place.line, change.place.column)
        end = offset(change.place.end_line, change.place.end_column)
        if start is None or end is None:
            return None
        parts += [text[done:start], change.content]
        done = end
    after = "".join([*parts, text[done:]])
    if not _is_plain(after) or not after.endswith("\n"):
        return [] if not after else None
    return after[:-1].split("\n")


def _trimmed(hunk: Hunk, first: int, last: int, new: list[str]) -> Suggestion | None:
    """The suggestion without the lines that stay at either end; an insertion keeps one line to hold on to."""
    while last > first and len(new) > 1 and new[-1] == hunk.text(last):
        new, last = new[:-1], last - 1
    while last > first and len(new) > 1 and new[0] == hunk.text(first):
        new, first = new[1:], first + 1
    if len(new) > _MAX_LINES or last - first >= _MAX_LINES or sum(map(len, new)) > _MAX_CHARACTERS:
        return None
    if new == [hunk.text(line) for line in range(first, last + 1)]:
        return None
    return Suggestion(first, last, tuple(new))
