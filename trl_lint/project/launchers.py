"""What the words of a command are: the interpreter, names of options, and what stands behind the program, by name.

Option names are compared with `_` for `-`, as accelerate and torchrun accept both.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence

from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.shell import Word
from trl_lint.words import words as names

PYTHON = regex(r"python(?:\d(?:\.\d+)*)?(?:\.exe)?\Z")
# Names of variables and parameters that hold several options: `$EXTRA_ARGS`, `"$@"`.
SET_HOLE = regex(r"arg|opt|flag|extra|param|@|\*", re.IGNORECASE)


# Where installed commands stand.
_BIN = frozenset({"bin", "Scripts"})


# Options of the interpreter: these take a value as the next word.
PYTHON_WITH_VALUE = names("-W -X --check-hash-based-pycs")


def basename(word: Word) -> str:
    text = word.text or ""
    return os.path.basename(text) if "/" in text or os.sep in text else text


def option_name(text: str) -> str:
    """`--nproc-per-node=2` and `--nproc_per_node` are the same option."""
    name = text.partition("=")[0]
    return name[:2] + name[2:].replace("-", "_")


def is_installed(name: str) -> bool:
    """Whether a command is named as one that is installed: `run`, `~/venv/bin/run`, and not `./run`."""
    folder = os.path.dirname(name)
    return not folder or (os.path.basename(folder) in _BIN and folder.removeprefix("./") not in _BIN)


# -- what stands behind the program -----------------------------------------------------------------------------------


class Flags(NamedTuple):
    """The arguments of a program by name, the last of each; `absent` is the answer for other names."""

    args: tuple[Word, ...]
    given: dict[str, Word]
    absent: Missing


def read_flags(args: tuple[Word, ...]) -> Flags:
    """Read the words behind a program once, for all who ask: `--x v` and `--x=v` give v, a bare `--x` gives itself."""
    given: dict[str, Word] = {}
    for index, word in enumerate(args):
        text = word.text
        if text is None:
            name, equals, _ = word.raw.partition("=")
            if equals:
                given[name] = word
            continue
        name, equals, _ = text.partition("=")
        if equals:
            given[name] = tail_of(word, len(name) + 1)
        value = args[index + 1] if index + 1 < len(args) else None
        given[text] = word if value is None or (value.text or "").startswith("--") else value
    return Flags(args, given, UNKNOWN if may_hide(args) else ABSENT)


def may_hide(args: Sequence[Word]) -> bool:
    """Whether a word may stand for options. `--lr $LR` is one with its value; `--lr 1 $REST` may be anything."""
    for index, word in enumerate(args):
        before = args[index - 1].text if index else None
        is_value = before is not None and before.startswith("-") and "=" not in before
        if may_be_several(word, is_value):
            return True
    return False


def may_be_several(word: Word, is_value: bool = False) -> bool:
    """Whether nobody knows how many words a shell makes of one. `is_value`: it stands where a flag has its value."""
    return word.text is None and word.several and not (is_value and not SET_HOLE.search(word.raw))


def tail_of(word: Word, offset: int) -> Word:
    """The part of a word behind `--name=`."""
    text = word.text or ""
    if word.raw[:offset] != text[:offset]:
        return word._replace(text=text[offset:])
    return word._replace(text=text[offset:], raw=word.raw[offset:], start=word.start + offset)
