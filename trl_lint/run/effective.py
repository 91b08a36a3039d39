"""Effective values: what a field is in a run, and the place that set it.

Later layers win: the default of the dataclass, the recipe, the command line, the script. A layer that may set a field
in a way that cannot be read makes its value unknown; it is never skipped.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from trl_lint.coverage import Reason
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.python.values import literal_of
from trl_lint.records import NamedTuple
from trl_lint.sources.nodes import Mapping, Scalar, Value
from trl_lint.words import is_countable

if TYPE_CHECKING:
    from collections.abc import Callable

    from trl_lint.finding import Location
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.sources.shell import Word

Origin = Literal["default", "recipe", "flag", "script", "accelerate", "launcher", "environment"]

_TRUE = frozenset({"true", "yes", "on", "1", "t", "y"})
_FALSE = frozenset({"false", "no", "off", "0", "f", "n"})


class Setting(NamedTuple):
    """A value and where it was set. `value` is UNKNOWN where the place is known and the value is not.

    `location` is None for a default of a library.
    """

    value: Value | Missing
    origin: Origin
    location: Location | None

    @property
    def is_known(self) -> bool:
        return not isinstance(self.value, Missing)

    @property
    def number(self) -> float | int | None:
        """The value as a number, as argparse would read it; None if it is none or not known."""
        value = self.value
        if isinstance(value, (bool, Missing)):
            return None
        number = as_number(value) if isinstance(value, str) else value
        return number if number is None or is_countable(number) else None

    @property
    def integer(self) -> int | None:
        found = self.number
        return found if isinstance(found, int) else None

    @property
    def truth(self) -> bool | None:
        """The value as a boolean, as HfArgumentParser reads text; None if it is none or not known."""
        if isinstance(self.value, bool):
            return self.value
        return as_bool(self.value) if isinstance(self.value, str) else None


class Unknown(NamedTuple):
    """That nobody can tell what an option is: why, and the place that hides it, None where there is none."""

    reason: Reason
    place: Location | None = None

    def __bool__(self) -> bool:
        return False


# What is said of an option: a value with its place, that nobody can tell, or that certainly nothing sets it.
Said = Setting | Unknown | Literal[Missing.ABSENT]


def without_reason(said: Said) -> Setting | Missing:
    """As somebody takes it who does not ask why nothing is known."""
    return UNKNOWN if isinstance(said, Unknown) else said


def as_number(text: str) -> float | int | None:
    """The number a text is, None if it is none."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def as_bool(text: str) -> bool | None:
    """The truth a text stands for on a command line (`string_to_bool` of transformers), None if it is none."""
    lowered = text.lower()
    return True if lowered in _TRUE else False if lowered in _FALSE else None


def of_flag(launch: Launch, name: str) -> Setting | Missing:
    """What the command line says about a field of a dataclass: `--x v`, `--x=v`, `--x` alone, `--no_x`."""
    return of_words(launch.flag, name, lambda word: word.start, lambda word: _place(launch, word))


def of_words(
    flag: Callable[[str], Word | Missing],
    name: str,
    order: Callable[[Word], int],
    place: Callable[[Word], Location],
) -> Setting | Missing:
    """As `of_flag`, of words that `flag` gives by the name of a flag; the last of them in `order` counts."""
    found: Setting | Missing = ABSENT
    last = -1
    for spelling in _spellings(name):
        word = flag(spelling)
        if word is UNKNOWN:
            return UNKNOWN
        if not isinstance(word, Missing) and (at := order(word)) > last:
            found, last = _setting_of_word(word, spelling, place(word)), at
    return found


def _place(launch: Launch, word: Word) -> Location:
    return launch.source.location(word.start, word.end)


@lru_cache(maxsize=4096)
def _spellings(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}", f"--no_{name}")))


def _setting_of_word(word: Word, spelling: str, location: Location) -> Setting:
    if word.text is None:
        return Setting(UNKNOWN, "flag", location)
    if word.text == spelling:
        return Setting(not spelling.startswith("--no_"), "flag", location)
    return Setting(word.text, "flag", location)


def of_document(document: Document, path: str, origin: Origin = "recipe") -> Setting | Missing:
    """What a config document says about a dotted key."""
    node: object = document.root
    entry = None
    for name in path.split("."):
        if not isinstance(node, Mapping):
            return ABSENT
        entry = node.entry(name)
        if entry is None:
            return ABSENT
        node = entry.value
    if entry is None:
        return ABSENT
    value: Value | Missing = UNKNOWN
    if isinstance(entry.value, Scalar) and not entry.value.tag and "${" not in str(entry.value.value):
        value = entry.value.value
    return Setting(value, origin, document.place(entry))


@lru_cache(maxsize=4096)
def of_default(text: str | None) -> Setting | Missing:
    """The default of a library, as the histories spell it: a literal, or an expression between backquotes."""
    if text is None or text.startswith("`"):
        return UNKNOWN
    try:
        value = literal_of(text)
    except (ValueError, SyntaxError):
        return UNKNOWN
    return Setting(value if isinstance(value, (str, int, float, bool, type(None))) else UNKNOWN, "default", None)
