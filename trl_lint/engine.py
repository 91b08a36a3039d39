"""The one pipeline: discover -> read -> project -> rules -> suppress -> findings.

A file costs what can be wrong in it: bytes are searched first, then `ast` is asked, and only expressions that
a wanted fix changes reach LibCST. Readers of configs, pins and launches work the same way and import their parsers when
needed.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from trl_lint import budget, tracked
from trl_lint.checker import PYTHON, Checker, Problem
from trl_lint.coverage import Coverage, Seen, once
from trl_lint.finding import Finding, Notice, told_once
from trl_lint.project import Project, find_root
from trl_lint.project.discovery import collect
from trl_lint.records import NamedTuple
from trl_lint.settings import Settings
from trl_lint.sources import Files, SourceError, SourceFile
from trl_lint.workers import jobs_for, spread

if TYPE_CHECKING:
    from trl_lint.cache.parts import Known, Parts
    from trl_lint.checks.rule import Rule

_MADE_READY = 32  # files that one process checks before it shares out the others
Found = tuple[str, bool]  # a path, and whether it was named on the command line


class Result(NamedTuple):
    """What a run came to.

    `parts` is the same in parts, where looks were recorded. `again` are the files that were checked, if the others were
    known.
    """

    findings: list[Finding]
    notices: list[Notice]
    problems: list[Problem]
    files: Files
    projects: list[Project]
    checked: int
    parts: Parts | None = None
    again: frozenset[str] | None = None
    coverage: Coverage = Coverage(0)


class Share(NamedTuple):
    """What a process found on its share of the files, by the file that it checked then.

    `kept` are the files that may hold suppressions, `roots` the projects, `record` what was looked at.
    """

    found_in: dict[str, dict[Finding, None]]
    notices_in: dict[str, dict[Notice, None]]
    seen_in: dict[str, list[Seen]]
    problems: list[Problem]
    kept: list[str]
    roots: list[str]
    record: tracked.Record | None


def check(
    paths: Sequence[str],
    settings: Settings,
    overlays: Mapping[str, bytes] | None = None,
    jobs: int | None = 1,
) -> Result:
    """Check files and folders once. `overlays` maps absolute paths to unsaved contents.

    `jobs` is how many processes work on it, None for as many as pay; the result does not depend on it. Whoever checks
    again after a change keeps a `Workspace`.
    """
    return check_state(paths, settings, Files(overlays), {}, jobs)


def check_state(
    paths: Sequence[str],
    settings: Settings,
    files: Files,
    projects: dict[str, Project],
    jobs: int | None = 1,
    known: Known | None = None,
    rules: Sequence[Rule] = (),
) -> Result:
    """Check paths in one state of the files; `projects`, by root, are what was found out about that state so far.

    What is `known` from a run over the same paths is not judged again. With some `rules`, no others are asked.
    """
    enabled = gc.isenabled()
    gc.disable()  # trees die by reference counting; collecting while they are built only costs
    try:
        tracked.pop_unread()  # what nobody asked about before
        others: list[str] = []
        with budget.watched():
            found, missing = collect(paths, settings, files.overlays, others)
            missing += budget.taken_failures()
        run = _Run(Checker(settings, files, projects, rules), found, others)
        problems = [Problem(path, message) for path, message in missing]
        if settings.own is None:
            return run.result(problems, jobs, known)
        from trl_lint.knowledge.own import using

        with using(settings.own):
            return run.result(problems, jobs, known)
    finally:
        if enabled:
            gc.enable()


class _Run:
    def __init__(self, checker: Checker, found: list[Found], others: list[str]) -> None:
        self.checker = checker
        self.files = checker.files
        self.found = found
        self.others = others
        checker.asked.update(path for path, _ in found)
        checker.named.update(path for path, explicit in found if explicit)

    def result(self, missing: list[Problem], jobs: int | None, known: Known | None) -> Result:
        again = known.stale & self.checker.asked if known and self.checker.asked == set(known.parts.asked) else None
        self._check_found(self.found if again is None else [one for one in self.found if one[0] in again], jobs)
        parts = self._parts() if tracked.current() is not None else None
        if known and parts and again is not None:
            parts = known.parts.renewed(again, parts)
            self._take_over_parts(parts)
        findings, skipped = self._suppressed()
        of_files = (
            self._without_root(path, notice) for path, there in self.checker.notices_in.items() for notice in there
        )
        notices = budget.merged([*of_files, *self._unread_launchers()])
        return Result(
            sorted(told_once(sorted(findings, key=_order)), key=_order),
            sorted([*notices, *skipped], key=lambda notice: notice.sort_key),
            missing + self.checker.problems,
            self.files,
            list(self.checker.projects.values()),
            len(self.found),
            parts,
            again,
            self._coverage(),
        )

    def _coverage(self) -> Coverage:
        found = [one for path in sorted(self.checker.seen_in) for one in self.checker.seen_in[path]]
        return Coverage(len(self.found), once(found), self.checker.is_counting, bool(self.checker.seen_in))

    def _without_root(self, path: str, notice: Notice) -> Notice:
        from trl_lint.paths import without_root

        return notice._replace(message=without_root(notice.message, self.checker.project(path).root))

    def _unread_launchers(self) -> Iterable[Notice]:
        """What is said of files that start something and that nobody reads."""
        if not self.checker.is_counting or not self.others:
            return ()
        from trl_lint.project.unread_launchers import unread_launchers

        return list(unread_launchers(self.others, self.files))

    # -- many files -----------------------------------------------------------------------------------------------

    def _check_found(self, found: list[Found], wanted: int | None) -> None:
        jobs = jobs_for(wanted, len(found))
        if jobs == 1:
            self._take_over(self._check_share(found))
            return
        self._read_launches_ahead([path for path, _ in found], jobs)
        with budget.watched():
            self._read_ahead([path for path, _ in found if not path.endswith(PYTHON)])
            self.checker.take_notes()
        # What the first files of every part make ready (rules, histories, environments), no other process makes again.
        first = found[:: max(1, len(found) // _MADE_READY)]
        self._take_over(self._check_share(first))
        known = set(first)
        for share in spread([one for one in found if one not in known], jobs, self._check_share):
            self._take_over(share)

    def _read_launches_ahead(self, paths: list[str], jobs: int) -> None:
        if self.checker.run_rules:
            from trl_lint.project.ahead import read_launches_ahead

            for root in dict.fromkeys(find_root(os.path.dirname(path)) for path in paths):
                read_launches_ahead(self.checker.project_at(root), jobs)

    def _read_ahead(self, paths: list[str]) -> None:
        """Read what every process would read again for itself: the manifests and launches of a project."""
        from trl_lint.project.pins import is_manifest
        from trl_lint.run.runs import runs_with

        for path in filter(is_manifest, paths):
            self.checker.project(path).manifest_around(path)
        if self.checker.run_rules:
            for root in dict.fromkeys(find_root(os.path.dirname(path)) for path in paths):
                runs_with("", self.checker.project_at(root))

    def _check_share(self, found: Iterable[Found]) -> Share:
        """Check some files; what was known before is no part of the result."""
        paths = []
        checker = self.checker
        before = checker.found_in, checker.notices_in, checker.seen_in, checker.problems
        checker.found_in, checker.notices_in, checker.seen_in, checker.problems = {}, {}, {}, []
        with budget.watched():
            for path, explicit in found:
                paths.append(path)
                if budget.is_run_over():
                    budget.note_unchecked([path])
                else:
                    self.checker.check_path(path, explicit)
                self.checker.take_notes()
        kept = [path for path in paths if self.files.is_open(path)]
        own = checker.found_in, checker.notices_in, checker.seen_in, checker.problems
        share = Share(*own, kept, list(checker.projects), tracked.current())
        checker.found_in, checker.notices_in, checker.seen_in, checker.problems = before
        return share

    def _take_over(self, share: Share) -> None:
        """Add what a process found on its share to what is known here; both may know the same."""
        for path, findings in share.found_in.items():
            self.checker.found_in.setdefault(path, {}).update(findings)
        for path, notices in share.notices_in.items():
            self.checker.notices_in.setdefault(path, {}).update(notices)
        self.checker.seen_in.update(share.seen_in)
        self.checker.problems.extend(problem for problem in share.problems if problem not in self.checker.problems)
        self._open(share.kept)
        for root in share.roots:
            self.checker.project_at(root)
        tracked.take_over(share.record)

    def _open(self, paths: Iterable[str]) -> None:
        """Open files that may hold suppressions."""
        for path in paths:
            with suppress(OSError, SourceError):  # said by the process that could not read it
                self.files.own(path)

    # -- in parts -------------------------------------------------------------------------------------------------

    def _parts(self) -> Parts:
        from trl_lint.cache.parts import Parts

        record = tracked.current() or tracked.Record()
        return Parts(
            [path for path, _ in self.found],
            {path: list(findings) for path, findings in self.checker.found_in.items()},
            {path: list(notices) for path, notices in self.checker.notices_in.items()},
            self.checker.seen_in,
            [path for path in self.files.opened() if self.files.own(path).mentions_noqa],
            list(self.checker.projects),
            record.contents,
            record.needed,
            record.used,
        )

    def _take_over_parts(self, parts: Parts) -> None:
        self.checker.found_in = {path: dict.fromkeys(findings) for path, findings in parts.findings.items()}
        self.checker.notices_in = {path: dict.fromkeys(notices) for path, notices in parts.notices.items()}
        self.checker.seen_in = dict(parts.seen)
        self._open(parts.suppressing)
        for root in parts.roots:
            self.checker.project_at(root)

    # -- suppressions ---------------------------------------------------------------------------------------------

    def _suppressed(self) -> tuple[list[Finding], list[Notice]]:
        """The findings that no comment suppresses, with those about the comments; the files that one switches off."""
        found_at: dict[str, dict[Finding, None]] = {path: {} for path, _ in self.found}
        for findings in self.checker.found_in.values():
            for finding in findings:
                found_at.setdefault(finding.location.path, {}).setdefault(finding)
        result: list[Finding] = []
        skipped: list[Notice] = []
        for path, there in sorted(found_at.items()):
            file = self._suppressing(path, bool(there))
            if file is None:
                result.extend(there)
                continue
            from trl_lint.suppress import apply

            environment = self.checker.project(path).environment
            kept, notice = apply(list(there), file, self.checker.settings, environment)
            result.extend(kept)
            skipped.extend([notice] if notice is not None else [])
        return result, skipped

    def _suppressing(self, path: str, has_findings: bool) -> SourceFile | None:
        """The file, if it may hold suppressions; one that was dropped after its check holds none."""
        if not has_findings and not self.files.is_open(path):
            return None
        try:
            file = self.files.own(path)
        except (OSError, SourceError):
            return None
        return file if file.mentions_noqa else None


def _order(finding: Finding) -> tuple[object, ...]:
    """An order in which no two findings stand by chance."""
    return (finding.sort_key, finding.location, finding.related, finding.severity, finding.fix or ())
