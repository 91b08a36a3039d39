"""What a word or a variable of a shell script can be."""

from __future__ import annotations

from trl_lint.records import NamedTuple


class Word(NamedTuple):
    """One word of a command as the program gets it; offsets are those of the source the command was read from.

    `text` is None where the value is not known (a hole). `several` marks a hole that may stand for no word or for many
    (an unquoted variable, `"$@"`, a glob). `template` is what is known of a hole: its text with `HOLE` for each unknown
    part; "" where all of it is unknown. `options` are all the values that a hole can have, if they are known: those of
    the branches of an `if` or `case`, of the rounds of a `for`.
    """

    text: str | None
    raw: str
    start: int
    end: int
    several: bool = False
    template: str = ""
    options: tuple[Option, ...] = ()


class Option(NamedTuple):
    """One value of a hole: the words it stands for (one for a plain variable, any number for an array).

    `key`: the decisions it comes from, each a number that stands for one statement of the script, and the branch or
    round taken there. Words with the same decision agree on it.
    """

    key: frozenset[tuple[int, int]]
    words: tuple[Word, ...]


# In the text of a script: a variable that nobody sets.
HOLE = "${__unknown__}"


class Array(NamedTuple):
    """The words of a shell array."""

    items: tuple[Word, ...]


Value = Word | Array
# `A=$A$A` doubles a value with every line; one of more characters (or items) than this is not followed any more.
LONGEST_VALUE = 10_000
