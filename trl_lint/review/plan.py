"""What has to be done so that a pull request says what a report says: a pure function of the two."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence

from trl_lint.finding import SEVERITIES
from trl_lint.records import NamedTuple
from trl_lint.review import markdown
from trl_lint.review.diff import Diff, names_in
from trl_lint.review.report import Place, Reading, Reported
from trl_lint.review.state import State, Thread
from trl_lint.review.suggestion import Suggestion, renames_alone, suggest

MAX_COMMENTS = 30  # at once; the summary counts the others
# A file that cannot be parsed, and a rule that crashed on one.
ABOUT_A_FILE = frozenset({"TRL001", "TRL003"})


class Draft(NamedTuple):
    """A new comment on the lines `first` to `last` of a file."""

    fingerprint: str
    path: str
    first: int
    last: int
    body: str


class Post(NamedTuple):
    """A review with comments on lines."""

    drafts: tuple[Draft, ...]


class Rewrite(NamedTuple):
    """Give a comment of ours on a line another text."""

    comment: int
    body: str


class Resolve(NamedTuple):
    """Close a thread whose finding is gone.

    `body` is what its comment is to say instead, should that be forbidden; "" if it says so already.
    """

    thread: str
    comment: int
    body: str


class Reopen(NamedTuple):
    """Open a thread that we closed: its finding is back."""

    thread: str


class Summarise(NamedTuple):
    """Write the summary, or rewrite the one that there is."""

    comment: int | None
    body: str


Action = Post | Rewrite | Resolve | Reopen | Summarise


class Options(NamedTuple):
    """`name` tells this review from others of the same pull request. `everything`: also what it does not touch.

    `page` is the address of a page with all findings, "" where there is none. `is_foreign`: the report was made
    where others decide what stands in it, so no button commits what it says, apart from renames that we know.
    """

    name: str
    unsafe_fixes: bool = False
    most: int = MAX_COMMENTS
    everything: bool = False
    page: str = ""
    is_foreign: bool = False


def plan(reading: Reading, state: State, options: Options, refused: Collection[str] = ()) -> list[Action]:
    """The actions, new comments first and the summary last.

    `refused` are fingerprints of findings whose comment GitHub did not take. A thread stays while its finding is there,
    wherever the lines went; one that somebody else resolved is not begun again. What the pull request does not touch is
    not said, unless the options ask for everything.
    """
    findings = {finding.fingerprint: finding for finding in reversed(reading.findings)}
    ordered = [findings[one] for one in dict.fromkeys(finding.fingerprint for finding in reading.findings)]
    threads, spare = _by_fingerprint(state.threads)
    live = sum(finding.fingerprint in threads and not threads[finding.fingerprint].closed for finding in ordered)
    drafts: list[Draft] = []
    rest: list[Reported] = []
    kept: list[Action] = []
    outdated: list[tuple[Reported, str]] = []
    left_out = 0
    for finding in sorted(ordered, key=lambda one: -SEVERITIES.index(one.severity)):
        thread = threads.get(finding.fingerprint)
        if thread is not None:
            kept += _kept(finding, thread, state, reading, options)
            if thread.lines is None and thread.closed != "others":
                outdated.append((finding, thread.url))
            continue
        if not options.everything and not is_touched(finding, state, reading):
            left_out += 1
            continue
        draft = None if finding.fingerprint in refused else _draft(finding, state, reading, options)
        if draft is None or live + len(drafts) + len(refused) >= options.most:
            rest.append(finding)
        else:
            drafts.append(draft)
    # Where something was not read nothing is found, which does not mean that nothing is there.
    gone = [] if reading.is_incomplete else [one for one in threads.values() if one.mark.fingerprint not in findings]
    closing = [*spare, *(one for one in gone if one.path not in reading.unread)]
    resolved = [_resolved(one, options) for one in closing if not one.closed and not one.has_replies]
    actions: list[Action] = [Post(tuple(sorted(drafts, key=lambda one: (one.path, one.last))))] if drafts else []
    is_said = bool(actions) or live > len(outdated)
    return [*actions, *kept, *resolved, *_summary(rest, outdated, left_out, reading.notices, is_said, state, options)]


def touched(reading: Reading, state: State) -> Reading:
    """A report with only those findings that the pull request touches."""
    found = (finding for finding in reading.findings if is_touched(finding, state, reading))
    return reading._replace(findings=tuple(found))


def is_touched(finding: Reported, state: State, reading: Reading) -> bool:
    """Whether a pull request changes a line that a finding is about, or one that it rests on, such as a pin.

    So does one that removes a file which the finding names. A file that cannot be parsed may have been broken far above
    the line that says so, so there any change counts. Where it is not known which lines changed, all of them may have.
    """
    if not state.is_whole:
        return True
    if finding.code in ABOUT_A_FILE and finding.place.path in state.diff:
        return True
    if state.gone and not state.gone.isdisjoint(names_in(finding.message)):
        return True
    places = (finding.place, *(place for place, _ in finding.related))
    return any(_is_touched(place, state.diff, reading) for place in places)


def _is_touched(place: Place, diff: Diff, reading: Reading) -> bool:
    file = diff.get(place.path)
    if file is None:
        return False
    if is_stale(place.path, diff, reading):
        return True
    if place.cell is not None:  # these lines are not those of the file
        return file.touches(1, sys.maxsize)
    return file.touches(place.line, place.end_line)


def is_stale(path: str, diff: Diff, reading: Reading) -> bool:
    """Whether a changed file was read in another state than the one in the pull request."""
    file = diff.get(path)
    known = reading.blobs.get(path)
    return file is not None and bool(file.blob) and bool(known) and file.blob not in (known or ())


def _by_fingerprint(threads: Iterable[Thread]) -> tuple[dict[str, Thread], list[Thread]]:
    """One thread for each finding, an open one if possible; what two runs at once posted twice is spare."""
    chosen: dict[str, Thread] = {}
    spare = []
    for thread in sorted(threads, key=lambda one: bool(one.closed)):
        if thread.mark.fingerprint in chosen:
            spare.append(thread)
        else:
            chosen[thread.mark.fingerprint] = thread
    return chosen, spare


def _draft(finding: Reported, state: State, reading: Reading, options: Options) -> Draft | None:
    """A comment for a finding; None if the diff does not show its line."""
    place = finding.place
    file = state.diff.get(place.path)
    if file is None or place.cell is not None or is_stale(place.path, state.diff, reading):
        return None
    if file.hunk(place.line, place.line) is None:
        return None
    suggestion = _suggestion(finding, state.diff, reading, options)
    first, last = (suggestion.first, suggestion.last) if suggestion else (place.line, place.line)
    body = _body(finding, suggestion, state, options)
    return Draft(finding.fingerprint, place.path, first, last, body)


def _suggestion(finding: Reported, diff: Diff, reading: Reading, options: Options) -> Suggestion | None:
    file = diff.get(finding.place.path)
    if file is None or finding.fix is None or not (finding.fix.applicability == "safe" or options.unsafe_fixes):
        return None
    # A button that commits needs more than "probably the same file".
    if file.blob not in reading.blobs.get(finding.place.path, ()):
        return None
    if options.is_foreign and not renames_alone(finding.fix, file):
        return None
    return suggest(finding.fix, finding.place, file)


def _body(finding: Reported, suggestion: Suggestion | None, state: State, options: Options) -> str:
    return markdown.marked(markdown.comment(finding, suggestion, state.web), options.name, finding.fingerprint)


def _kept(finding: Reported, thread: Thread, state: State, reading: Reading, options: Options) -> list[Action]:
    if thread.closed == "others":
        return []
    suggestion = _suggestion(finding, state.diff, reading, options)
    if suggestion and thread.lines != (suggestion.first, suggestion.last):
        suggestion = None  # it would be applied to the lines of the thread
    body = _body(finding, suggestion, state, options)
    opened: list[Action] = [Reopen(thread.id)] if thread.closed else []
    mark = markdown.read_mark(body)
    return [*opened, Rewrite(thread.comment, body)] if mark != thread.mark else opened


def _resolved(thread: Thread, options: Options) -> Resolve:
    body = markdown.marked(markdown.gone(), options.name, thread.mark.fingerprint)
    return Resolve(thread.id, thread.comment, "" if markdown.read_mark(body) == thread.mark else body)


def _summary(
    findings: Sequence[Reported],
    outdated: Sequence[tuple[Reported, str]],
    left_out: int,
    notices: Sequence[tuple[Place | None, str]],
    is_said: bool,
    state: State,
    options: Options,
) -> list[Action]:
    here = [finding for finding in findings if finding.place.path in state.diff]
    elsewhere = [finding for finding in findings if finding.place.path not in state.diff]
    rest = markdown.Rest(here, elsewhere, outdated, left_out, notices)
    page = options.page if is_said or not rest.is_empty else ""
    if state.summary is None and rest.is_empty and not page:
        return []
    text = markdown.summary(rest, state.web, page)
    body = markdown.marked(text, options.name)
    comment, old = state.summary or (None, None)
    return [] if old == markdown.read_mark(body) else [Summarise(comment, body)]
