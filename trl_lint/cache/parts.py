"""What each file of a run came to, and what was taken from each: after a change only that is done again which must be.

A report as a whole is the business of `entry`. Here it is in parts, for a run in which some Python files have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from trl_lint.cache.entry import long, short
from trl_lint.coverage import Seen
from trl_lint.finding import Edit, Finding, Fix, Location, Notice, OpenPin
from trl_lint.records import NamedTuple
from trl_lint.tracked import Record


class Parts(NamedTuple):
    """One run over a set of files, taken apart. All paths are absolute.

    `asked`: the files that were checked. `findings`: what was found while a file was checked, before anything was
    suppressed; `notices`: what of it was not judged; `seen`: what of training is in it, for files that concern rules.
    `suppressing`: the files that may hold suppressions. `roots`: the
    projects. `contents`, `needed`, `used`: as in `tracked.Record`.
    """

    asked: list[str]
    findings: dict[str, list[Finding]]
    notices: dict[str, list[Notice]]
    seen: dict[str, list[Seen]]
    suppressing: list[str]
    roots: list[str]
    contents: dict[tuple[str, str], dict[str, bool]]
    needed: dict[str, set[str]]
    used: set[str]

    def renewed(self, again: Collection[str], now: Parts) -> Parts:
        """These parts, with what is known now of the files that were checked again."""
        findings = {path: found for path, found in self.findings.items() if path not in again}
        for path, found in now.findings.items():
            # A run whose command stands in no checked file is judged with any file that it uses: it may be known.
            findings[path] = list(dict.fromkeys([*findings.get(path, ()), *found]))
        notices = {path: found for path, found in self.notices.items() if path not in again} | now.notices
        seen = {path: found for path, found in self.seen.items() if path not in again} | now.seen
        suppressing = {path for path in self.suppressing if path not in again}.union(now.suppressing)
        record = Record()
        for parts in (self, now):
            record.note_parts(parts.contents, parts.needed, parts.used)
        roots = sorted({*self.roots, *now.roots})
        return Parts(
            self.asked, findings, notices, seen, sorted(suppressing), roots, record.contents, record.needed, record.used
        )


class Known(NamedTuple):
    """What a run over the same files came to, of which all holds but what was found while a `stale` one was checked."""

    parts: Parts
    stale: frozenset[str] = frozenset()


class _Paths:
    """Every path once, and for each mention its number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, path: str) -> int:
        return self.numbers.setdefault(path, len(self.numbers))


def encoded(parts: Parts, base: str) -> str:
    """The parts as JSON; paths in the base of the run are written from there."""
    import json

    number = _Paths()
    document = {
        "asked": list(map(number, parts.asked)),
        "findings": [
            [number(path), [_written(finding, number) for finding in found]] for path, found in parts.findings.items()
        ],
        "notices": [
            [number(path), [_written_notice(one, number) for one in found]] for path, found in parts.notices.items()
        ],
        "seen": [[number(path), [_written_seen(one, number) for one in found]] for path, found in parts.seen.items()],
        "suppressing": list(map(number, parts.suppressing)),
        "roots": [short(root, base) for root in parts.roots],
        "contents": [
            [*question, *([number(path) for path in answers if answers[path] is answer] for answer in (True, False))]
            for question, answers in parts.contents.items()
        ],
        "needed": [[number(path), list(map(number, sorted(needed)))] for path, needed in parts.needed.items()],
        "used": list(map(number, sorted(parts.used))),
        "paths": [short(path, base) for path in number.numbers],
    }
    return json.dumps(document, separators=(",", ":"))


def _written(finding: Finding, number: Callable[[str], int]) -> list[Any]:
    fix, pin = finding.fix, finding.pin
    edits = [[number(edit.path), *edit[1:]] for edit in fix.edits] if fix else []
    return [
        finding.code, finding.message, _written_place(finding.location, number), finding.severity,
        [_written_place(place, number) for place in finding.related],
        [fix.title, fix.applicability, edits] if fix else None,
        _written_place(finding.part_of, number) if finding.part_of else None,
        [*pin[:2], _written_place(pin.location, number), *pin[3:]] if pin else None,
    ]  # fmt: skip


def _written_notice(notice: Notice, number: Callable[[str], int]) -> list[Any]:
    place = _written_place(notice.location, number) if notice.location else None
    return [*notice[:2], place, *notice[3:]]


def _written_seen(seen: Seen, number: Callable[[str], int]) -> list[Any]:
    pin = _written_place(seen.pin, number) if seen.pin else None
    return [*seen[:3], _written_place(seen.location, number), seen.release, pin]


def _written_place(location: Location, number: Callable[[str], int]) -> list[Any]:
    return [number(location.path), *location[1:]]


def decoded(text: str, base: str) -> Parts | None:
    """The parts that `encoded` has written, for a base that may be elsewhere now; None for anything else."""
    import json

    try:
        return _decoded(json.loads(text), base)
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _decoded(document: dict[str, Any], base: str) -> Parts:
    paths = long(document["paths"], base)

    def listed(numbers: list[int]) -> list[str]:
        return [paths[number] for number in numbers]

    contents: dict[tuple[str, str], dict[str, bool]] = {}
    for question, argument, yes, no in document["contents"]:
        contents[question, argument] = {**dict.fromkeys(listed(yes), True), **dict.fromkeys(listed(no), False)}
    return Parts(
        listed(document["asked"]),
        {paths[path]: [_read(one, paths) for one in found] for path, found in document["findings"]},
        {paths[path]: [_read_notice(one, paths) for one in found] for path, found in document["notices"]},
        {paths[path]: [_read_seen(one, paths) for one in found] for path, found in document["seen"]},
        listed(document["suppressing"]),
        long(document["roots"], base),
        contents,
        {paths[path]: set(listed(needed)) for path, needed in document["needed"]},
        set(listed(document["used"])),
    )


def _read(finding: list[Any], paths: list[str]) -> Finding:
    code, message, location, severity, related, fix, part_of, pin = finding
    return Finding(
        code,
        message,
        _read_place(location, paths),
        severity,
        tuple(_read_place(place, paths) for place in related),
        Fix(fix[0], fix[1], tuple(Edit(paths[edit[0]], *edit[1:]) for edit in fix[2])) if fix else None,
        _read_place(part_of, paths) if part_of else None,
        OpenPin(pin[0], pin[1], _read_place(pin[2], paths), pin[3], pin[4], pin[5]) if pin else None,
    )


def _read_notice(notice: list[Any], paths: list[str]) -> Notice:
    kind, message, location, package, version, newest_known = notice
    place = _read_place(location, paths) if location else None
    return Notice(kind, message, place, package, version, newest_known)


def _read_seen(seen: list[Any], paths: list[str]) -> Seen:
    what, entry, reason, location, release, pin = seen
    return Seen(what, entry, reason, _read_place(location, paths), release, _read_place(pin, paths) if pin else None)


def _read_place(written: list[Any], paths: list[str]) -> Location:
    return Location(paths[written[0]], *written[1:])
