"""What a rule finds in a run that may be one of several: only what it finds in each of them.

What it finds with the defaults that a script gives its variables (`${V:-8}`) holds as long as nobody sets them: that is
said, and is a warning at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from trl_lint.finding import SEVERITIES, Finding, Location
from trl_lint.grading import by_default, milder
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from trl_lint.run.candidates import Candidate
    from trl_lint.run.runs import Run
    from trl_lint.sources.shell_options import Guess

# What a message is about: the names of fields and keys in it, but no file.
_NAME = regex(r"`([A-Za-z_][\w.-]*)`")
_FILE = regex(r"\.(?:ya?ml|json|py|sh)\Z")
_MOST_LABELS = 4  # shown; a message counts the others


def agreed(run: Run, check: Callable[[Run], Iterable[Finding]]) -> Iterator[Finding]:
    """The findings of a run that hold whatever it turns out to be.

    `check` is called for the run itself, where all that is open is unknown, and then for its candidates, as long as it
    finds something in every one of them. What a sweep or a matrix tries is run with each of its values, so that what
    holds with one of them is a finding.
    """
    told: set[tuple[object, ...]] = set()
    called = [(one, list(check(one.run))) for one in run.calls]
    marks = {_mark(finding) for _, found in called for finding in found}
    for finding in check(run):
        if not called or _mark(finding) in marks:  # else every call takes it away
            told.add(_mark(finding))
            yield finding
    for finding in _in_each(run.candidates, check, told):
        told.add(_mark(finding))
        yield finding
    rounds = ((one, check(one.run), "what is tried") for one in run.rounds)
    for candidate, found, what in (*((one, found, "called so") for one, found in called), *rounds):
        for finding in found:
            if _mark(finding) not in told:
                told.add(_mark(finding))
                yield _in_round(finding, candidate, what)
    if run.guesses:
        yield from _by_default(run, check, {mark[:4] for mark in told})


def _in_round(finding: Finding, candidate: Candidate, what: str) -> Finding:
    """A finding of one of the values that are tried. They stand together, so that no fix can be made for one."""
    from trl_lint.checks._phrases import before_scope

    related = [*finding.related, *(place._replace(message=what) for place in candidate.places)]
    message = before_scope(finding.message, f", with `{candidate.label}`")
    return finding._replace(message=message, related=_each_once(related, finding.location), fix=None)


def _by_default(
    run: Run, check: Callable[[Run], Iterable[Finding]], told: set[tuple[object, ...]]
) -> Iterator[Finding]:
    """The findings that rest on the defaults of variables which nothing in the project sets."""
    from trl_lint.project.starters import may_be_given
    from trl_lint.run.candidates import words_of
    from trl_lint.sources.shell_options import guesses_of

    launch = run.launch
    words = words_of(launch.command)
    for finding in _in_each(run.guesses, check, set()):
        if _place(finding) in told:
            continue
        whole = launch.location[:3]
        rests_on = [place for place in (finding.location, *finding.related) if place[:3] != whole]
        here = [word for word in words if _is_in(launch.source.location(word.start, word.end), rests_on)]
        defaults = guesses_of(here) or guesses_of(words)
        if not may_be_given(frozenset(each.name for each in defaults), launch.source.path, run.project):
            yield finding._replace(message=_with_defaults(finding.message, defaults), fix=None)


def _is_in(place: Location, others: Iterable[Location]) -> bool:
    return any(one.path == place.path and one.start <= place.start and place.end <= one.end for one in others)


def _with_defaults(message: str, defaults: Sequence[Guess]) -> str:
    from trl_lint.checks._phrases import before_scope

    written = list(dict.fromkeys(each.written for each in defaults))
    nobody = "nothing else replaces the default" if len(written) == 1 else "nothing else replaces the defaults"
    return before_scope(message, f", as long as {nobody} {_listed(written)}")


def _in_each(
    candidates: tuple[Candidate, ...], check: Callable[[Run], Iterable[Finding]], told: set[tuple[object, ...]]
) -> Iterator[Finding]:
    found: list[list[Finding]] = []
    for candidate in candidates:
        fresh = [one for one in check(candidate.run) if _mark(one) not in told]
        if not fresh:
            return
        found.append(fresh)
    for subject in dict.fromkeys(_subject(one) for one in (found[0] if found else ())):
        same = [next((one for one in fresh if _subject(one) == subject), None) for fresh in found]
        complete = [one for one in same if one is not None]
        if len(complete) == len(same):
            yield _merged(complete, candidates)


def _merged(found: list[Finding], candidates: tuple[Candidate, ...]) -> Finding:
    """One finding for all candidates; where they fail at different places, it stands where the choice is made."""
    first = found[0]
    if len(found) == 1 and candidates[0].is_default:
        return first._replace(severity=by_default(first.severity))
    here = all(_place(one) == _place(first) for one in found)
    places = candidates[0].places
    location = first.location if here or not places else places[0]
    mildest = min((one.severity for one in found), key=SEVERITIES.index)
    severity = milder(mildest, any(candidate.is_guess and not candidate.is_default for candidate in candidates))
    if any(candidate.is_default for candidate in candidates):
        severity = by_default(severity)
    related: list[Location] = []
    for one, candidate in zip(found, candidates, strict=True):
        if not here:
            related.append(one.location._replace(message=f"{candidate.label}: {one.message}"))
        related += one.related
    related += [place._replace(message="what is chosen here") for place in places]
    return Finding(
        first.code,
        _message(found, candidates),
        location,
        severity,
        _each_once(related, location),
        first.fix if here and all(one.fix == first.fix for one in found) else None,
    )


def _each_once(related: list[Location], location: Location) -> tuple[Location, ...]:
    """The related places without the one of the finding; of several at the same place the first speaks."""
    kept: dict[tuple[str, int, int], Location] = {}
    for place in related:
        kept.setdefault(place[:3], place)
    kept.pop(location[:3], None)
    return tuple(kept.values())


def _message(found: list[Finding], candidates: tuple[Candidate, ...]) -> str:
    from trl_lint.checks._phrases import before_scope

    message = found[0].message
    labels = [candidate.label for candidate in candidates]
    if len(labels) == 1:
        return before_scope(message, f", with {_listed(labels)}, the only file of that name here")
    if all(one.message == message for one in found):
        return before_scope(message, f"; so with each of the {len(labels)} candidates: {_listed(labels)}")
    return before_scope(message, f" with `{labels[0]}`, and likewise with {_listed(labels[1:])}")


def _listed(labels: list[str]) -> str:
    more = f" and {len(labels) - _MOST_LABELS} more" if len(labels) > _MOST_LABELS else ""
    return ", ".join(f"`{label}`" for label in labels[:_MOST_LABELS]) + more


def _place(finding: Finding) -> tuple[str, str, int, int]:
    return (finding.code, *finding.location[:3])


def _mark(finding: Finding) -> tuple[object, ...]:
    return (*_place(finding), *_subject(finding))


def _subject(finding: Finding) -> tuple[str, ...]:
    """What a finding is about, apart from the values that differ from candidate to candidate."""
    return (finding.code, *(name for name in _NAME.findall(finding.message) if not _FILE.search(name)))
