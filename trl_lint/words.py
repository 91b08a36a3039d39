"""Small readings of text, tables of names and counts, and lists for a sentence."""

from __future__ import annotations

from collections.abc import Sequence

# Nothing that is counted has more digits. Python refuses to convert some thousands of them, with a ValueError.
_MOST_DIGITS = 15
_MOST_BITS = 1024  # as many as the largest float


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
