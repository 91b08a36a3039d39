"""What a run saw of training, and how much of that it could judge: silence about the rest is no all-clear.

A training command, a config or an argument object counts as understood where an option, a key or a keyword that nobody
has ever heard of would be told. The rules that tell such names answer that (`Rule.knows_launch` and its kin), from the
same readings as they judge by. A training loop that is written by hand has no such names, and is never understood.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from trl_lint.finding import Location
from trl_lint.records import NamedTuple
from trl_lint.words import counted, listed

What = Literal["command", "config", "object", "loop", "example"]
Reason = Literal[
    "entry point is not known",
    "release is not known",
    "parser could not be read",
    "configuration could not be read",
    "command could not be read to its end",
    "script not found",
    "file not found",
    "names come from outside",
    "unknown names are passed over",
    "the project has a copy of its own",
    "something rewrites it",
    "the code asks for the release itself",
    "nobody is known who reads it",
    "not a kind of config that is known",
    "keys of this kind are not checked",
    "broken",
    "a part of the command is not known",
    "it is no plain value where it is set",
    "its default is not recorded",
    "what the framework calls it is not known",
    "no command here starts this script",
    "it is written by hand",
]

NOT_KNOWN: Reason = "entry point is not known"
NO_RELEASE: Reason = "release is not known"
PARSER: Reason = "parser could not be read"
CONFIGURATION: Reason = "configuration could not be read"
CUT: Reason = "command could not be read to its end"
NO_SCRIPT: Reason = "script not found"
NO_FILE: Reason = "file not found"
OUTSIDE: Reason = "names come from outside"
PASSED: Reason = "unknown names are passed over"
COPY: Reason = "the project has a copy of its own"
REWRITTEN: Reason = "something rewrites it"
GUARDED: Reason = "the code asks for the release itself"
NO_READER: Reason = "nobody is known who reads it"
NO_KIND: Reason = "not a kind of config that is known"
NO_KEYS: Reason = "keys of this kind are not checked"
BROKEN: Reason = "broken"
# Of one option of a command that is understood (`Unknown` in `run/effective.py`).
HIDDEN: Reason = "a part of the command is not known"
NOT_PLAIN: Reason = "it is no plain value where it is set"
NO_DEFAULT: Reason = "its default is not recorded"
UNMAPPED: Reason = "what the framework calls it is not known"
BY_HAND: Reason = "it is written by hand"  # of a training loop: it has no names that anybody could know
NO_FLAG: tuple[Reason, ...] = (PARSER, NO_SCRIPT)  # where the words of the command are known all the same
NOT_STARTED: Reason = "no command here starts this script"

MADE_UP = "trl_lint_made_this_up"  # no release of anything has such an option

_NOUNS: dict[What, tuple[str, str]] = {
    "command": ("training command", "command"),
    "config": ("config", "config"),
    "object": ("argument object", "object"),
    "loop": ("training loop", "loop"),
    "example": ("command in documents", "command"),
}
EXAMPLE: What = "example"  # a training command that a document shows: judged, but nobody may start it
# How a sentence about an entry point goes on, by the reason. A command "starts" it, a config or an object "is" one.
_CLAUSES: dict[Reason, str] = {
    NOT_KNOWN: "which is not known",
    NO_RELEASE: "of a release that is not known",
    PARSER: "whose parser could not be read",
    CONFIGURATION: "whose configuration could not be read",
    CUT: "with words that could not be read",
    NO_SCRIPT: "which is not in this project",
    NO_FILE: "with a file that was not found",
    OUTSIDE: "with names from elsewhere",
    PASSED: "which passes over names that it does not know",
    COPY: "of which the project has a copy of its own",
    GUARDED: "behind a test of the release",
    REWRITTEN: "which something rewrites",
    NO_READER: "of which no reader is known",
    NO_KIND: "of no kind that is known",
    NO_KEYS: "of a kind whose keys are not checked",
    BROKEN: "which cannot be read",
    HIDDEN: "of which a part is not known",
    NOT_PLAIN: "whose values are not plain",
    NO_DEFAULT: "whose defaults are not recorded",
    UNMAPPED: "whose options are not known",
    NOT_STARTED: "which no command here starts",
    BY_HAND: "which is written by hand",
}
# What the reader can do about it, where that is not told elsewhere.
_STEPS: dict[Reason, str] = {
    PARSER: "; write the names and classes that its parser takes out in the script to have them checked",
}
_LEFT: dict[What, str] = {"command": "options", "config": "keys", "object": "keywords", "example": "options"}


KINDS: tuple[What, ...] = tuple(_NOUNS)


class Judged(NamedTuple):
    """That something could be judged; by which release (`trl 0.15.2`, "" if by none), and the place that pins it."""

    release: str = ""
    pin: Location | None = None


# What a rule says of a command, a document or a call; None where it is none that the rule judges.
Answer = Judged | Reason | None


class Seen(NamedTuple):
    """One training command, config or argument object. `reason`: why it could not be judged, "" if it could.

    `entry`: what it is known by: the program with its subcommand, the module, the script, the kind of document, the
    class. `release`, `pin`: as in `Judged`.
    """

    what: What
    entry: str
    reason: Reason | Literal[""]
    location: Location
    release: str = ""
    pin: Location | None = None


def seen(what: What, entry: str, answer: Judged | Reason, location: Location) -> Seen:
    """One of them, by what the rules say of it."""
    if isinstance(answer, Judged):
        return Seen(what, entry, "", location, answer.release, answer.pin)
    return Seen(what, entry, answer, location)


def once(found: Iterable[Seen]) -> tuple[Seen, ...]:
    """Each of them once; of a config that is seen as what it is and as what a command reads, what was understood."""
    kept: dict[tuple[What, Location], Seen] = {}
    for one in found:
        before = kept.get((one.what, one.location))
        if before is None or (before.reason and not one.reason):
            kept[one.what, one.location] = one
    return tuple(kept.values())


class Entry(NamedTuple):
    """What is not understood for one reason at one entry point; `first` is where it is seen first."""

    what: What
    entry: str
    reason: Reason | Literal[""]
    number: int
    first: Location


class Coverage(NamedTuple):
    """What a run over `files` files saw. `is_counted`: the rules that can tell were asked.

    `is_concerned`: at least one of the files holds something that some rule looks at.
    """

    files: int
    seen: Sequence[Seen] = ()
    is_counted: bool = False
    is_concerned: bool = True

    def number(self, what: What, is_understood: bool | None = None) -> int:
        """How many there are of a kind; of those that were understood, or were not, if that is asked."""
        return sum(one.what == what and (is_understood in (None, not one.reason)) for one in self.seen)

    @property
    def is_complete(self) -> bool:
        """Whether something was understood, and everything was that is more than shown."""
        return any(not one.reason for one in self.seen) and not any(
            one.reason for one in self.seen if one.what != EXAMPLE
        )

    @property
    def understood(self) -> str:
        """`3 of 14 training commands and 2 configs understood`, `3 training commands` if all are, "" without any.

        Of the commands that documents show, those that were understood are counted apart: findings may rest on them.
        """
        kinds = [(what, self.number(what), self.number(what, True)) for what in _NOUNS if what != EXAMPLE]
        kinds = [kind for kind in kinds if kind[1]]
        if all(number == known for _, number, known in kinds):
            text = listed([counted(number, _NOUNS[what][0]) for what, number, _ in kinds])
        else:
            parts = [f"{known} of {counted(number, _NOUNS[what][0])}" for what, number, known in kinds]
            text = f"{listed(parts)} understood"
        shown = self.number(EXAMPLE, True)
        return ", and ".join(filter(None, [text, f"{counted(shown, 'command')} in documents" if shown else ""]))

    @property
    def releases(self) -> list[tuple[str, Location | None]]:
        """The releases by which something was judged, with their pins, the one that decided most often first."""
        judged = [one for one in self.seen if one.release and not one.reason]
        judged = [one for one in judged if one.what != EXAMPLE] or judged
        found = Counter((one.release, one.pin) for one in judged)
        return [release for release, _ in found.most_common()]

    def entries(self) -> list[Entry]:
        """All that was seen, by entry point and reason: first what was not understood, the most frequent first."""
        groups: dict[tuple[What, str, str], list[Seen]] = {}
        for one in self.seen:
            groups.setdefault((one.what, one.entry, one.reason), []).append(one)
        found = [Entry(*key, len(ones), ones[0].location) for key, ones in groups.items()]  # type: ignore[arg-type]
        order = list(_NOUNS)
        return sorted(found, key=lambda one: (not one.reason, order.index(one.what), -one.number, one.entry))


def sentence(entry: Entry) -> str:
    """``127 commands start `skyrl.train.main`, which is not known: their options were not checked``."""
    full, noun = _NOUNS[entry.what]
    is_one = entry.number == 1
    if entry.what == "loop":
        verb, whose = ("is", "its") if is_one else ("are", "their")
        start = f"{counted(entry.number, full)} {verb} written by hand in `{entry.entry}`"
        return f"{start}: but for known mistakes, {whose} steps were not checked"
    verb = {"command": "starts" if is_one else "start"}.get(entry.what, "is a" if is_one else "are")
    assert entry.reason
    number = counted(entry.number, noun)
    whose = "its" if is_one else "their"
    left = f"{_CLAUSES[entry.reason]}: {whose} {_LEFT[entry.what]} were not checked{_STEPS.get(entry.reason, '')}"
    return f"{number} {verb} `{entry.entry}`, {left}"


def merged(files: int, found: Iterable[Coverage]) -> Coverage:
    """Several coverages as one."""
    found = list(found)
    return Coverage(
        files,
        once(one for each in found for one in each.seen),
        any(each.is_counted for each in found),
        any(each.is_concerned for each in found),
    )
