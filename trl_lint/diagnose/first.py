"""Which of the failures in a log is the one that ended the run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from trl_lint.diagnose.failures import Failure, Part
from trl_lint.diagnose.reader import Log
from trl_lint.knowledge.symptoms import consequences
from trl_lint.regexes import regex

_KILLED = regex(r"^(?:.*: line \d+: +\d+ )?Killed\b|exit ?code:? {0,9}(?:-9|137)\b|code = -9\b|SIGKILL", re.IGNORECASE)
_COMPLAINT = regex(
    r"[Ee]rror|undefined symbol|cannot open shared|\b(?:ERROR|FATAL|[Ff]atal|[Ff]ailed|FAILED)\b|NCCL WARN"
)
_HARMLESS = regex(
    r"(?i)(?!Warning +(?:Failed|BackOff|Evicted|Unhealthy|FailedScheduling)\b)"  # events of Kubernetes
    r"\b(?:warning|info|debug|ignor\w{1,5}|skip\w{0,6}|instead|fall(?:ing|s)? ?back|retry\w{0,3}|will use|using"
    r"|0 (?:errors?|failed))\b"
)
_SHELL = regex(
    r"\S{1,300}: (?:line )?\d{1,9}: .{1,300}: (?:(?:command )?not found|No such file or directory|Permission denied)$"
)
_REFUSED = regex(r"[\w./-]{1,200}: error: ")
_END = 60  # lines
# Training steps that are logged after an exception: it was caught, or belongs to a run before this one.
_SURVIVED = 3
# Processes that may print the same exception without a prefix before it must be one that is caught again and again.
_MOST_PROCESSES = 64
# An exception that training went on after so often is caught: nobody starts a run again that many times.
_OFTEN = 8


def first_failure(log: Log) -> Failure | None:
    """The failure that the others follow from, None if the log reports none.

    What only follows from another failure counts where there is nothing else; so does what training went on after,
    unless that came to its end. Of several runs in one file the last one is asked.
    """
    *_, known = runs(log)
    failures = [failure for failure in known if failure.kind != "hint"] or known[-1:]
    if not failures:
        return None
    ended = [failure for failure in failures if log.progress - failure.progress < _SURVIVED] or failures[-1:]
    caught = _caught(ended) | _survived(failures, ended)
    ended = [failure for failure in ended if id(failure) not in caught] or ended
    real = [failure for failure in ended if not follows(failure)]
    chosen = real or ended
    traces = [failure for failure in chosen if failure.kind == "trace" and failure.exception]
    # A traceback says more than the line that a program prints besides; a shell's or scheduler's own words come first
    # only where they stand before it.
    first = chosen[0]
    if first.kind not in ("trace", "outside") and traces and _is_report_of(first, traces[0]):
        first = traces[0]
    if _is_of_a_shell(first):
        first = next((one for one in chosen if not _is_of_a_shell(one)), first)
    if first.kind == "trace" and not first.exception:
        # A traceback that was cut off does not say what a scheduler says.
        others = (one for kind in ("outside", "hint") for one in known if one.kind == kind)
        first = next(others, first)
    if first.kind == "words" and _KILLED.search(first.text):
        # Who sent the signal says more than the line of a process that got it.
        first = next((failure for failure in chosen if failure.kind == "outside"), first)
    if log.root_rank is not None and first.rank is not None and first.rank != log.root_rank:
        of_root = next((failure for failure in real if failure.rank == log.root_rank), None)
        first = of_root or first
    return first


def runs(log: Log) -> list[list[Failure]]:
    """The failures of each run of a log that has one of its own; one list, empty perhaps, where no run has."""
    known = [one for one in log.failures if one.kind != "ignored" and one.number > log.finished]
    starts = [start for start in log.starts if start > log.finished]
    found: list[list[Failure]] = [[]]
    at = 0
    for failure in known:
        is_next = bool(found[-1]) and _starts_over(failure, found[-1][-1])
        while at < len(starts) and starts[at] < failure.number:
            is_next, at = is_next or bool(found[-1]), at + 1
        if is_next and any(_is_an_end(one) for one in found[-1]):
            found.append([])
        found[-1].append(failure)
    ended = [run for run in found if any(_is_an_end(one) for one in run)]
    return ended or [known]


def _is_an_end(failure: Failure) -> bool:
    """Whether a failure ends a program, and follows from no other one."""
    is_named = failure.kind in ("trace", "loose") and bool(failure.exception)
    return (is_named or (failure.kind in ("words", "outside"))) and not follows(failure)


def _is_of_a_shell(failure: Failure) -> bool:
    """Whether a shell could not run a line: it goes on with the next one."""
    return failure.kind == "words" and _SHELL.match(failure.message.partition("\n")[0]) is not None


def _starts_over(failure: Failure, before: Failure) -> bool:
    """Whether a failure can only stand at the start of a program, and is not the one before it again."""
    is_bare = bool(failure.frames) and all(frame.path[:1] != "<" and not frame.function for frame in failure.frames)
    is_unread = is_bare and failure.exception in ("SyntaxError", "IndentationError", "TabError")
    is_refused = failure.kind == "words" and _REFUSED.match(failure.message) is not None
    return (is_unread or is_refused) and failure.text != before.text


def complaints(log: Log) -> Iterator[Failure]:
    """Lines near the end that speak of an error, as failures, the last one first.

    Programs report their end in words of their own. Such a line counts only where it fits a cause that is known.
    """
    for note in log.last_notes:
        if log.lines - note.number > _END:
            break
        if _COMPLAINT.search(note.text) and not _HARMLESS.search(note.text):
            failure = Failure(note.number, note.rank, "", log.progress)
            failure.kind = "hint"
            part = Part()
            part.message, part.number = note.text.strip(), note.number
            failure.parts.append(part)
            yield failure


def has_ended(log: Log) -> bool:
    """Whether the log reports a failure that nothing was trained after."""
    found = first_failure(log)
    return found is not None and found.kind != "hint" and log.progress - found.progress < _SURVIVED


def _caught(failures: list[Failure]) -> set[int]:
    """Failures that cannot have ended their process, because it reported the same one again; by `id`."""
    groups: dict[tuple[object, ...], list[Failure]] = {}
    for failure in failures:
        if failure.kind == "trace" and failure.innermost is not None:
            groups.setdefault(_same(failure), []).append(failure)
    caught: set[int] = set()
    for (stream, *_), members in groups.items():
        if len(members) > (1 if stream else _MOST_PROCESSES):
            caught.update(map(id, members[:-1] if stream else members))
    return caught


def _survived(failures: list[Failure], ended: list[Failure]) -> set[int]:
    """Failures at the end that training has gone on after often, earlier in the log; by `id`."""
    last = set(map(id, ended))
    earlier = Counter(_same(failure) for failure in failures if failure.kind == "trace" and id(failure) not in last)
    return {id(failure) for failure in ended if failure.kind == "trace" and earlier[_same(failure)] > _OFTEN}


def _same(failure: Failure) -> tuple[object, ...]:
    """What two reports of one exception have in common."""
    return (failure.stream, failure.exception, failure.innermost and failure.innermost[:3])


def _is_report_of(words: Failure, trace: Failure) -> bool:
    """Whether a line announces the traceback that follows at once, or repeats its message."""
    is_near = trace.number - words.number <= 40 and words.exception in ("", trace.exception)
    return is_near or (bool(words.message) and words.message in trace.text)


def follows(failure: Failure) -> bool:
    """Whether a failure follows from another one."""
    return why_it_follows(failure) != ""


def why_it_follows(failure: Failure) -> str:
    """Why a failure is the consequence of another one, "" if it is not."""
    main = failure.main
    for pattern, why in _patterns():
        if pattern.search(main.text):
            return why
    return ""


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), why) for pattern, why in consequences())
