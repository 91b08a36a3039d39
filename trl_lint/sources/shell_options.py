"""Values that a shell script chooses among: what the branches of an `if` or the rounds of a `for` give a variable.

A decision is one statement that chooses. A value remembers the decisions it comes from, so that two variables which the
same branch sets are never mixed with those of another branch. A decision that is a `Guess` is the default of
`${V:-default}`, which holds as long as nothing outside of the script sets V.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count, product

from trl_lint.sources.shell_values import LONGEST_VALUE, Array, Option, Value, Word

MOST_OPTIONS = 20  # a value of more than these stays unknown
# Every step of `A+=(x)` is remembered whole: ten thousand of them would fill the memory.
LONGEST_ARRAY = 1_000
_LARGEST = 1 << 31  # the shell's numbers overflow, and a sum is unknown
Key = frozenset[tuple[int, int]]
NO_KEY: Key = frozenset()
Texts = tuple[tuple[Key, str], ...]

_decisions = count(1)


def new_decision() -> int:
    """A number for one statement that chooses."""
    return next(_decisions)


class Guess(int):
    """A decision that something outside of the script may make otherwise: the default of a variable.

    `name`: the variable, or the number of an argument. `written`: the expansion that has the default, as it stands.
    """

    name: str
    written: str


class Each(int):
    """A decision of which every way is taken, each in a run of its own: the values that a sweep or a matrix tries."""


def new_each() -> Each:
    """A number for values that are tried one after the other."""
    return Each(next(_decisions))


def new_guess(name: str, written: str) -> Guess:
    """A number for the default of a variable."""
    guess = Guess(next(_decisions))
    guess.name, guess.written = name, written
    return guess


def is_guess(decision: int) -> bool:
    return isinstance(decision, Guess)


def guesses_of(words: Iterable[Word]) -> list[Guess]:
    """The defaults that words may be made of."""
    return [decision for decision in decisions_of(words) if isinstance(decision, Guess)]


def options_of(value: Value | None) -> tuple[Option, ...]:
    """What a value can be: itself where it is known, its options where those are; empty where anything is possible."""
    if isinstance(value, Array):
        return (Option(NO_KEY, value.items),) if all(word.text is not None for word in value.items) else ()
    if value is None:
        return ()
    return value.options if value.text is None else (Option(NO_KEY, (value,)),)


def texts_of(word: Word) -> Texts:
    """The options of a scalar value; an array gives its first item, as in a shell."""
    found = [(option.key, option.words[0].text if option.words else "") for option in options_of(word)]
    return () if any(text is None for _, text in found) else tuple((key, text or "") for key, text in found)


def joined(decision: int, values: Mapping[int, Value | None]) -> Value | None:
    """A value after a decision, from what each way leaves of it; None where one of them leaves it unknown."""
    found: list[Option] = []
    for way, value in values.items():
        options = options_of(value)
        if not options:
            return None
        found += [Option(option.key | {(decision, way)}, option.words) for option in options]
    if len({_texts(option.words) for option in found}) == 1 and all(
        isinstance(value, Word) for value in values.values()
    ):
        return found[0].words[0] if found[0].words else None
    return _hole(found)


def one_of(words: Sequence[Word]) -> Word | None:
    """The variable of a `for` over these words; None where one of them is not known.

    A pattern (`configs/*.yaml`) is known by its template.
    """
    if len(words) == 1 and (words[0].text is not None or words[0].template):
        return words[0]
    if any(word.text is None for word in words):
        return None
    decision = new_decision()
    different: dict[str | None, Word] = {}
    for word in words:
        different.setdefault(word.text, word)
    return _hole([Option(frozenset({(decision, way)}), (word,)) for way, word in enumerate(different.values())])


def appended_options(old: Value | None, new: Value) -> Word | None:
    """`NAME+=value` where the old or the new value is one of several; None where that is not known."""
    found: list[Option] = []
    is_array = isinstance(new, Array)
    for first, second in product(options_of(old), options_of(new)):
        key = _together(first.key, second.key)
        if key is None:
            continue
        if is_array:
            found.append(Option(key, first.words + second.words))
        elif len(first.words) == len(second.words) == 1:
            text = (first.words[0].text or "") + (second.words[0].text or "")
            found.append(Option(key, (second.words[0]._replace(text=text),)))
        else:
            return None
        if len(found) > MOST_OPTIONS or len(found[-1].words) > LONGEST_ARRAY:
            return None
    return _hole(found)


def concatenated(parts: Iterable[Texts]) -> Texts:
    """The texts of a word whose parts have options; empty beyond the bound."""
    result: Texts = ((NO_KEY, ""),)
    for part in parts:
        result = tuple(
            (key, before + text)
            for (first, before), (second, text) in product(result, part)
            if (key := _together(first, second)) is not None
        )
        if len(result) > MOST_OPTIONS or any(len(text) > LONGEST_VALUE for _, text in result):
            return ()
    return result


def computed(left: Texts, operator: str, right: Texts) -> Texts:
    """The numbers that `left operator right` can be, from those of its sides; empty where that is not known."""
    found: list[tuple[Key, str]] = []
    for (first, one), (second, other) in product(left, right):
        key, number = _together(first, second), _result(int(one), operator, int(other))
        if number is None:
            return ()
        if key is not None:
            found.append((key, str(number)))
    return tuple(found) if len(found) <= MOST_OPTIONS else ()


def _result(left: int, operator: str, right: int) -> int | None:
    if max(abs(left), abs(right)) >= _LARGEST:
        return None  # the shell's numbers overflow
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if operator in ("/", "%") and right and left >= 0:
        return left // right if operator == "/" else left % right
    return None


def decisions_of(words: Iterable[Word]) -> dict[int, set[int]]:
    """The decisions that words hang on, each with the ways that lead to one of their values."""
    found: dict[int, set[int]] = {}
    for word in words:
        for option in word.options:
            for decision, way in option.key:
                found.setdefault(decision, set()).add(way)
    return found


def decided(word: Word, ways: Mapping[int, int]) -> tuple[Word, ...]:
    """What a word is when these ways are taken; the word itself where they do not tell."""
    fitting = [option for option in word.options if all(ways.get(decision) == way for decision, way in option.key)]
    return fitting[0].words if len(fitting) == 1 else (word,)


def _together(first: Key, second: Key) -> Key | None:
    """Both keys, None if they take two ways at one decision."""
    key = first | second
    return key if len({decision for decision, _ in key}) == len(key) else None


def _hole(options: Sequence[Option]) -> Word | None:
    if not options or len(options) > MOST_OPTIONS:
        return None
    last = options[-1].words
    place = last[-1] if last else Word(None, "", 0, 0)
    return Word(None, place.raw, place.start, place.end, True, "", tuple(options))


def _texts(words: Sequence[Word]) -> tuple[str | None, ...]:
    return tuple(word.text for word in words)
