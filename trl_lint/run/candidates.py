"""Runs that may be one of several: a variable that branches set, a loop over configs, a name that fits several files.

Each candidate is a run of its own, with nothing left to choose, so whoever asks it gets plain answers. What is true of
every candidate is true of the run; what is true of some is not said.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping
from itertools import product

from trl_lint import budget
from trl_lint.finding import Location
from trl_lint.project.launch import Launch
from trl_lint.records import NamedTuple
from trl_lint.run.inputs import Link, LinkKind
from trl_lint.run.runs import Run, remember
from trl_lint.sources.shell import Command, Word
from trl_lint.sources.shell_options import MOST_OPTIONS, Each, decided, decisions_of, guesses_of, is_guess

# The variable that decides how a run is placed, beside the words of its command and the variables of its program.
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_LONGEST = 40  # characters of a label
_MOST_PARTS = 4  # parts of a label; dots stand for the others
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
