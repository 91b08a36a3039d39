"""Reading a report for a review.

It may come from the artifact of a workflow that ran for a stranger's pull request, so it is believed in nothing: every
value has a type and a limit, no path leaves the repository, and nothing is unpacked to disk.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Mapping
from typing import Any

from trl_lint import tracked
from trl_lint.finding import SEVERITIES, Applicability, Severity
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.review import ReportError

# The name that a report has inside an archive, where it is the only file that is looked at.
MEMBER = "trl-lint.json"
MAX_BYTES = 10_000_000  # a larger report is refused
_MAX_FINDINGS = 10_000  # a report with more is refused
_MAX_LINE = 10_000_000  # likewise
_MAX_PATH = 1_000  # characters, likewise
_MAX_TEXT = 4_000  # characters; dots stand for the others
_MAX_CONTENT = 100_000  # characters of an edit; a report with more is refused
_CODE = regex(r"TRL[0-9]{3}")
_FINGERPRINT = regex(r"[0-9a-f]{16}:[1-9][0-9]{0,6}")
_CAUSE = regex(r"[0-9a-f]{16}")
_BLOB = regex(r"[0-9a-f]{40}")
_CONTROL = regex(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")


class Place(NamedTuple):
    """A stretch of a file, 1-based, columns in characters; in a notebook it counts from the cell."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None


class Change(NamedTuple):
    """An edit of a fix; it counts from the start of the file, in a notebook too."""

    place: Place
    content: str


class Repair(NamedTuple):
    title: str
    applicability: Applicability
    changes: tuple[Change, ...]


class Reported(NamedTuple):
    """A finding as a report tells it; `related` are places with what is to be seen there.

    `cause` is equal for findings that have one cause, "" where the report does not tell.
    """

    code: str
    severity: Severity
    message: str
    place: Place
    fingerprint: str
    related: tuple[tuple[Place, str], ...] = ()
    fix: Repair | None = None
    cause: str = ""


class Reading(NamedTuple):
    """A report: its findings, what could not be done, and by which ids git may know the files as they were read.

    `notices`: what was not judged, each with the place that says so, if it is in the repository.
    """

    findings: tuple[Reported, ...]
    errors: tuple[tuple[str, str], ...]
    blobs: Mapping[str, frozenset[str]]
    notices: tuple[tuple[Place | None, str], ...] = ()

    @property
    def is_incomplete(self) -> bool:
        """Whether something was not looked at, so that a finding that is not here may still be true."""
        return bool(self.errors) or any(finding.code == "TRL003" for finding in self.findings)

    @property
    def unread(self) -> frozenset[str]:
        """Files of which nothing is known, because they cannot be parsed."""
        return frozenset(finding.place.path for finding in self.findings if finding.code == "TRL001")


