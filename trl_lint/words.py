"""Small readings of text, tables of names and counts, and lists for a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

# Nothing that is counted has more digits. Python refuses to convert some thousands of them, with a ValueError.
_MOST_DIGITS = 15
_MOST_BITS = 1024  # as many as the largest float
_LONGEST = 200  # characters of a name that may be a slip of another one


def words(text: str) -> frozenset[str]:
    """The words of a text, separated by any white space: easier to read and to review than one line of quotes."""
    return frozenset(text.split())


def read_count(text: str | None) -> int | None:
    """The whole number that a text spells in decimal digits; None if it spells none, or one of more than 15 digits."""
    return int(text) if text is not None and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def listed(texts: Sequence[str]) -> str:
    """Texts as part of a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def counted(number: int, noun: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def with_article(noun: str) -> str:
    """`a Dataset`, `an IterableDataset`: by the first letter."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def is_countable(number: complex) -> bool:
    """Whether a number is no whole number beyond what anything counts or costs.

    Python cannot show one with some thousands of digits (a ValueError), and products of such numbers grow without end.
    """
    return not isinstance(number, int) or number.bit_length() <= _MOST_BITS


# -- words that are nearly the same -----------------------------------------------------------------------------------


def nearest(word: str, choices: Iterable[str], likeness: float = 0.6) -> str:
    """The choice a mistyped word most likely meant, "" if none is as like it (from 0 to 1, as difflib counts)."""
    return _nearest(word.lower(), frozenset(choices), likeness)


@lru_cache(maxsize=4096)
def _nearest(word: str, choices: frozenset[str], likeness: float) -> str:
    lowered, places, letters_of = _spelled(choices)
    if word in lowered or len(word) > _LONGEST:
        return lowered.get(word, "")
    from difflib import SequenceMatcher

    letters, length = sum(places.get(letter, 0) for letter in _numbered(word)), len(word)
    matcher: SequenceMatcher[str] | None = None
    best = likeness, ""
    for text, others in letters_of.items():
        # Neither can be more alike than their lengths, and the letters that both have, allow.
        total = (length + len(text)) or 1
        if 2.0 * min(length, len(text)) / total < best[0] or 2.0 * (letters & others).bit_count() / total < best[0]:
            continue
        if matcher is None:
            matcher = SequenceMatcher(b=word)
        matcher.set_seq1(text)
        best = max(best, (matcher.ratio(), text))
    return lowered.get(best[1], "")


@lru_cache(maxsize=64)
def _spelled(choices: frozenset[str]) -> tuple[dict[str, str], dict[tuple[str, int], int], dict[str, int]]:
    """The choices in small letters, a bit for each letter that one has for the first, second ... time, and theirs."""
    lowered = {choice.lower(): choice for choice in sorted(choices)}
    short = [text for text in lowered if len(text) <= _LONGEST]
    places: dict[tuple[str, int], int] = {}
    for text in short:
        for letter in _numbered(text):
            places.setdefault(letter, 1 << len(places))
    return lowered, places, {text: sum(map(places.__getitem__, _numbered(text))) for text in short}


def _numbered(text: str) -> Iterator[tuple[str, int]]:
    """The letters of a text, each with how often it stood there before."""
    seen: dict[str, int] = {}
    for letter in text:
        time = seen.get(letter, 0)
        seen[letter] = time + 1
        yield letter, time
