"""What is kept of some files between two checks: what was read, what rests on what, and what was found.

A change of one file costs what it may have changed. Most changes alter nothing that other files take from it: then the
project stays, and the file is checked again with those that read it. Otherwise the project is put together again from
what was read of every single file, and everything that is asked for is judged anew.

The command line is one workspace and one check, a repair a change in a loop, the cache an earlier run that is taken up;
editors keep one as long as they run.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from trl_lint import tracked
from trl_lint.budget import Cancelled, cancelled_by
from trl_lint.cache.parts import Known, Parts
from trl_lint.dependency_record import questions_about, resting_on
from trl_lint.engine import Result, check_state
from trl_lint.finding import Finding, Location
from trl_lint.project import Project, find_root
from trl_lint.project.folders import SCRIPT_KINDS
from trl_lint.project.pins import Manifest
from trl_lint.records import NamedTuple
from trl_lint.run.questions import says_the_same
from trl_lint.settings import Settings
from trl_lint.sources import Files, SourceError
from trl_lint.sources.text import difference

# Sets of paths whose last result is kept: as many as somebody has files open.
_MOST_KNOWN = 64
# A file of so many bytes is checked in two steps: what follows values takes longer than all else together.
_WORTH_TWO_STEPS = 16_000
# Whether a suppression is needed is known when everything is.
_UNNEEDED = "TRL002"


class Before(NamedTuple):
    """The text that a file had, and what was found in it then."""

    text: str
    findings: list[Finding]


class Workspace:
    """Files under one set of settings, from one check to the next.

    `overlays` maps absolute paths to unsaved contents. What is looked at goes into `record`; without one nothing is
    known of what a file rests on, and after a change everything is judged anew. `files` are those of the present state;
    a `Result` has those of its own.
    """

    def __init__(
        self,
        settings: Settings,
        overlays: Mapping[str, bytes] | None = None,
        record: tracked.Record | None = None,
    ) -> None:
        self.settings = settings
        self.files = Files(dict(overlays or {}))
        self._record = record
        self._rests: tracked.Record | Parts | None = record  # what is known of what rests on what
        self._settled = self.files  # the state that projects and results are about
        self._changed: set[str] = set()  # paths that may hold something else since then
        self._differing: set[str] = set()  # paths that do
        self._is_moved = False  # files have come or gone since then
        self._projects: dict[str, Project] = {}
        self._known: dict[tuple[str, ...], Known] = {}
        self._slow: dict[str, Before] = {}

    # -- changes --------------------------------------------------------------------------------------------------

    def change(self, contents: Mapping[str, bytes | None]) -> None:
        """Lay unsaved contents over files, by absolute path; None: a file is again what the disk holds."""
        overlays = {**self.files.overlays, **contents}
        self.lay({path: data for path, data in overlays.items() if data is not None})

    def lay(self, overlays: Mapping[str, bytes]) -> None:
        """Lay these contents over the files, and no others."""
        before = self.files.overlays
        changed = {path for path in {*before, *overlays} if before.get(path) != overlays.get(path)}
        if changed:
            self._changed |= changed
            self.files = self.files.changed(dict(overlays), changed)

    def take_up(self, paths: Sequence[str], parts: Parts, changed: Iterable[str]) -> None:
        """Begin where a run over these paths has ended, since when `changed` hold something else."""
        self._known[tuple(paths)] = Known(parts)
        self._rests = parts
        self._differing = set(changed)

    def look_again(self) -> bool:
        """Look at the disk; whether anything that was looked at before has changed, come or gone."""
        if self._record is None:
            return False
        tracked.forget()
        changed, is_moved = self._record.renew()
        changed -= self.files.overlays.keys()
        if changed or is_moved:
            self._differing |= changed
            self._is_moved = self._is_moved or is_moved
            self.files = self.files.changed(self.files.overlays, changed)
        return bool(changed or is_moved)

    # -- checks ---------------------------------------------------------------------------------------------------

    def check(self, paths: Sequence[str], jobs: int | None = 1) -> Result:
        """Check files and folders as they are now; arguments and result as of `engine.check`.

        Raises `Cancelled` inside `budget.cancelled_by`.
        """
        with self._recording():
            self._settle()
            key = tuple(paths)
            try:
                result = check_state(paths, self.settings, self.files, self._projects, jobs, self._known.pop(key, None))
            except Cancelled:
                for project in self._projects.values():
                    project.forget_worked_out()  # some of it may be half done
                raise
            # A problem is told by a run that meets it, and what was cut short may come to more another time.
            is_whole = not result.problems and all(notice.kind != "budget" for notice in result.notices)
            if result.parts is not None and self._rests is not self._record:
                self._rests = result.parts  # those that were taken up, and what was used now
            if result.parts is not None and is_whole:
                self._known[key] = Known(result.parts)
                while len(self._known) > _MOST_KNOWN:
                    del self._known[next(iter(self._known))]
            if len(paths) == 1 and self._record is not None:
                self._remember_slow(paths[0], result)
            return result

    def _remember_slow(self, path: str, result: Result) -> None:
        """Keep what rules found that take long, for `check_first`."""
        from trl_lint.checks.registry import declared_rules

        data = _content(path, self.files)
        if data is None or len(data) < _WORTH_TWO_STEPS:
            return
        codes = {rule.code for rule in declared_rules() if rule.is_slow} | {_UNNEEDED}
        found = [finding for finding in result.findings if finding.code in codes and finding.location.path == path]
        self._slow[path] = Before(self.files.own(path).text, found)
        while len(self._slow) > _MOST_KNOWN:
            del self._slow[next(iter(self._slow))]

    def check_first(self, path: str) -> Result | None:
        """Check one file, but not with the rules that take long: what they found last is told where it stands now.

        None where a whole check is as quick.
        """
        from trl_lint.checks.registry import declared_rules

        with self._recording():
            self._settle()
            before = self._slow.get(path)
            data = _content(path, self.files)
            if before is None or data is None or len(data) < _WORTH_TWO_STEPS:
                return None
            rules = [rule for rule in declared_rules() if not rule.is_slow]
            result = check_state([path], self.settings, self.files, self._projects, rules=rules)
            found = [finding for finding in result.findings if finding.code != _UNNEEDED]
            found += moved(before, self.files.own(path).text)
            return result._replace(findings=sorted(found, key=lambda finding: finding.sort_key))

    def is_due(self, paths: Sequence[str]) -> bool:
        """Whether a check of these paths would judge any file."""
        with self._recording():
            self._settle()
        known = self._known.get(tuple(paths))
        return known is None or not known.stale.isdisjoint(known.parts.asked)

    def project(self, path: str) -> Project:
        """The project that a file belongs to, as it is now."""
        with self._recording():
            self._settle()
            root = find_root(os.path.dirname(path))
            found = self._projects.get(root)
            if found is None:
                found = self._projects[root] = Project(root, self.files, self.settings)
            return found

    @contextmanager
    def _recording(self) -> Iterator[None]:
        if self._record is None or tracked.current() is self._record:
            yield
        else:
            with tracked.recording(self._record):
                yield

    # -- after a change -------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Find out what the changes mean for what is known; that is not given up in the midst."""
        with cancelled_by(None):
            self._take_in()

    def _take_in(self) -> None:
        before, self._settled = self._settled, self.files
        if before is self.files and not self._differing:
            return
        if self._record is not None:
            self._record.forget_files(self._changed)  # before they are read again
        differing = self._differing | {path for path in self._changed if _is_other(path, before, self.files)}
        is_moved = self._is_moved or any(before.exists(path) != self.files.exists(path) for path in self._changed)
        self._changed, self._differing, self._is_moved = set(), set(), False
        told = [_told(differing, project) for project in self._projects.values()]
        for project in self._projects.values():
            project.change(self.files, differing)
        if not differing and not is_moved:
            return
        if is_moved or not self._say_the_same(differing):
            if self._rests is not None and self._rests is self._record:
                self._record.forget_uses_of(differing)  # before it is seen what they say now
            now = [_tells(differing, project) for project in self._projects.values()]
            is_moved = is_moved or list(map(_links, now)) != list(map(_links, told))
            self._renew(is_moved, differing if now == told else None)
            return
        assert self._rests is not None
        stale = resting_on(differing, self._rests.needed)
        self._known = {key: Known(known.parts, known.stale | stale) for key, known in self._known.items()}

    def _say_the_same(self, changed: Collection[str]) -> bool:
        """Whether files give all answers that others rest on, and nothing else was taken from them."""
        rests = self._rests
        if rests is None or not rests.used.isdisjoint(changed):
            return False
        return all(path.endswith(".py") and self._says_the_same(path, rests) for path in changed)

    def _says_the_same(self, path: str, rests: tracked.Record | Parts) -> bool:
        asked = questions_about(path, rests.contents)
        return not asked or says_the_same(path, asked, self.project(path))

    def _renew(self, is_moved: bool, same_pins: Collection[str] | None) -> None:
        """Put the projects together again; what was read of single files stays.

        `same_pins` are the files that have changed, if they pin what they did: then what rests on pins, on the commands
        of the other files and on names stays, too.
        """
        self._known.clear()
        if is_moved or self._rests is not self._record:
            same_pins = None
        if self._record is not None and same_pins is None:
            self._record.forget_uses()
        self._rests = self._record
        self._projects = {
            root: project.renewed(self.files, is_moved, same_pins)
            for root, project in self._projects.items()
            if not is_moved or find_root(root) == root
        }


