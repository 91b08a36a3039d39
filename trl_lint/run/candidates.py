"""Runs that may be one of several: a variable that branches set, a loop over configs, a name that fits several files.

Each candidate is a run of its own, with nothing left to choose, so whoever asks it gets plain answers. What is true of
every candidate is true of the run; what is true of some is not said.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import product

from trl_lint import budget
from trl_lint.finding import Location
from trl_lint.memos import per_project
from trl_lint.paths import MARKDOWN
from trl_lint.project import Project
from trl_lint.project.carried import with_carried
from trl_lint.project.launch import Launch
from trl_lint.project.launches import command_sources
from trl_lint.project.links import linked_files
from trl_lint.project.starters import files_naming
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.inputs import Link, LinkKind
from trl_lint.run.runs import Run, remember
from trl_lint.sources import Source, SourceError
from trl_lint.sources.shell import Command, Word, commands
from trl_lint.sources.shell_options import MOST_OPTIONS, Each, decided, decisions_of, guesses_of, is_guess

# The variable that decides how a run is placed, beside the words of its command and the variables of its program.
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_LONGEST = 40  # characters of a label
_MOST_PARTS = 4  # parts of a label; dots stand for the others
_HANDED_ON = frozenset({"$@", '"$@"', "$*", '"$*"', "${@}", '"${@}"'})
_TAKEN_OFF = regex(r"\bshift\b|\bset[ \t]+--|\bgetopts\b")  # then it is not all that was given
_STARTS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "sbatch", "qsub", "source", "."})
_MOST_CALLS = 20
_MOST_ROUNDS = 100  # values that one command tries, all together


class Candidate(NamedTuple):
    """One of the runs that a run may be.

    `label`: what sets it apart, as far as it can be named in a few words. `places`: the words that choose. `is_guess`:
    something outside of the project may make it another one: a variable that has a default here, a part of a name.
    `is_default`: it is a default and nothing else.
    """

    run: Run
    label: str
    places: tuple[Location, ...]
    is_guess: bool
    is_default: bool = False


class _Choice(NamedTuple):
    """A candidate before it has a name: what its words are, and which files it takes."""

    run: Run
    texts: tuple[str, ...]
    paths: tuple[str, ...]
    places: tuple[Location, ...]
    is_guess: bool
    is_default: bool


def candidates_of(run: Run, defaults: bool = False) -> tuple[Candidate, ...]:
    """All that a run may be, at most `MOST_OPTIONS`; empty where there is nothing to choose, or too much.

    With `defaults` the variables of the caller are taken for unset, so that `${V:-8}` is 8; empty where there are none.
    """
    if run.origin is not None or (defaults and not guesses_of(words_of(run.launch.command))):
        return ()
    commands = list(_decided_commands(run.launch.command, defaults))
    found: list[_Choice] = []
    for ways, command in commands:
        found += _of_command(run, ways, command, MOST_OPTIONS // len(commands))
    if len(found) < 2 and not any(one.is_guess for one in found):
        return ()
    for one in found:
        remember(one.run)
    return tuple(
        Candidate(one.run, label, one.places, one.is_guess, one.is_default)
        for one, label in zip(found, _labels(run, found), strict=True)
    )


def rounds_of(run: Run) -> tuple[Candidate, ...]:
    """The runs with each value of what is tried one after the other, while all else that is open stays so."""
    if run.origin is not None:
        return ()
    command = run.launch.command
    tried = [(one, ways) for one, ways in decisions_of(words_of(command)).items() if isinstance(one, Each)]
    rounds: list[dict[int, int]] = [{one: way} for one, ways in tried for way in sorted(ways)]
    if len(rounds) > _MOST_ROUNDS:
        budget.limit(_MOST_ROUNDS, "of the values that a command tries, those behind the first {} were not looked at")
        del rounds[_MOST_ROUNDS:]
    found = [one for ways in rounds for one in _of_command(run, ways, _with(command, ways), 1)]
    for one in found:
        remember(one.run)
    return tuple(
        Candidate(one.run, ", ".join(map(_shortened, one.texts)), one.places, False) for one in found if one.texts
    )


def calls_of(run: Run) -> tuple[Candidate, ...]:
    """The runs that the calls of a shell script, or of the function around a command, make of its `"$@"`."""
    from trl_lint.project.launch_reader import launch_of

    command, source = run.launch.command, run.launch.source
    at = next((index for index, word in enumerate(command.words) if word.raw in _HANDED_ON), None)
    if run.origin is not None or at is None or source.language != "shell" or _TAKEN_OFF.search(source.text):
        return ()
    found: dict[tuple[str | None, ...], Candidate] = {}
    for words, place in _calls(command, source, run.project):
        texts = tuple(word.text for word in words)
        if texts in found or not texts:
            continue
        if len(found) == _MOST_CALLS:
            budget.limit(_MOST_CALLS, "of the calls of a script, those behind the first {} were not looked at")
            break
        hole, one = command.words[at], copy.copy(command)
        if place.path != source.path:
            words = tuple(word._replace(start=hole.start, end=hole.end) for word in words)
        one.words = (*command.words[:at], *words, *command.words[at + 1 :])
        launch = launch_of(one, source)
        if launch is not None:
            launch.is_documentation, launch.scheduler = run.launch.is_documentation, run.launch.scheduler
            launch.candidates = launch.candidates or run.launch.candidates
            label = _shortened(" ".join(text or "?" for text in texts))
            found[texts] = Candidate(Run(launch, run.project, run), label, (place,), False)
            remember(found[texts].run)
    return tuple(found.values())


def _calls(command: Command, source: Source, project: Project) -> Iterator[tuple[tuple[Word, ...], Location]]:
    """The words behind each call, and where it stands: of the function around a command, else of its file."""
    if command.function:
        for call in commands(source):
            if call.words and call.words[0].text == command.function != call.function:
                yield call.words[1:], source.location(call.start, call.end)
        return
    yield from _calls_of_file(source.path, project)


@per_project
def _calls_of_file(script: str, project: Project) -> list[tuple[tuple[Word, ...], Location]]:
    name, calls = os.path.basename(script), []
    given = re.escape(name).encode(errors="replace") + rb"[\"'`]?,?[ \t]+[^\s#|;&]"
    for path in files_naming(script, project):
        with suppress(OSError, SourceError):
            if path.endswith(MARKDOWN) or not project.files.fits(path, given):
                continue
            for other, found, is_shown in command_sources(project.files.get(path), name):
                for call in with_carried(found, other.text) if not is_shown else ():
                    at = _script_in(call.words, name)
                    if at is not None and script in linked_files(call.words[at].text or "", other, call.directory):
                        calls.append((call.words[at + 1 :], other.location(call.start, call.end)))
    return calls


def _script_in(words: tuple[Word, ...], name: str) -> int | None:
    """The word of a command by which it starts a shell script of that name."""
    index = next((at for at, word in enumerate(words) if os.path.basename(word.text or "") == name), None)
    is_started = index == 0 or any(os.path.basename(word.text or "") in _STARTS for word in words[:index])
    return index if is_started else None


def words_of(command: Command) -> list[Word]:
    """The words that decide what a command starts, with those of its variables."""
    return [*command.words, *(word for _, word in command.assignments), *_surroundings(command)]


def _decided_commands(command: Command, defaults: bool) -> Iterator[tuple[Mapping[int, int], Command]]:
    """The command for each way through the decisions its words hang on; as it is where they hang on none."""
    found = decisions_of(words_of(command))
    decisions = _bounded({one: ways for one, ways in found.items() if defaults or not is_guess(one)})
    if not decisions:
        yield {}, command
        return
    seen = set()
    for ways in product(*decisions.values()):
        taken = dict(zip(decisions, ways, strict=True))
        one = _with(command, taken)
        texts = tuple(word.text for word in words_of(one))
        if texts not in seen:
            seen.add(texts)
            yield taken, one


def _with(command: Command, taken: Mapping[int, int]) -> Command:
    """The command when these ways are taken."""
    one = copy.copy(command)
    one.words = tuple(part for word in command.words for part in decided(word, taken))
    one.assignments = tuple((name, decided(word, taken)[0]) for name, word in command.assignments)
    one.env = command.env.decided(taken)
    return one


def _surroundings(command: Command) -> list[Word]:
    from trl_lint.knowledge.families import process_variables

    return [word for name in (_VISIBLE, *process_variables()) if (word := command.env.get(name)) is not None]


def _bounded(decisions: dict[int, set[int]]) -> dict[int, list[int]]:
    """The decisions with the fewest ways, as long as all of them together stay within the bound."""
    kept: dict[int, list[int]] = {}
    size = 1
    for decision, ways in sorted(decisions.items(), key=lambda item: len(item[1])):
        size *= len(ways)
        if size > MOST_OPTIONS:
            break
        kept[decision] = sorted(ways)
    return kept


def _of_command(run: Run, ways: Mapping[int, int], command: Command, most: int) -> Iterator[_Choice]:
    from trl_lint.project.launch_reader import launch_of

    launch = run.launch
    if ways:
        read = launch_of(command, launch.source)
        if read is None:
            read = copy.copy(launch)  # nothing is known of what it starts
        read.is_documentation, read.scheduler = launch.is_documentation, launch.scheduler
        launch = read
    chosen = [word for word in run.launch.command.words if word.options and decided(word, ways) != (word,)]
    choices = _files(Run(launch, run.project, run), most)
    for paths in product(*(link.paths for link in choices)):
        files: dict[LinkKind, str] = {link.kind: path for link, path in zip(choices, paths, strict=True)}
        one = Run(_with_script(launch, files.get("script")), run.project, run, files)
        named = any(link.word.text is None for link in choices)
        words = [*chosen, *(link.word for link in choices)]
        yield _Choice(
            one,
            tuple(" ".join(part.text or "?" for part in decided(word, ways)) for word in chosen),
            paths,
            tuple(dict.fromkeys(run.launch.source.location(word.start, word.end) for word in words)),
            named or any(map(is_guess, ways)),
            not named and any(map(is_guess, ways)),
        )


def _files(run: Run, most: int) -> list[Link]:
    """The links of a run that lead to several files, as long as all of them together stay within a bound."""
    found: list[Link] = []
    for link in sorted(run.links, key=lambda link: len(link.paths)):
        if link.status == "candidates" and not link.word.options and len(link.paths) <= most:
            most //= len(link.paths)
            found.append(link)
    return found


def _with_script(launch: Launch, path: str | None) -> Launch:
    one = copy.copy(launch)
    if path is not None:
        one.candidates = (path,)
    return one


def _labels(run: Run, found: list[_Choice]) -> Iterator[str]:
    """What the candidates differ in, each in a few words; all that is chosen where there is only one."""
    rows = [
        (*map(_shortened, one.texts), *(_short_path(path, run.project.root) for path in one.paths)) for one in found
    ]
    same = len(set(map(len, rows))) == 1
    for row in rows:
        differing = [text for index, text in enumerate(row) if not same or len({other[index] for other in rows}) > 1]
        shown = [text for text in dict.fromkeys(differing or row) if text]
        yield ", ".join(shown[:_MOST_PARTS]) + (", ..." if len(shown) > _MOST_PARTS else "") or "nothing"


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _short_path(path: str, root: str) -> str:
    """A path from the root; of a long one the end, where files differ."""
    text = os.path.relpath(path, root).replace(os.sep, "/")
    return text if len(text) <= 2 * _LONGEST else f"...{text[3 - 2 * _LONGEST :]}"
