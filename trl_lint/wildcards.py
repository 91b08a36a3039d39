"""Patterns with many wildcards: followed through all their places at once, each character of a name read once.

A regular expression would go back over the name again and again for each further wildcard.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# The pieces that stand for any number of characters; all others are regular expressions for one character.
NAME = "[^/]*"
ANYTHING = ".*"
FOLDERS = "(?:.*/)?"
MANY = (NAME, ANYTHING, FOLDERS)


class Places:
    """The places in a pattern that a text may have come to, as the bits of a number."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._tests: list[tuple[int, re.Pattern[str]]] = []  # what leads from one place to the next
        self._stays: list[tuple[int, re.Pattern[str]]] = []  # what leads from a place to itself
        self._skips: list[tuple[int, int]] = []  # from a place to one that may be taken for it
        self._known: dict[str, tuple[int, int]] = {}
        place = 0
        for piece in pieces:
            if piece == FOLDERS:
                # At its beginning it may be left out; once begun, it ends with a slash.
                self._skips += [(place, place + 1), (place, place + 2)]
                place += 1
                self._stays.append((place, _one(".")))
                self._tests.append((place, _one("/")))
            elif piece in MANY:
                self._skips.append((place, place + 1))
                self._stays.append((place, _one("." if piece == ANYTHING else "[^/]")))
            else:
                self._tests.append((place, _one(piece)))
            place += 1
        self._end = place

    def match(self, text: str) -> bool:
        places = self._with_skips(1)
        for character in text:
            on, stay = self._of(character)
            places = self._with_skips(((places & on) << 1) | (places & stay))
            if not places:
                return False
        return bool(places >> self._end & 1)

    def _of(self, character: str) -> tuple[int, int]:
        known = self._known.get(character)
        if known is None:
            on = sum(1 << place for place, test in self._tests if test.match(character))
            stay = sum(1 << place for place, test in self._stays if test.match(character))
            known = self._known[character] = on, stay
        return known

    def _with_skips(self, places: int) -> int:
        for source, target in self._skips:  # in the order of the pattern, so that one leads on to the next
            places |= (places >> source & 1) << target
        return places


def _one(piece: str) -> re.Pattern[str]:
    return re.compile(piece, re.DOTALL)