def moved(before: Before, text: str) -> list[Finding]:
    """Findings in the text that a file has now; those are left out that stand where it has changed.

    A finding has no fix here: what it would edit may have changed. (After a fix, `fixes.apply.Moves` keeps what touches
    an edit, as the fix has made it.)
    """
    changed = difference(before.text, text)
    if changed is None:
        return before.findings
    start, end, content = changed
    shift = len(content) - (end - start)

    def place(location: Location, path: str) -> Location | None:
        if location.path != path or location.end <= start:
            return location
        if location.start < end:
            return None
        return location._replace(start=location.start + shift, end=location.end + shift)

    found = []
    for finding in before.findings:
        path = finding.location.path
        location = place(finding.location, path)
        related = tuple(one for one in (place(each, path) for each in finding.related) if one is not None)
        if location is not None:
            found.append(finding._replace(location=location, related=related, fix=None, part_of=None))
    return found


def _told(paths: Iterable[str], project: Project) -> list[Manifest | None]:
    """What files were read to pin for others."""
    return [_for_others(project.readings.known("manifest", path)) for path in paths]


def _tells(paths: Iterable[str], project: Project) -> list[Manifest | None]:
    """The same, in their present state."""
    return [_for_others(project.manifest_around(path)) for path in paths]


def _for_others(manifest: object) -> Manifest | None:
    """A manifest, unless it is a script's or a notebook's own."""
    if not isinstance(manifest, Manifest) or (manifest.kind in SCRIPT_KINDS and not manifest.links):
        return None
    return manifest


def _links(manifests: Iterable[Manifest | None]) -> list[object]:
    """What files install from the disk."""
    return [(one.project, one.links) if one is not None else ("", ()) for one in manifests]


def _is_other(path: str, before: Files, now: Files) -> bool:
    return _content(path, before) != _content(path, now)


def _content(path: str, files: Files) -> bytes | None:
    """What a file holds, None if it cannot be read."""
    try:
        return files.own(path).data
    except (OSError, SourceError):
        return None
