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
    """The places in patterns that a text may have come to, as the bits of a number: those of all patterns in a row.

    A wildcard has a place where it may take more of the text, or none of it: whoever is there is at the next one too. A
    wildcard for folders has a second place, once it has begun: only a slash leads on from there.
    """

    def __init__(self, patterns: Sequence[Sequence[str]]) -> None:
        places: dict[str, list[int]] = {}  # of each piece
        starts: list[int] = []
        self._numbers: dict[int, int] = {}  # of the patterns, by the places behind their last pieces
        place = 0
        for number, pieces in enumerate(patterns):
            starts.append(place)
            for piece in pieces:
                places.setdefault(piece, []).append(place)
                place += 1
            self._numbers[place] = number
            place += 1
        bits = {piece: _bits(found, place) for piece, found in places.items()}
        self._starts, self._ends = _bits(starts, place), _bits(list(self._numbers), place)
        self._skips = sum(bits.get(piece, 0) for piece in MANY)  # places that may be taken for the next
        self._folders = bits.get(FOLDERS, 0)
        # What leads from one place to the next, and what from a place to itself.
        self._tests = [(_one(piece), found) for piece, found in bits.items() if piece not in MANY]
        stays = ((ANYTHING, "."), (NAME, "[^/]"))
        self._stays = [(_one(test), bits[piece]) for piece, test in stays if piece in bits]
        self._known: dict[str, tuple[int, int]] = {}

    def match(self, text: str) -> bool:
        """Whether one of the patterns fits a text."""
        return bool(self._reached(text))

    def fitting(self, text: str) -> list[int]:
        """The numbers of the patterns that fit a text."""
        left, found = self._reached(text), []
        while left:
            end = left.bit_length() - 1
            found.append(self._numbers[end])
            left ^= 1 << end
        return found[::-1]

    def _reached(self, text: str) -> int:
        places = self._with_skips(self._starts)
        begun = places & self._folders
        for character in text:
            on, stay = self._of(character)
            moved = ((places & on) << 1) | (places & stay)
            places = self._with_skips(moved | begun << 1 if character == "/" else moved)
            begun |= places & self._folders
            if not places | begun:
                return 0
        return places & self._ends

    def _of(self, character: str) -> tuple[int, int]:
        known = self._known.get(character)
        if known is None:
            on = sum(bits for test, bits in self._tests if test.match(character))
            stay = sum(bits for test, bits in self._stays if test.match(character))
            known = self._known[character] = on, stay
        return known

    def _with_skips(self, places: int) -> int:
        """These places, and those that they may be taken for: a sum carries each through its row of wildcards."""
        skips = self._skips
        return places | ((skips + (places & skips)) ^ skips)


def _one(piece: str) -> re.Pattern[str]:
    return re.compile(piece, re.DOTALL)


def _bits(places: Sequence[int], count: int) -> int:
    """A number with these bits: made at once, for a sum would copy it for each of them."""
    found = bytearray(count // 8 + 1)
    for place in places:
        found[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(found, "little")
