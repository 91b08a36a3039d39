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
    """The places in a pattern that a text may have come to, as the bits of a number.

    A wildcard has a place where it may take more of the text, or none of it: whoever is there is at the next one too. A
    wildcard for folders has a second place, once it has begun: only a slash leads on from there.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self._tests: list[tuple[int, re.Pattern[str]]] = []  # what leads from one place to the next
        self._stays: list[tuple[int, re.Pattern[str]]] = []  # what leads from a place to itself
        self._skips = 0  # places that may be taken for the next
        self._folders = 0
        self._known: dict[str, tuple[int, int]] = {}
        for place, piece in enumerate(pieces):
            if piece in MANY:
                self._skips |= 1 << place
                if piece == FOLDERS:
                    self._folders |= 1 << place
                else:
                    self._stays.append((place, _one("." if piece == ANYTHING else "[^/]")))
            else:
                self._tests.append((place, _one(piece)))
        self._end = len(pieces)

    def match(self, text: str) -> bool:
        places = self._with_skips(1)
        begun = places & self._folders
        for character in text:
            on, stay = self._of(character)
            moved = ((places & on) << 1) | (places & stay)
            places = self._with_skips(moved | begun << 1 if character == "/" else moved)
            begun |= places & self._folders
            if not places | begun:
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
        """These places, and those that they may be taken for: a sum carries each through its row of wildcards."""
        skips = self._skips
        return places | ((skips + (places & skips)) ^ skips)


def _one(piece: str) -> re.Pattern[str]:
    return re.compile(piece, re.DOTALL)
