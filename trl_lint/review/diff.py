"""The diff of a pull request: which lines of which files can be commented on, and what stands in them.

GitHub takes a comment only on a line that its diff shows, and a comment on several lines only within one hunk
(422 "line must be part of the diff", "start line must be part of the same hunk as the line").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_HEADER = regex(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Hunk(NamedTuple):
    """The lines of the new side of one hunk: `start` is the number of the first."""

    start: int
    lines: tuple[str, ...]

    def has(self, first: int, last: int) -> bool:
        return self.start <= first <= last < self.start + len(self.lines)

    def text(self, line: int) -> str:
        return self.lines[line - self.start]


class FileDiff(NamedTuple):
    """A changed file; `blob` is git's id of its new content, "" if it is not told. Without hunks nothing is shown."""

    blob: str
    hunks: tuple[Hunk, ...]

    def hunk(self, first: int, last: int) -> Hunk | None:
        """The hunk that shows all of these lines."""
        return next((hunk for hunk in self.hunks if hunk.has(first, last)), None)


Diff = Mapping[str, FileDiff]


def read_diff(files: Iterable[Any]) -> dict[str, FileDiff]:
    """The diff from what the API's "List pull requests files" says: large and binary files have no patch."""
    found = {}
    for file in files:
        if file["status"] != "removed":
            found[str(file["filename"])] = FileDiff(file.get("sha") or "", read_patch(file.get("patch") or ""))
    return found


def read_patch(patch: str) -> tuple[Hunk, ...]:
    """The hunks of the patch of one file."""
    found = []
    rows = iter(patch.split("\n"))
    for row in rows:
        if header := _HEADER.match(row):
            old, new = (1 if count is None else int(count) for count in (header[1], header[3]))
            lines = []
            while old > 0 or new > 0:
                line = next(rows, None)
                if line is None:
                    break
                if line.startswith("\\"):  # "No newline at end of file"
                    continue
                if not line.startswith("+"):
                    old -= 1
                if not line.startswith("-"):
                    new -= 1
                    lines.append(line[1:])
            found.append(Hunk(int(header[2]), tuple(lines)))
    return tuple(found)
