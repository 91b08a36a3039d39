"""Tables of names, written as text: one line of words is easier to read and to review than one line of quotes."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text, separated by any white space."""
    return frozenset(text.split())
