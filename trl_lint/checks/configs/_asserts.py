"""Checks that a program makes of its own settings at start, one small function each, with the releases that have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from trl_lint.checks.verdict import Level, Verdict, judge
from trl_lint.finding import Fix, Location, Severity
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.ranges import holds
from trl_lint.project.launches import Launch
from trl_lint.project.stack import Choices
from trl_lint.records import NamedTuple
from trl_lint.sources.shell import Word


class UnknownValueError(Exception):
    """A check asked for a value that nobody knows."""


class AbsentSettingError(UnknownValueError):
    """A check asked for a setting that the release does not have."""


class Values:
    """The settings of a run in a release. `read` gives a value or raises UnknownValueError; what is asked is noted.

    `is_open`: arguments from outside may give what the command does not.
    """

    def __init__(self, read: Callable[[str], Any], is_open: bool = False) -> None:
        self._read = read
        self.is_open = is_open
        self.asked: dict[str, None] = {}

    def __call__(self, key: str) -> Any:
        self.asked[key] = None
        return self._read(key)

    def has(self, key: str) -> bool:
        """Whether the release has the setting at all."""
        try:
            self(key)
        except AbsentSettingError:
            return False
        except UnknownValueError:
            return True
        return True

    def number(self, key: str) -> int:
        """A whole number."""
        value = self(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise UnknownValueError
        return value

    def flag(self, key: str) -> bool:
        value = self(key)
        if not isinstance(value, bool):
            raise UnknownValueError
        return value

    def text(self, key: str) -> str:
        value = self(key)
        if not isinstance(value, str):
            raise UnknownValueError
        return value


Check = Callable[[Values], "str | None"]


class Assertion(NamedTuple):
    """A check and the releases that make it: what is wrong in words, None where the program is content.

    `stops`: False where the program goes on.
    """

    releases: str
    check: Check
    stops: bool = True


class Problem(NamedTuple):
    """Something wrong in a command: where, what, how severe, the other places that it rests on, and how to mend it."""

    location: Location
    message: str
    severity: Severity
    related: tuple[Location, ...]
    fix: Fix | None = None


class Broken(NamedTuple):
    """An assertion that fails in the releases in use; `keys`: the settings it looked at, `stops` as it says itself."""

    message: str
    verdict: Verdict
    keys: tuple[str, ...]
    stops: bool = True


def evaluate(assertion: Assertion, version: str, values: Values | None) -> tuple[str | None, bool]:
    """(what is wrong, whether that is known) in a release."""
    if not holds(assertion.releases, version):
        return None, True
    if values is None:
        return None, False
    try:
        return assertion.check(values), True
    except (UnknownValueError, ZeroDivisionError):
        return None, False


def broken(
    assertions: Sequence[Assertion],
    package: str,
    choices: Choices,
    values_in: Callable[[str], Values | None],
    level: Level,
) -> Iterator[Broken]:
    """The assertions that fail in the releases of a package in use."""
    if package not in choices:
        return
    newest = choices[package].newest
    points = {package: frozenset(range(len(releases(package))))}
    for assertion in assertions:
        values = values_in(newest)
        message, _ = evaluate(assertion, newest, values)
        if message is None or values is None:
            continue

        def ask(versions: dict[str, str], assertion: Assertion = assertion) -> bool | None:
            found, is_known = evaluate(assertion, versions[package], values_in(versions[package]))
            return found is None if is_known else None

        told = level._replace(stops=level.stops and assertion.stops)
        verdict = judge(choices, points, ask, told, package, may_be_new=len(values.asked) == 1)
        if verdict is not None:
            yield Broken(message, verdict, tuple(values.asked), assertion.stops)


def is_release(choices: Choices, package: str) -> bool:
    """Whether the project is the package itself, at a release: then its code is the code of that release."""
    if package not in choices:
        return False
    chosen = choices[package]
    return chosen.package.is_own and len(chosen.releases) == 1 and chosen.complete and not chosen.between


def places(
    keys: Sequence[str],
    words: Mapping[str, Word],
    launch: Launch,
    place: Callable[[Word], Location] | None = None,
    message: str = "",
) -> tuple[Location, tuple[Location, ...]]:
    """Where a finding about several settings stands: at the first that its `message` names and the command gives, else
    at the last that it gives; the others beside it. How many GPUs there are, and the size of a group, come last.

    `place` says where a word stands, of which not all need be those of the command.
    """
    given = sorted({words[key] for key in keys if key in words}, key=lambda word: word.start)
    if not given:
        return program_place(launch), ()
    locations = {
        word: place(word) if place is not None else launch.source.location(word.start, word.end) for word in given
    }
    named = _named_first(keys, words, launch, message)
    main = words[named] if named else given[-1]
    others = (location for word, location in locations.items() if word is not main)
    return locations[main], tuple(location._replace(message="together with this") for location in others)


def _named_first(keys: Sequence[str], words: Mapping[str, Word], launch: Launch, message: str) -> str:
    """The first key of a command that a message names, "" where it names none."""
    from trl_lint.knowledge.families import family_of, framework_of

    family = family_of(framework_of(launch.program, launch.subcommand, launch.module))
    settings = family.settings if family is not None else None
    last = (settings.processes, settings.nodes, settings.group) if settings is not None else ()
    behind = {name for held in last for name in held.names}
    found = [(key in behind, message.find(f"`{key}`"), key) for key in dict.fromkeys(keys) if key in words]
    return min((one for one in found if one[1] >= 0), default=(False, 0, ""))[2]


def program_place(launch: Launch) -> Location:
    """The module that a command starts, or the whole command."""
    word = next((word for word in launch.command.words if launch.module and word.text == launch.module), None)
    return launch.source.location(word.start, word.end) if word is not None else launch.location
