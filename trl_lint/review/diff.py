"""The diff of a pull request: which lines of which files can be commented on, and what stands in them.

GitHub takes a comment only on a line that its diff shows, and a comment on several lines only within one hunk
(422 "line must be part of the diff", "start line must be part of the same hunk as the line").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_HEADER = regex(r"@@ -\d+(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")


class Hunk(NamedTuple):
    """The lines of the new side of one hunk: `start` is the number of the first.

    `touched` are the numbers of those that were added, and of those on both sides of lines that are gone.
    """

    start: int
    lines: tuple[str, ...]
    touched: frozenset[int] = frozenset()

    def has(self, first: int, last: int) -> bool:
        return self.start <= first <= last < self.start + len(self.lines)

    def text(self, line: int) -> str:
        return self.lines[line - self.start]


class FileDiff(NamedTuple):
    """A changed file; `blob` is git's id of its new content, "" if it is not told. Without hunks nothing is shown.

    `is_shown`: the hunks are all that changed; else the diff is too large to be told, or binary.
    """

    blob: str
    hunks: tuple[Hunk, ...]
    is_shown: bool = True

    def hunk(self, first: int, last: int) -> Hunk | None:
        """The hunk that shows all of these lines."""
        return next((hunk for hunk in self.hunks if hunk.has(first, last)), None)

    def touches(self, first: int, last: int) -> bool:
        """Whether one of these lines changed, as far as that is told."""
        return not self.is_shown or any(first <= line <= last for hunk in self.hunks for line in hunk.touched)


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


def read_gone(files: Sequence[Any]) -> frozenset[str]:
    """The paths at which a pull request leaves no file: those of removed files, and the old ones of renamed files."""
    removed = (file["filename"] for file in files if file["status"] == "removed")
    renamed = (file["previous_filename"] for file in files if file.get("previous_filename"))
    return frozenset(map(str, (*removed, *renamed)))


def read_patch(patch: str) -> tuple[Hunk, ...]:
    """The hunks of the patch of one file."""
    found = []
    rows = iter(patch.split("\n"))
    for row in rows:
        if header := _HEADER.match(row):
            old, new = (1 if count is None else int(count) for count in (header[1], header[3]))
            found.append(_read_hunk(rows, int(header[2]), old, new))
    return tuple(found)


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
    return Hunk(start, tuple(lines), frozenset(touched))
