"""What the rules produce: findings, their places, and the edits that repair them.

Every offset is a character offset into the decoded text of a file on disk (for a notebook: into the raw JSON text), so
one number means the same to rules, fixes and reports. Lines and columns are computed when a report is written.
"""

from __future__ import annotations

from typing import Literal

from trl_lint.records import NamedTuple

Severity = Literal["error", "warning", "info"]
Applicability = Literal["safe", "unsafe"]

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")


class Location(NamedTuple):
    """A stretch of a file; `message` says what is to be seen there when it is a related place."""

    path: str
    start: int
    end: int
    message: str = ""


class Edit(NamedTuple):
    """Replace the characters `start` to `end` of a file by `content` (already escaped for a notebook's JSON)."""

    path: str
    start: int
    end: int
    content: str


class Fix(NamedTuple):
    """Edits that belong together: all of them are applied, or none."""

    title: str
    applicability: Applicability
    edits: tuple[Edit, ...]


class Finding(NamedTuple):
    """One thing that is wrong, where it is, and every other place the verdict rests on."""

    code: str
    message: str
    location: Location
    severity: Severity
    related: tuple[Location, ...] = ()
    fix: Fix | None = None

    @property
    def sort_key(self) -> tuple[str, int, str, str]:
        return (self.location.path, self.location.start, self.code, self.message)


def lowered(severity: Severity) -> Severity:
    """One level lower, for a verdict that rests on an assumed version; `info` stays."""
    return SEVERITIES[max(0, SEVERITIES.index(severity) - 1)]
