"""What argparse makes of a command line, without running the program.

Flags are known from a history (`flags NAME` of `rules/api`) or from the `add_argument` calls of a file. The rules are
those of the standard library (read in 3.10 and 3.14): a flag may be abbreviated as long as only one begins so, values
stand behind it or behind `=`, and a word that nothing takes is refused.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from trl_lint.missing import UNKNOWN
from trl_lint.project.launchers import may_be_several
from trl_lint.python.values import literal_of
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.effective import as_bool, as_number
from trl_lint.sources.shell import Word
from trl_lint.words import read_count

FaultKind = Literal["unknown", "surplus", "missing", "type", "choice"]

_FACT = regex(r" (type|choices|action|nargs|dest|required|const)=(\S+)")
_FLAG_HOLE = regex(r"[\"']?(--[A-Za-z][\w.-]*)=")
# What people write behind a flag that takes nothing; other words there are placeholders of a document.
_IS_VALUE = regex(r"(?i:true|false|yes|no|on|off|none|\d+)\Z")
TRUTH, NUMBER = "truth", "number"
_NEGATIVE = regex(r"-\d+\Z|-\d*\.\d+\Z")


class Flag(NamedTuple):
    """One flag: its default and type, the values it may have (empty: any), how many it takes.

    `least`, `most`: the number of values (`most` None: any number). `default` is UNKNOWN where it is no literal.
    `is_required`: every command has to give it.
    """

    name: str
    default: Any
    type: str
    choices: tuple[Any, ...]
    least: int
    most: int | None
    action: str
    dest: str
    is_required: bool = False


class Fault(NamedTuple):
    """What argparse refuses: a flag nobody declared; a value too many, too few, of another type, or no choice."""

    kind: FaultKind
    flag: str
    word: Word
    flags: Flag | None = None


class Arguments(NamedTuple):
    """The values that a command gives, by the full name of the flag; UNKNOWN where a word is a hole.

    `hidden`: words that nobody knows may give more flags. `words`: the word that names each flag.
    """

    values: dict[str, Any]
    words: dict[str, Word]
    faults: tuple[Fault, ...]
    hidden: bool


@lru_cache(maxsize=4096)
def read_flag(name: str, text: str) -> Flag:
    """A flag from the text of a history: `0.2 type=float nargs=2`."""
    facts = dict(_FACT.findall(text))
    match = _FACT.search(text)
    default = _literal(text[: match.start()] if match else text)
    action = facts.get("action", "store")
    nargs = facts.get("nargs", "")
    least, most = {"*": (0, None), "+": (1, None), "?": (0, 1), "": (1, 1)}.get(nargs, (0, None))
    if (number := read_count(nargs)) is not None:
        least = most = number
    if action not in ("store", "append", "extend"):
        least, most = 0, 0
        if action not in ("store_true", "store_false", "store_const", "append_const", "count", "BooleanOptionalAction"):
            least, most = 0, None  # an action of the program's own may take anything
    choices = _literal(facts["choices"]) if "choices" in facts else ()
    known = tuple(choices) if isinstance(choices, (list, tuple)) else ()
    is_required = facts.get("required") == "True"
    return Flag(name, default, facts.get("type", ""), known, least, most, action, facts.get("dest", ""), is_required)


def _literal(text: str) -> Any:
    try:
        return literal_of(text.strip())
    except (ValueError, SyntaxError):
        return UNKNOWN


def read_arguments(words: Sequence[Word], flags: Mapping[str, Flag]) -> Arguments:
    """Read a command line as argparse does."""
    values: dict[str, Any] = {}
    named: dict[str, Word] = {}
    faults: list[Fault] = []
    hidden = False
    names: list[str] = []  # in order, when a word may be the beginning of one
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        name, given = _head(word)
        if word.text == "--":
            break
        if name is None:
            if word.text is None:
                hidden = True
            continue
        if name not in flags:
            names = names or sorted(flags)
        flag = _flag_of(name, flags, names)
        following = list(_values(words, position))
        if flag is None:
            faults.append(Fault("unknown", name, word))
            position += len(following)
            continue
        if flag is _AMBIGUOUS:
            position += len(following)
            continue
        named[flag.name] = word
        if given is not None:
            taken = [given]
            if flag.most == 0:
                faults.append(Fault("surplus", flag.name, word, flag))
                continue
        else:
            taken = following if flag.most is None else following[: flag.most]
            position += len(taken)
            cut = any(may_be_several(one, at == 0 and flag.most != 0) for at, one in enumerate(following))
            if flag.most == 0 and following and _IS_VALUE.match(following[0].text or ""):
                faults.append(Fault("surplus", flag.name, following[0], flag))
            elif len(taken) < flag.least and not any(map(may_be_several, following)) and not _hole_at(words, position):
                faults.append(Fault("missing", flag.name, word, flag))
            hidden = hidden or cut
        faults += _value_faults(flag, taken)
        values[flag.name] = _value(flag, taken)
    return Arguments(values, named, tuple(faults), hidden)


_AMBIGUOUS = Flag("", None, "", (), 0, None, "", "")


def _head(word: Word) -> tuple[str | None, Word | None]:
    """The flag that a word names, and the value behind its `=`; (None, None) for all other words."""
    if word.text is None:
        name = _name_of_hole(word)
        return (name, word) if name else (None, None)
    if not word.text.startswith("--") or word.text == "--":
        return None, None
    name, equals, value = word.text.partition("=")
    return (name, word._replace(text=value)) if equals else (name, None)


def _name_of_hole(word: Word) -> str:
    """The flag whose value nobody knows: `--lr=$LR`; what is written may be a whole command around the word."""
    match = _FLAG_HOLE.match(word.template or word.raw) if word.template or " " not in word.raw else None
    return match[1] if match is not None else ""


def _flag_of(name: str, flags: Mapping[str, Flag], names: list[str]) -> Flag | None:
    """The flag of a name, or of the one name in `names`, which are sorted, that begins with it."""
    if name in flags:
        return flags[name]
    at = bisect_left(names, name)
    beginning = [full for full in names[at : at + 2] if full.startswith(name)]
    return None if not beginning else flags[beginning[0]] if len(beginning) == 1 else _AMBIGUOUS


def _values(words: Sequence[Word], position: int) -> Iterator[Word]:
    """The words behind a flag that can be its values."""
    for word in words[position:]:
        text = word.text
        if text is None and _name_of_hole(word):
            return
        if (
            text is not None
            and text.startswith("-")
            and len(text) > 1
            and not _NEGATIVE.match(text)
            and " " not in text
        ):
            return
        yield word


def _hole_at(words: Sequence[Word], position: int) -> bool:
    return position < len(words) and words[position].text is None


def _value_faults(flag: Flag, taken: Sequence[Word]) -> Iterator[Fault]:
    for word in taken:
        if word.text is None:
            continue
        value = converted(flag, word.text)
        if value is _WRONG:
            yield Fault("type", flag.name, word, flag)
        elif flag.choices and value is not UNKNOWN and value not in flag.choices:
            yield Fault("choice", flag.name, word, flag)


_WRONG = object()


def is_readable(flag: Flag, text: str) -> bool:
    """Whether the type of a flag takes a text."""
    return converted(flag, text) is not _WRONG


def converted(flag: Flag, text: str) -> Any:
    """The value that argparse makes of a text: `_WRONG` if its type refuses it, UNKNOWN for other types.

    `truth` is what HfArgumentParser reads booleans with; a `number` is an int or a float, nobody knows which.
    """
    if flag.type == TRUTH:
        found = as_bool(text)
        return _WRONG if found is None else found
    if flag.type == NUMBER:
        number = as_number(text)
        return _WRONG if number is None else number
    try:
        if flag.type == "int":
            return int(text)
        if flag.type == "float":
            return float(text)
    except ValueError:
        return _WRONG
    return text if flag.type in ("", "str") else UNKNOWN


def _value(flag: Flag, taken: Sequence[Word]) -> Any:
    if flag.action in ("store_true", "store_false"):
        return flag.action == "store_true"
    found = [UNKNOWN if word.text is None else converted(flag, word.text) for word in taken]
    if any(value is UNKNOWN or value is _WRONG for value in found):
        return UNKNOWN
    return found[0] if (flag.least, flag.most) == (1, 1) and found else found if flag.action == "store" else UNKNOWN
