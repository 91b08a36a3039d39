"""Fixes for one open file: proved as `--fix` proves them, and given as changes of what is open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trl_lint.editors.server.desk import Desk
from trl_lint.engine import Result
from trl_lint.finding import Edit, Finding
from trl_lint.fixes.noqa import RefusedError, noqa_edits
from trl_lint.fixes.repair import Repair, repair
from trl_lint.knowledge.releases import installable, parse_version
from trl_lint.project import Project
from trl_lint.sources import Files, SourceError, SourceFile
from trl_lint.sources.files import open_file
from trl_lint.sources.text import difference
from trl_lint.upgrade.pins import moved_specifier


def repaired(desk: Desk, path: str, only: Finding | None = None, unsafe: bool = False) -> Repair:
    """An open file with all that can be repaired in it, safely unless told otherwise, or with the fix of one finding.

    Nothing is kept of it. Raises SettingsError, BaselineError.
    """
    workspace = desk.workspace(path)

    def check(contents: dict[str, bytes]) -> Result:
        workspace.lay({**desk.contents, **contents})
        return workspace.check([path])

    def wanted(result: Result) -> Sequence[Finding]:
        shown = desk.shown(path, result)
        return shown if only is None else [one for one in shown if _is_same(one, only)]

    try:
        return repair(check, wanted, unsafe or only is not None)
    finally:
        workspace.lay(desk.contents)


def _is_same(finding: Finding, other: Finding) -> bool:
    return (finding.code, finding.location, finding.message) == (other.code, other.location, other.message)


def edits_of(done: Repair) -> Iterator[Edit]:
    """What a repair changes: one edit for each file, for a notebook one for each cell."""
    for path, data in sorted(done.changed.items()):
        yield from edits_between(done.before[path], data)


def edits_between(before: SourceFile, data: bytes) -> Iterator[Edit]:
    """Edits that make new contents of a file; nothing that is the same at either end is touched."""
    from trl_lint.sources.notebook import NotebookFile

    after = open_file(before.path, data)
    if not isinstance(before, NotebookFile) or not isinstance(after, NotebookFile):
        if (found := _lines_between(before.text, after.text)) is not None:
            yield Edit(before.path, *found)
        return
    for old, new in zip(before.cells, after.cells, strict=True):
        if (found := _lines_between(old.text, new.text)) is not None:
            start, end, content = found
            yield Edit(before.path, old.raw_start(start), old.raw_end(end), before.escape(content))


def _lines_between(before: str, after: str) -> tuple[int, int, str] | None:
    """The lines in which two texts differ: start and end in the first, and what stands there in the second."""
    found = difference(before, after)
    if found is None:
        return None
    start = before.rfind("\n", 0, found[0]) + 1
    rest = len(before) - (before.find("\n", found[1]) + 1 or len(before))
    return start, len(before) - rest, after[start : len(after) - rest]


def suppression(file: SourceFile, finding: Finding) -> list[Edit]:
    """The comment that suppresses a finding; empty where none can."""
    try:
        edits, _ = noqa_edits(file, [finding], "")
    except (RefusedError, SourceError):
        return []
    return edits


def pinned(finding: Finding, project: Project, files: Files) -> tuple[str, Edit] | None:
    """How to bound the open pin that a finding rests on: the new specifier, and the edit that writes it.

    None where no release is known to be right, or where no edit of text is.
    """
    open_one = finding.pin
    if open_one is None or not open_one.newest:
        return None
    manifest = project.manifest_around(open_one.location.path)
    pins = manifest.pins if manifest is not None else ()
    place = next((pin.specifier_location for pin in pins if pin.location == open_one.location), None)
    if place is None:
        return None
    written = files.own(place.path).text[place.start : place.end]
    if open_one.is_floor:
        after = _release_after(open_one.package, open_one.newest)
        bounded = None if not after else f">={after}"
        if written and after:
            version = parse_version(after)
            bounded = moved_specifier(written, version) if version is not None else None
    else:
        bounded = f"{written},<{open_one.oldest}" if written else f"<{open_one.oldest}"
    if bounded is None or written.endswith((")", "]")):
        return None
    return bounded, Edit(place.path, place.start, place.end, bounded)


def _release_after(package: str, release: str) -> str:
    bound = parse_version(release)
    later = [one for one in installable(package) if bound is not None and one > bound]
    return str(min(later)) if later else ""
