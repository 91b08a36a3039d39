"""Whether a symptom fits a failure: its message, its frames, the rest of the log, and what ran."""

from __future__ import annotations

import re
from functools import lru_cache

from trl_lint.diagnose.failures import Failure, Note
from trl_lint.diagnose.project import Answer, Place, ProjectEvidence, version_answer
from trl_lint.diagnose.raiser import raised_by
from trl_lint.knowledge.symptoms import Symptom
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_WARNS = regex(r"\b\w{0,40}Warning: |\bWARN(?:ING)?\b|[Dd]eprecated")
_NAME = regex(r"[`'](\w{1,80})[`']")
_SHORTEST_NAME = 4
_HOLE = regex(r"\{([^{}]{1,80})\}")
NO_TRACEBACK = "the log has no traceback"


class Context(NamedTuple):
    """What is known when symptoms are judged. `failure` is None where the log reports none."""

    failure: Failure | None
    notes: list[Note]
    versions: dict[str, str]
    project: ProjectEvidence | None


class Seen(NamedTuple):
    """A line of the log."""

    number: int
    text: str


class Match(NamedTuple):
    """A symptom that fits as far as is known.

    `open` says what would have to be true besides; `against` what speaks against it: then it is not the cause. `part`
    is the exception of the chain that the pattern matches, `line` and `text` the line of the log it matches there,
    `said` the last line of the message that it matches.
    """

    symptom: Symptom
    values: dict[str, str]
    seen: tuple[Seen, ...]
    reasons: tuple[str, ...]
    places: tuple[Place, ...]
    open: tuple[str, ...]
    against: str
    part: int = 0
    line: int = 0
    text: str = ""
    said: str = ""

    def filled(self, text: str) -> str:
        """A text of the symptom, with what the groups of the pattern hold."""
        return _HOLE.sub(lambda hole: self._filling(hole[1].split("|")), text)

    def _filling(self, names: list[str]) -> str:
        return next((self.values[name] for name in names if name in self.values), names[-1])

    @property
    def is_sure(self) -> bool:
        """Whether what was looked for is there, and makes the cause likely."""
        return self.symptom.likelihood == "likely" and not self.open and not self.against

    @property
    def weight(self) -> int:
        """How much of the failure the symptom explains; among equals the more particular one is better."""
        asked = len(self.symptom.frames) + bool(self.symptom.last) + bool(self.symptom.raised) + len(self.symptom.log)
        return len(self.reasons) + asked


@lru_cache(maxsize=2048)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def match(symptom: Symptom, context: Context) -> Match | None:
    """How a symptom fits, None if its pattern or its frames do not."""
    found = _find(symptom, context)
    if found is None:
        return None
    values, seen = found
    failure = context.failure
    lines = [note.text for note in context.notes]
    missing: list[str] = []
    reasons: list[str] = []
    if failure is not None:
        frames = [frame.text for frame in failure.frames]
        everything = [*frames, failure.text, *lines]
        for pattern in symptom.frames:
            if not any(_compiled(pattern).search(frame) for frame in frames):
                if frames:
                    return None
                missing.append(NO_TRACEBACK)
        if symptom.last:
            innermost = failure.innermost
            if innermost is None:
                missing.append(NO_TRACEBACK)
            elif not _compiled(symptom.last).search(innermost.text):
                return None
        if symptom.lone and any(
            note.rank not in (None, failure.rank) and _compiled(symptom.pattern).search(note.text)
            for note in context.notes
        ):
            return None
        if symptom.raised and raised_by(failure).who != symptom.raised:
            return None
        if symptom.fallback and NO_TRACEBACK in missing:
            return None
    else:
        everything = lines
    if any(_compiled(pattern).search(text) for pattern in symptom.without for text in everything):
        return None
    for pattern in symptom.log:
        note = next((n for n in context.notes if _compiled(pattern).search(n.text)), None)
        if note is not None:
            seen.append(Seen(note.number, note.text))
        elif not any(_compiled(pattern).search(text) for text in everything):
            return None
    places: list[Place] = []
    against = ""
    for answer in _answers(symptom, context):
        if answer.held == "yes":
            reasons.append(answer.text)
            places.extend(answer.places)
        elif answer.held == "no":
            against = against or answer.text
            places.extend(answer.places)
        else:
            missing.append(answer.text)
    where = _where(symptom, failure) if symptom.kind == "failure" and failure is not None else (0, 0, "", "")
    still = tuple(dict.fromkeys(missing))
    return Match(symptom, values, tuple(seen), tuple(reasons), tuple(places), still, against, *where)


def _where(symptom: Symptom, failure: Failure) -> tuple[int, int, str, str]:
    """Which exception of a chain a pattern matches, the line of the log with its words, and the last line of them; 0
    and "" if none does.
    """
    pattern = _compiled(symptom.pattern)
    for number, part in enumerate(failure.parts):
        if found := pattern.search(part.text):
            before = part.text.count("\n", 0, found.start())
            lines = part.text.split("\n")
            last = part.text.count("\n", 0, max(found.start(), found.end() - 1))
            return number, part.line_of(before), lines[before][:200], lines[last].strip()[:200]
    return 0, 0, "", ""


def _find(symptom: Symptom, context: Context) -> tuple[dict[str, str], list[Seen]] | None:
    pattern = _compiled(symptom.pattern)
    failure = context.failure
    if symptom.kind == "note":
        for note in context.notes:
            if (found := pattern.search(note.text)) and not _is_beside(note, failure):
                return _values(found), [Seen(note.number, note.text)]
        return None
    if failure is None:
        return None
    found = pattern.search(failure.text)
    if found is None and not symptom.fallback:  # the words of a fallback stand in many a path
        found = next((hit for frame in failure.frames if (hit := pattern.search(frame.text))), None)
    if found is None:
        return None
    values = _values(found)
    if symptom.recorded:
        from trl_lint.diagnose.members import recorded_classes

        if not recorded_classes(values.get("owner", "")):
            return None
    return values, []


def _is_beside(note: Note, failure: Failure | None) -> bool:
    """Whether a line only warns, and of nothing that the failure names: no run ends at a warning."""
    if not _WARNS.search(note.text):
        return False
    names = {name for name in _NAME.findall(note.text) if len(name) >= _SHORTEST_NAME}
    return failure is None or not any(name in failure.text for name in names)


def _values(found: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in found.groupdict().items() if value}


def _answers(symptom: Symptom, context: Context) -> list[Answer]:
    project = context.project
    answers = []
    for name, specifier in symptom.packages.items():
        if project is not None:
            answers.append(project.package(name, specifier))
        elif name in context.versions:
            answers.append(version_answer(name, context.versions[name], specifier, "the log names"))
        else:
            answers.append(Answer("unknown", f"whether {name} {specifier} ran is not known"))
    for name, options in symptom.settings.items():
        if project is not None:
            answers.append(project.setting(name, options))
        else:
            answers.append(Answer("unknown", f"whether `{name}` is {' or '.join(options)} is not known"))
    if symptom.project:
        if project is None:
            answers.append(Answer("unknown", "the project was not given"))
        else:
            answers.append(project.mentions(symptom.project))
    return answers
