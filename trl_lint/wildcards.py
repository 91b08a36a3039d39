"""Patterns of paths with wildcards, matched in time that grows with the pattern and the path, whoever wrote them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

# What stands for many characters: anything, anything within a name, any number of folders. Every other piece of a
# pattern is a regular expression for one character.
ANY, NAME, FOLDERS = ".*", "[^/]*", "(?:.*/)?"
_WIDE = frozenset((ANY, NAME, FOLDERS))
# So many of them a regular expression tries out in no time. Each one more multiplies that by the length of the path.
_FEW = 2


def is_simple(pieces: Sequence[str]) -> bool:
    """Whether a pattern is matched quickly as one regular expression."""
    return sum(piece in _WIDE for piece in pieces) <= _FEW


def expression(pieces: Sequence[str]) -> str:
    """A pattern as a regular expression; its flag is DOTALL."""
    return "".join(pieces) + r"\Z"


class Wildcards:
    """A pattern for whole paths."""

    __slots__ = ("_pieces", "_regex")

    def __init__(self, pieces: Sequence[str]) -> None:
        """Raises re.error for a piece that is no regular expression."""
        self._regex = re.compile(expression(pieces), re.DOTALL) if is_simple(pieces) else None
        self._pieces = [piece if piece in _WIDE else _one(piece) for piece in pieces]

    def matches(self, path: str) -> bool:
        if self._regex is not None:
            return self._regex.match(path) is not None
        return self._ends(path)

    def _ends(self, path: str) -> bool:
        """Follow every way through the pieces at once: where several lead to one place, they are one from there on."""
        end = len(self._pieces)
        at = self._entered({0}, end)
        within: set[int] = set()  # the pieces for folders in whose middle a way is
        for char in path:
            entered: set[int] = set()
            for piece in within:
                if char == "/":
                    entered.add(piece + 1)
            for place in at:
                if place == end:
                    continue
                piece_there = self._pieces[place]
                if piece_there is FOLDERS:
                    within.add(place)
                    if char == "/":
                        entered.add(place + 1)
                elif piece_there is ANY or (piece_there is NAME and char != "/"):
                    entered.add(place)
                elif not isinstance(piece_there, str) and piece_there.match(char):
                    entered.add(place + 1)
            at = self._entered(entered, end)
            if not at and not within:
                return False
        return end in at

    def _entered(self, places: set[int], end: int) -> set[int]:
        """The places, and those behind pieces that may stand for nothing."""
        found = set()
        for place in places:
            while place not in found:
                found.add(place)
                if place == end or not isinstance(self._pieces[place], str):
                    break
                place += 1
        return found


@lru_cache(maxsize=512)
def _one(piece: str) -> re.Pattern[str]:
    return re.compile(piece, re.DOTALL)
