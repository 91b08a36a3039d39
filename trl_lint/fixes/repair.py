"""The loop: apply what goes together, check again, keep only what is proved, until nothing is left to repair."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

from trl_lint.engine import Result
from trl_lint.finding import Edit, Finding
from trl_lint.fixes.apply import Moves, by_path, compatible, edited, is_sound, moves
from trl_lint.fixes.verify import objection
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError, SourceFile

# Fixes that make work for one another come to rest in a few rounds; more rounds mean that two of them quarrel.
_MAX_ROUNDS = 10
# Each refused fix costs a few runs of the engine to be told from its neighbours.
_MAX_CHECKS = 200
# Two are needed, to compare them. To look for cycles takes longer than the check of some files.
_STATES_AT_ONCE = 2

Check = Callable[[dict[str, bytes]], Result]


class Refusal(NamedTuple):
    """A fix that was not applied, and why."""

    finding: Finding
    reason: str


class Repair(NamedTuple):
    """What became of a run: `changed` is the new content by path, `before` the files as they were."""

    result: Result
    changed: dict[str, bytes]
    before: dict[str, SourceFile]
    fixed: list[Finding]
    refused: list[Refusal]


def repair(check: Check, wanted: Callable[[Result], Sequence[Finding]], unsafe: bool) -> Repair:
    """Repair everything that `wanted` chooses from a result and that has a fix; nothing is written to disk.

    `check` runs the engine with new contents of files laid over those on disk, and over no others. A fix is kept only
    if the texts pass `verify`, its finding is gone afterwards, and no new finding of the level error has come that has
    no repair of its own.
    """
    return _Loop(check, wanted, unsafe).run()


class _Loop:
    def __init__(self, check: Check, wanted: Callable[[Result], Sequence[Finding]], unsafe: bool) -> None:
        self._check = check
        self._wanted = wanted
        self._unsafe = unsafe
        self._checks = 0
        self.contents: dict[str, bytes] = {}
        self.before: dict[str, SourceFile] = {}
        self.fixed: list[Finding] = []
        self.refused: dict[object, Refusal] = {}
        self._objections: dict[tuple[str, tuple[Edit, ...]], str | None] = {}  # of files as they are in the result
        self.result = self._run_check({})

    def _run_check(self, contents: dict[str, bytes]) -> Result:
        self._checks += 1
        if self._checks > _STATES_AT_ONCE:
            gc.collect()  # every check but the last one has left a state of the project behind
        return self._check(contents)

    def run(self) -> Repair:
        rounds = 0
        while rounds < _MAX_ROUNDS and self._checks < _MAX_CHECKS:
            candidates = compatible(self._candidates())
            if not candidates:
                break
            if batch := self._screened(candidates):
                rounds += self._attempt(batch)  # parts of a batch come to an end by themselves
        changed = {path: data for path, data in self.contents.items() if data != self.before[path].data}
        return Repair(self.result, changed, self.before, self.fixed, list(self.refused.values()))

    def _candidates(self) -> list[Finding]:
        found = []
        for finding in self._wanted(self.result):
            fix = finding.fix
            if fix is None or (fix.applicability == "unsafe" and not self._unsafe):
                continue
            if self._key(finding) in self.refused:
                continue
            reason = self._fault(finding)
            if reason is None:
                found.append(finding)
            else:
                self._refuse(finding, reason)
        return found

    def _screened(self, batch: list[Finding]) -> list[Finding]:
        """Those of a batch whose texts nothing speaks against, and the others refused. Good ones are read together:
        a file with a hundred fixes is not read a hundred times.
        """
        reason = self._text_objection(_edits_of(batch))
        if reason is None:
            return batch
        if len(batch) == 1:
            self._refuse(batch[0], reason)
            return []
        half = len(batch) // 2
        return self._screened(batch[:half]) + self._screened(batch[half:])

    def _refuse(self, finding: Finding, reason: str) -> None:
        self.refused[self._key(finding)] = Refusal(finding, reason)

    def _key(self, finding: Finding) -> object:
        """What makes a fix the same fix in the next round, when its place may have moved."""
        assert finding.fix is not None
        contents = tuple((edit.path, edit.content) for edit in finding.fix.edits)
        return (finding.code, finding.location.path, finding.message, self._line(finding), contents)

    def _line(self, finding: Finding) -> str:
        try:
            lines = self.result.files.get(finding.location.path).lines
        except (OSError, SourceError):
            return ""
        return lines.line_text(lines.position(finding.location.start).line).strip()

    def _fault(self, finding: Finding) -> str | None:
        """What is wrong with the edits of a fix."""
        assert finding.fix is not None
        try:
            texts = {path: self.result.files.get(path).text for path in {edit.path for edit in finding.fix.edits}}
        except (OSError, SourceError):
            return "a file it changes cannot be read"
        if not is_sound(finding.fix, {path: len(text) for path, text in texts.items()}):
            return "its edits do not fit the file"
        return None

    def _text_objection(self, groups: dict[str, list[Edit]]) -> str | None:
        for path, edits in groups.items():
            key = (path, tuple(edits))  # mostly a file has one fix, which a batch does not change
            if key not in self._objections:
                file = self.result.files.get(path)
                self._objections[key] = objection(file, edited(file.text, edits), edits)
            if (reason := self._objections[key]) is not None:
                return reason
        return None

    def _attempt(self, batch: list[Finding]) -> bool:
        """Apply a batch; if it does not hold, a part of it, and so on. Whether all of it was applied.

        What is left over comes again in the next round, with places that fit the new texts.
        """
        is_whole = True
        while True:
            groups = _edits_of(batch)
            reason = self._text_objection(groups)
            at_fault: set[str] = set()
            if reason is None:
                contents = dict(self.contents)
                for path, edits in groups.items():
                    file = self.result.files.get(path)
                    contents[path] = file.encode(edited(file.text, edits))
                after = self._run_check(contents)
                reason, at_fault = self._complaint(batch, groups, after)
                if reason is None:
                    self._accept(batch, groups, contents, after)
                    return is_whole
            if len(batch) == 1:
                self._refuse(batch[0], reason)
                return False
            if self._checks >= _MAX_CHECKS:
                return False
            batch, is_whole = _part_of(batch, at_fault), False

    def _accept(
        self, batch: list[Finding], groups: dict[str, list[Edit]], contents: dict[str, bytes], after: Result
    ) -> None:
        for path in groups:
            self.before.setdefault(path, self.result.files.get(path))
        self._objections.clear()
        self.contents = contents
        self.fixed += batch
        self.result = after

    def _complaint(
        self, batch: list[Finding], groups: dict[str, list[Edit]], after: Result
    ) -> tuple[str | None, set[str]]:
        """Why the result of a batch is no good: a finding that stayed, or an error that is new; None where it is good.

        With it the files of all such findings.
        """
        moved = {path: moves(self.result.files.get(path).text, edits) for path, edits in groups.items()}
        reason, at_fault = _of_those_that_stayed(batch, moved, after)
        known = {(f.code, f.location.path, _moved(f, moved)[0]) for f in self.result.findings}
        said = {(f.code, f.location.path, f.message) for f in self.result.findings}
        for f in after.findings:
            at = (f.code, f.location.path, f.location.start)
            is_new = at not in known and (f.code, f.location.path, f.message) not in said
            if f.severity == "error" and is_new and not self._is_next(f):
                reason = reason or f"it would bring a new error: {f.code} {f.message}"
                at_fault.add(f.location.path)
        if reason is None and len(after.problems) > len(self.result.problems):
            reason = f"the repaired project could not be checked: {after.problems[-1].message}"
        cut = _cut_short(after) - _cut_short(self.result)
        if reason is None and cut:
            reason = f"the repaired project could not be checked to the end: {min(cut)}"
        return reason, at_fault

    def _is_next(self, finding: Finding) -> bool:
        """Whether a finding has a repair of its own that will be tried: a call is judged once its import is right."""
        fix = finding.fix
        return (
            fix is not None and (fix.applicability == "safe" or self._unsafe) and self._key(finding) not in self.refused
        )


def _of_those_that_stayed(
    batch: Sequence[Finding], moved: dict[str, Moves], after: Result
) -> tuple[str | None, set[str]]:
    """The files of findings that should be gone and are not, with what is to be said of them."""
    left: dict[tuple[str, str, str], list[int]] = {}
    for f in after.findings:
        left.setdefault((f.code, f.location.path, f.message), []).append(f.location.start)
    stayed = set()
    for finding in batch:
        start, end = _moved(finding, moved)
        places = left.get((finding.code, finding.location.path, finding.message), ())
        if any(start <= at <= end for at in places):
            stayed.add(finding.location.path)
    return ("the finding would still be there" if stayed else None), stayed


def _part_of(batch: list[Finding], at_fault: set[str]) -> list[Finding]:
    """What of a batch that does not hold to try next: all that leaves the files at fault alone, else what changes the
    same files as its first fix, else half of it.
    """
    apart = [finding for finding in batch if at_fault.isdisjoint(_paths_of(finding))]
    if apart and len(apart) < len(batch):
        return apart
    first = [finding for finding in batch if _paths_of(finding) == _paths_of(batch[0])]
    return first if len(first) < len(batch) else batch[: len(batch) // 2]


def _paths_of(finding: Finding) -> frozenset[str]:
    return frozenset(edit.path for edit in finding.fix.edits) if finding.fix else frozenset()


def _edits_of(batch: Sequence[Finding]) -> dict[str, list[Edit]]:
    return by_path(edit for finding in batch if finding.fix for edit in finding.fix.edits)


def _cut_short(result: Result) -> set[str]:
    """What of the work was cut short, so that a finding may be gone for no better reason."""
    return {notice.message for notice in result.notices if notice.kind == "budget"}


def _moved(finding: Finding, moved: dict[str, Moves]) -> tuple[int, int]:
    """Where the place of a finding is after the edits."""
    location = finding.location
    changes = moved.get(location.path)
    if changes is None:
        return location.start, location.end
    return changes.start(location.start), changes.end(location.end)
