"""What the rules produce: findings, their places, and the edits that repair them.

Every offset is a character offset into the decoded text of a file on disk (for a notebook: into the raw JSON text), so
one number means the same to rules, fixes and reports. Lines and columns are computed when a report is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from trl_lint.records import NamedTuple
from trl_lint.words import counted

Severity = Literal["error", "warning", "info"]
Applicability = Literal["safe", "unsafe"]

NoticeKind = Literal[
    "newer-release", "unknown-release", "unknown-target", "skipped-file", "budget", "unread-file", "foreign-files",
    "unread-launcher",
]  # fmt: skip

# Nobody reads more of a message, and services refuse what is much longer.
_LONGEST = 2000

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


# Stands for an edit in a run that prints and makes none: LibCST is loaded only for those that are wanted.
UNWRITTEN = Edit("", 0, 0, "")


class OpenPin(NamedTuple):
    """A pin that allows releases which differ, and so lets a finding happen for some of them.

    `oldest` and `newest` are the first and the last allowed release for which the finding holds; `is_floor` says that
    the newest allowed release is fine, so that raising the lower bound is the way out.
    """

    package: str
    specifier: str
    location: Location
    oldest: str
    newest: str
    is_floor: bool


class Finding(NamedTuple):
    """One thing that is wrong, where it is, and every other place the verdict rests on.

    `part_of` is the whole that it is a part of, for findings of which one whole has several: the call with three gone
    keywords. `pin` is the open pin without which it would not be.
    """

    code: str
    message: str
    location: Location
    severity: Severity
    related: tuple[Location, ...] = ()
    fix: Fix | None = None
    part_of: Location | None = None
    pin: OpenPin | None = None

    @property
    def sort_key(self) -> tuple[str, int, str, str]:
        return (self.location.path, self.location.start, self.code, self.message)


class Notice(NamedTuple):
    """What was not judged, so that silence about it does not pass for "looked at, nothing found".

    `kind`: "newer-release" and "unknown-release" (a pin of `package` that takes a release nobody has read; the newest
    known one is `newest_known`), "unknown-target", "skipped-file" (`# flake8: noqa`), "budget" (work that was cut
    short), "unread-file" (one that went, or is not to be read by us), "foreign-files" (generated code, and copies of
    other distributions), "unread-launcher" (files that start training, and that no reader understands). `location` is
    where that is written, None on the command line.
    """

    kind: NoticeKind
    message: str
    location: Location | None = None
    package: str = ""
    version: str = ""
    newest_known: str = ""

    @property
    def sort_key(self) -> tuple[str, int, str, str]:
        place = self.location or Location("", 0, 0)
        return (place.path, place.start, self.kind, self.message)


def reworded(finding: Finding, said: Callable[[str], str]) -> Finding:
    """The finding with all that it says put in other words."""
    related = tuple(place._replace(message=said(place.message)) for place in finding.related)
    fix = finding.fix._replace(title=said(finding.fix.title)) if finding.fix is not None else None
    return finding._replace(message=said(finding.message), related=related, fix=fix)


def told_once(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, one of those that say the same of a place: of the highest level, and with a fix if there is one.

    A line that several runs share is found in each of them.
    """
    found: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        known = found.setdefault((finding.code, finding.location, finding.message), finding)
        better = (SEVERITIES.index(finding.severity), finding.fix is not None)
        if better > (SEVERITIES.index(known.severity), known.fix is not None):
            found[finding.code, finding.location, finding.message] = finding
    return list(found.values())


def excerpted(finding: Finding) -> Finding:
    """The finding, with what it quotes of a file cut in the middle where that has no end."""
    if not any(len(text) > _LONGEST for text in (finding.message, *(place.message for place in finding.related))):
        return finding
    related = tuple(place._replace(message=_excerpt(place.message)) for place in finding.related)
    return finding._replace(message=_excerpt(finding.message), related=related)


def _excerpt(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


def levels(findings: Iterable[Finding]) -> str:
    """`3 errors, 1 warning`."""
    numbers = {"error": 0, "warning": 0, "info": 0}
    for finding in findings:
        numbers[finding.severity] += 1
    parts = [counted(number, "hint" if name == "info" else name) for name, number in numbers.items() if number]
    return ", ".join(parts)
