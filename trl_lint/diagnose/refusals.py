"""A message with which a release refuses the arguments of a config or a trainer: which, and under what condition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from trl_lint.diagnose.dating import package_of, shown
from trl_lint.diagnose.failures import Failure
from trl_lint.diagnose.templates import Template, plain
from trl_lint.knowledge.conditions import PACKAGES, Refusal, refusals
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_FEWEST_LETTERS = 24
_HOLE = regex(r"\{([^{}]*)\}")
_FIELD = regex(r"[a-z_]\w*(?:\.[a-z_]\w*)*$")
_NAMES = regex(r"(?<![\w.'\"])[a-z_]\w*(?![\w('\"])")
_WORDS = frozenset({"and", "or", "not", "in", "is", "if", "else", "for", "arg", "self", "_"})
_MOST_FIELDS = 5
_LONGEST_CONDITION = 160
_LONGEST_VALUE = 200


class Refused(NamedTuple):
    """What was refused. `values` are the fields that the message fills in, with what it says of them; `names` the
    classes that the traceback tells of, all of them where it tells of none.
    """

    package: str
    refusal: Refusal
    values: tuple[tuple[str, str], ...]
    names: tuple[str, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """The arguments that the conditions ask about, those of the message first."""
        told = [name for name, _ in self.values]
        for condition in self.refusal.conditions:
            told += [name for name in _NAMES.findall(condition) if name not in _WORDS]
        return tuple(dict.fromkeys(told))[:_MOST_FIELDS]

    @property
    def longest(self) -> str:
        """The longest piece of the sentence that is the same whatever the values are."""
        message = self.refusal.sentence.partition(": ")[2].removesuffix("…")
        return max(_HOLE.split(message)[::2], key=len).strip()

    @property
    def why(self) -> str:
        """Who refuses, in which releases, and under what condition, in words."""
        names = " and ".join(self.names[:3]) + (" and others" if len(self.names) > 3 else "")
        verb = "refuse" if len(self.names) > 1 else "refuses"
        found = [f"{names} of {shown(self.package, self.refusal.spans)} {verb} this"]
        plain = [text for text in self.refusal.conditions if "_" not in re.findall(r"\b_\b", text)]
        if len(plain) == 1 and len(plain[0]) <= _LONGEST_CONDITION and plain[0] != "True":
            found.append(f"where `{plain[0]}`")
        if self.values:
            found.append("here " + ", ".join(f"`{name}` is {value}" for name, value in self.values))
        return ", ".join(found)


def refused_by(failure: Failure) -> Refused | None:
    """What refused its arguments with the message of a failure; None if no release does so with these words."""
    return next(all_refused_by(failure), None)


def all_refused_by(failure: Failure) -> Iterator[Refused]:
    """Each sentence that the message of a failure may be, the longest first: other releases may have it in others."""
    package = package_of(failure)
    for part in reversed(failure.parts):
        text = plain(f"{part.exception.rpartition('.')[2]}: {part.message}")
        for name in (package,) if package in PACKAGES else () if package else PACKAGES:
            for template, holes, refusal in _templates(name):
                told = template.fillings(text)
                if told is not None:
                    filled = {hole: value.strip() for hole, value in zip(holes, told, strict=True)}
                    values = [
                        pair for pair in filled.items() if _FIELD.match(pair[0]) and len(pair[1]) <= _LONGEST_VALUE
                    ]
                    yield Refused(name, refusal, tuple(values), _meant(refusal.names, failure))


def _meant(names: tuple[str, ...], failure: Failure) -> tuple[str, ...]:
    """The classes among `names` whose module or name is in the frames of a failure; all of them if none is."""
    frames = "\n".join(frame.text for frame in failure.frames)
    modules = {name: re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", name).lower() for name in names}
    return tuple(name for name in names if f"/{modules[name]}.py" in frames or f"{name}(" in frames) or names


@cache
def _templates(package: str) -> tuple[tuple[Template, tuple[str, ...], Refusal], ...]:
    """Each sentence with what fills its holes; the longest one first."""
    found = []
    for refusal in sorted(refusals(package), key=lambda one: -len(one.sentence)):
        sentence = refusal.sentence
        pieces = _HOLE.split(sentence.removesuffix("…"))
        fixed, holes = pieces[::2], tuple(pieces[1::2])
        message = sentence.partition(": ")[2]
        if len(re.sub(r"\W", "", _HOLE.sub("", message))) >= _FEWEST_LETTERS:
            is_whole = not sentence.endswith("…") and bool(fixed[-1])
            found.append((Template.of(fixed, is_whole), holes, refusal))
    return tuple(found)
