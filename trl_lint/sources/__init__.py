"""One reader per kind of file. Every value keeps its span in the original text.

A `Source` is a text in one language: a whole file, the code cells of a notebook, a heredoc, a fenced block. Rules work
on its `text`; `location` and `edit` take them back to the file it stands in.
"""

from __future__ import annotations

from trl_lint.finding import Edit, Location
from trl_lint.sources.files import Files
from trl_lint.sources.text import LineIndex, Position, SourceError, SourceFile

__all__ = ["Files", "LineIndex", "Position", "Source", "SourceError", "SourceFile"]


class Source:
    """A text in one language with its place in a file.

    The base class covers texts that stand in the file as they are: `shift` is the offset of their first character.
    """

    __slots__ = ("_lines", "file", "language", "shift", "text")

    def __init__(self, file: SourceFile, language: str, text: str | None = None, shift: int = 0) -> None:
        self.file = file
        self.language = language
        self.text = file.text if text is None else text
        self.shift = shift
        self._lines: LineIndex | None = None

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def lines(self) -> LineIndex:
        if self._lines is None:
            self._lines = LineIndex(self.text)
        return self._lines

    def file_offset(self, offset: int) -> int:
        """The offset in the file's text of an offset in this text."""
        return offset + self.shift

    def location(self, start: int, end: int, message: str = "") -> Location:
        return Location(self.path, self.file_offset(start), self.file_offset(end), message)

    def edit(self, start: int, end: int, content: str) -> Edit:
        """Replace `start` to `end` of this text by `content`, expressed as an edit of the file."""
        return Edit(self.path, self.file_offset(start), self.file_offset(end), content)
