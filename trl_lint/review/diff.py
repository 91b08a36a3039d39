"""The diff of a pull request: which lines of which files can be commented on, and what stands in them.

GitHub takes a comment only on a line that its diff shows, and a comment on several lines only within one hunk
(422 "line must be part of the diff", "start line must be part of the same hunk as the line").
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_HEADER = regex(r"@@ -\d+(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")


class Hunk(NamedTuple):
    """The lines of the new side of one hunk: `start` is the number of the first.

    `touched` are the numbers of those that were added, and of those on both sides of lines that are gone; sorted.
    """

    start: int
    lines: tuple[str, ...]
    touched: tuple[int, ...] = ()

    def has(self, first: int, last: int) -> bool:
        return self.start <= first <= last < self.start + len(self.lines)

    def text(self, line: int) -> str:
        return self.lines[line - self.start]


class FileDiff(NamedTuple):
    """A changed file; `blob` is git's id of its new content, "" if it is not told. Without hunks nothing is shown.

    The hunks stand in the order of their lines. A place is looked up in them, as a report may have very many places.

    `is_shown`: the hunks are all that changed; else the diff is too large to be told, or binary.
    """

    blob: str
    hunks: tuple[Hunk, ...]
    is_shown: bool = True

    def hunk(self, first: int, last: int) -> Hunk | None:
        """The hunk that shows all of these lines."""
        number = bisect_right(self.hunks, first, key=_start) - 1
        return self.hunks[number] if number >= 0 and self.hunks[number].has(first, last) else None

    def touches(self, first: int, last: int) -> bool:
        """Whether one of these lines changed, as far as that is told."""
        if not self.is_shown:
            return True
        # A hunk may touch the line above its first, where lines are gone.
        number = max(0, bisect_right(self.hunks, first, key=_start) - 1)
        while number < len(self.hunks) and self.hunks[number].start - 1 <= last:
            touched = self.hunks[number].touched
            place = bisect_left(touched, first)
            if place < len(touched) and touched[place] <= last:
                return True
            number += 1
        return False


def _start(hunk: Hunk) -> int:
    return hunk.start


Diff = Mapping[str, FileDiff]


def read_diff(files: Iterable[Any]) -> dict[str, FileDiff]:
    """The diff from what the API's "List pull requests files" says: large and binary files have no patch."""
    found = {}
    for file in files:
        if file["status"] != "removed":
            patch = file.get("patch") or ""
            is_shown = bool(patch) or file.get("changes") == 0
            found[str(file["filename"])] = FileDiff(file.get("sha") or "", read_patch(patch), is_shown)
    return found


_AROUND_NAMES = regex(r"[\s/`'\",:;()]+")


def names_in(message: str) -> frozenset[str]:
    """The words of a message that may be names of files."""
    return frozenset(_AROUND_NAMES.split(message))


def read_gone(files: Sequence[Any]) -> frozenset[str]:
    """The names under which a pull request leaves no file: of removed files, and the old ones of renamed files."""
    removed = (file["filename"] for file in files if file["status"] == "removed")
    renamed = (file["previous_filename"] for file in files if file.get("previous_filename"))
    return frozenset(str(path).rpartition("/")[2] for path in (*removed, *renamed))


def read_patch(patch: str) -> tuple[Hunk, ...]:
    """The hunks of the patch of one file."""
    found = []
    rows = iter(patch.split("\n"))
    for row in rows:
        if header := _HEADER.match(row):
            old, new = (1 if count is None else int(count) for count in (header[1], header[3]))
            found.append(_read_hunk(rows, int(header[2]), old, new))
    return tuple(sorted(found, key=_start))


def _read_hunk(rows: Iterator[str], start: int, old: int, new: int) -> Hunk:
    """One hunk from the rows behind its header, which has `old` and `new` lines of the two sides."""
    lines: list[str] = []
    touched: set[int] = set()
    is_removed = is_added = False  # in the change that is being read
    while old > 0 or new > 0:
        row = next(rows, None)
        if row is None:
            break
        if row.startswith("\\"):  # "No newline at end of file"
            continue
        number = start + len(lines)
        if row.startswith("-"):
            old, is_removed = old - 1, True
            continue
        new -= 1
        lines.append(row[1:])
        if row.startswith("+"):
            touched.add(number)
            is_added = True
            continue
        old -= 1
        if is_removed and not is_added:
            touched.update((number - 1, number))
        is_removed = is_added = False
    if is_removed and not is_added:
        touched.add(start + len(lines) - 1)
    return Hunk(start, tuple(lines), tuple(sorted(touched)))
