"""Messages as releases write them, found again with something filled in.

A template is its fixed pieces. They are looked for one behind the other, each at its first place: that finds a match
whenever there is one, and costs no more for a message that was made to look like many.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from trl_lint.records import NamedTuple

# What is filled in has so many characters at most, as a mean of the holes.
_LONGEST_FILLING = 400


def plain(text: str) -> str:
    """A text with one blank for each white space, as templates have it, and none around it.

    Backquotes go: web pages take them for marks of code, so what people copy there has none.
    """
    return " ".join(text.replace("`", "").split())


class Template(NamedTuple):
    """The fixed `pieces` of a message, with a hole between each two; `is_whole`: nothing follows the last one.

    A piece may be empty: the message begins or ends with a hole then, or two of them stand side by side.
    """

    pieces: tuple[str, ...]
    is_whole: bool

    @classmethod
    def of(cls, pieces: Sequence[str], is_whole: bool) -> Template:
        """A template of pieces with any white space."""
        return cls(tuple(re.sub(r"\s+", " ", piece.replace("`", "")) for piece in pieces), is_whole)

    @property
    def letters(self) -> int:
        """How many letters and digits are fixed."""
        return sum(len(re.sub(r"\W", "", piece)) for piece in self.pieces)

    def fillings(self, message: str) -> tuple[str, ...] | None:
        """What fills the holes of a `plain` message, each at least one character; None if it does not fit."""
        first, *others = self.pieces
        if not message.startswith(first):
            return None
        if not others:
            return None if self.is_whole and len(message) > len(first) else ()
        at = len(first)
        found: list[str] = []
        for piece in others[:-1]:
            place = message.find(piece, at + 1)
            if place < 0:
                return None
            found.append(message[at:place])
            at = place + len(piece)
        last = others[-1]
        if not last:
            place = len(message) if self.is_whole else min(len(message), at + _LONGEST_FILLING)
        elif self.is_whole:
            place = len(message) - len(last) if message.endswith(last) else -1
        else:
            place = message.find(last, at + 1)
        if place <= at:
            return None
        found.append(message[at:place])
        return tuple(found) if sum(map(len, found)) <= _LONGEST_FILLING * len(found) else None
