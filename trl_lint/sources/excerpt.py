"""A text that stands in a file in stretches: a fenced block, the comments of a script block, a value under a key."""

from __future__ import annotations

from trl_lint.finding import Edit, Location
from trl_lint.sources import Source
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.text import SourceFile


class Excerpt(Source):
    """The text of some `pieces` of a file, in a language of its own."""

    __slots__ = ("_pieces",)

    def __init__(self, file: SourceFile, language: str, pieces: Pieces) -> None:
        super().__init__(file, language, pieces.text)
        self._pieces = pieces

    def file_offset(self, offset: int) -> int:
        return self._pieces.start(offset)

    def location(self, start: int, end: int, message: str = "") -> Location:
        return Location(self.path, *self._span(start, end), message)

    def edit(self, start: int, end: int, content: str) -> Edit:
        return Edit(self.path, *self._span(start, end), content)

    def _span(self, start: int, end: int) -> tuple[int, int]:
        """A range of the file that ends behind its last character, not before the next line's text."""
        first = self._pieces.start(start)
        return first, self._pieces.end(end) if end > start else first