def read_file(path: str) -> bytes:
    """The bytes of a report, also of one in a zip archive, which is how GitHub hands out an artifact.

    Raises ReportError: also for what is no plain file (a link, a pipe), and for more than MAX_BYTES.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ReportError(f"{path}: not a plain file")
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {tracked.reason(error)}") from None
    if len(data) > MAX_BYTES:
        raise ReportError(f"{path}: larger than {MAX_BYTES // 1_000_000} MB, which no report is")
    return _member(path, data) if data.startswith(b"PK") else data


def _member(path: str, data: bytes) -> bytes:
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(MEMBER) as stream:
            found = stream.read(MAX_BYTES + 1)
    except KeyError:
        raise ReportError(f"{path}: the archive has no {MEMBER} at its top") from None
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, OSError, EOFError, ValueError):
        raise ReportError(f"{path}: not an archive that can be read") from None
    if len(found) > MAX_BYTES:
        raise ReportError(f"{path}: {MEMBER} is larger than {MAX_BYTES // 1_000_000} MB, which no report is")
    return found


def read_report(data: bytes, name: str, prefix: str = "") -> Reading:
    """The report in the JSON that `--output-format json` writes; `prefix` is the folder its paths count from.

    Findings in files outside of the repository are left out. Raises ReportError.
    """
    import json

    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise ReportError(f"{name}: not a report: it is no JSON") from None
    try:
        return _Reader(prefix).reading(document)
    except _UnexpectedError as error:
        raise ReportError(f"{name}: not a report of trl-lint: {error}") from None


class _UnexpectedError(Exception):
    """A value that has no place in a report; the text names it, and never shows it."""


class _Reader:
    def __init__(self, prefix: str) -> None:
        self.prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

    def reading(self, document: Any) -> Reading:
        top = _mapping(document, "the document")
        if top.get("version") != 1 or isinstance(top.get("version"), bool):
            raise _UnexpectedError("`version` is not 1")
        rows = _list(top.get("findings"), "findings", _MAX_FINDINGS)
        findings = [self.finding(_mapping(row, f"findings[{n}]"), f"findings[{n}]") for n, row in enumerate(rows)]
        return Reading(
            tuple(dict.fromkeys(finding for finding in findings if finding is not None)),
            tuple(self.errors(_list(top.get("errors"), "errors", _MAX_FINDINGS))),
            self.blobs(_mapping(top.get("files", {}), "files")),
            tuple(map(self.notice, _list(top.get("notices", []), "notices", _MAX_FINDINGS))),
        )

    def finding(self, row: dict[str, Any], where: str) -> Reported | None:
        severity = row.get("severity")
        if severity not in SEVERITIES:
            raise _UnexpectedError(f"`{where}.severity` is none")
        place = self.place(row, where)
        related = [self.related(one, f"{where}.related") for one in _list(row.get("related"), f"{where}.related", 200)]
        found = Reported(
            _matching(row.get("code"), _CODE, f"{where}.code"),
            severity,
            _text(row.get("message"), f"{where}.message"),
            place or Place("", 1, 1, 1, 1),
            _matching(row.get("fingerprint"), _FINGERPRINT, f"{where}.fingerprint"),
            tuple(one for one in related if one is not None),
            None if row.get("fix") is None else self.fix(_mapping(row["fix"], f"{where}.fix"), f"{where}.fix"),
            _matching(row["cause"], _CAUSE, f"{where}.cause") if "cause" in row else "",
        )
        return None if place is None else found

    def notice(self, row: Any) -> tuple[Place | None, str]:
        found = _mapping(row, "notices")
        place = self.place(found, "notices") if "path" in found else None
        return place, _text(found.get("message"), "notices.message")

    def related(self, row: Any, where: str) -> tuple[Place, str] | None:
        place = self.place(_mapping(row, where), where)
        message = _text(row.get("message"), f"{where}.message")
        return None if place is None else (place, message)

    def fix(self, row: dict[str, Any], where: str) -> Repair | None:
        applicability = row.get("applicability")
        if applicability not in ("safe", "unsafe"):
            raise _UnexpectedError(f"`{where}.applicability` is none")
        changes = []
        for edit in _list(row.get("edits"), f"{where}.edits", 1_000):
            place = self.place(_mapping(edit, f"{where}.edits"), f"{where}.edits")
            content = edit.get("content")
            if not isinstance(content, str) or len(content) > _MAX_CONTENT:
                raise _UnexpectedError(f"`{where}.edits.content` is no text, or too long")
            if place is None:
                return None
            changes.append(Change(place, content))
        return Repair(_text(row.get("title"), f"{where}.title"), applicability, tuple(changes))

    def place(self, row: dict[str, Any], where: str) -> Place | None:
        """A place; None if it lies outside of the repository."""
        path = self.path(row.get("path"), f"{where}.path")
        start = _mapping(row.get("start"), f"{where}.start")
        end = _mapping(row.get("end"), f"{where}.end")
        first, last = (
            (_number(at.get("line"), f"{where}.line"), _number(at.get("column"), f"{where}.column"))
            for at in (start, end)
        )
        cell = None if start.get("cell") is None else _number(start["cell"], f"{where}.cell")
        if last < first and end.get("cell") == start.get("cell"):
            raise _UnexpectedError(f"`{where}` ends before it begins")
        return None if path is None else Place(path, *first, *last, cell)

    def path(self, value: Any, where: str) -> str | None:
        """A path from the root of the repository; None for one that leaves it, of which no comment can be made."""
        if not isinstance(value, str) or not value or len(value) > _MAX_PATH or _CONTROL.search(value):
            raise _UnexpectedError(f"`{where}` is no path")
        parts: list[str] = []
        if value.startswith("/") or re.match(r"[A-Za-z]:", value) or "\\" in value:
            return None
        for part in (self.prefix + value).split("/"):
            if part == ".." and not parts:
                return None
            if part == "..":
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        return "/".join(parts) or None

    def errors(self, rows: list[Any]) -> list[tuple[str, str]]:
        found = []
        for row in rows:
            path, message = (_mapping(row, "errors").get(name) for name in ("path", "message"))
            found.append((_text(path, "errors.path"), _text(message, "errors.message")))
        return found

    def blobs(self, files: dict[str, Any]) -> dict[str, frozenset[str]]:
        found = {}
        for name, ids in files.items():
            path = self.path(name, "files")
            known = [_matching(one, _BLOB, "files") for one in _list(ids, "files", 4)]
            if path is not None:
                found[path] = frozenset(known)
        return found


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _UnexpectedError(f"`{where}` is no object")
    return value


def _list(value: Any, where: str, limit: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > limit:
        raise _UnexpectedError(f"`{where}` is no list, or too long")
    return value


def _number(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_LINE:
        raise _UnexpectedError(f"`{where}` is no line, column or cell")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _UnexpectedError(f"`{where}` is no text")
    return value if len(value) <= _MAX_TEXT else value[: _MAX_TEXT - 1] + "…"


def _matching(value: Any, pattern: re.Pattern[str], where: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise _UnexpectedError(f"`{where}` has another form")
    return value
