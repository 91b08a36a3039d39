"""A shell text that is read, and where its stretches stand in the source."""

from __future__ import annotations

import re
from bisect import bisect_right

from tree_sitter import Node

from trl_lint.regexes import regex
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell_values import Word

# Errors for the grammar, not for a shell: a backslash that continues into nothing, and a comment in backquotes, which
# people put between continued lines.
_FINE_FOR_A_SHELL = regex(r"(?<!\\)\\(?=[ \t\r\n]*\Z)|(?<=[ \t])`#[^`\n]*`")


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


class Offsets:
    """What tree-sitter parses (UTF-8, line ends LF) and the way back to characters."""

    def __init__(self, text: str) -> None:
        self._places: list[int] = []
        self._shifts: list[int] = []
        self.is_plain = False  # every byte is a character
        if "`#" in text or text.rstrip(" \t\r\n").endswith("\\"):
            text = _FINE_FOR_A_SHELL.sub(_blank, text)
        if text.isascii() and "\r" not in text:
            self.data = text.encode()
            self.is_plain = True
            return
        shift = length = 0
        for match in re.finditer(r"\r(?=\n)|[^\x00-\x7f]+", text):
            run = match[0]
            if run == "\r":  # a shell reads it as a character; people mean a line end
                shift += 1
                self._places.append(match.end() - shift)
                self._shifts.append(shift)
                continue
            for index, char in enumerate(run):
                length = len(char.encode("utf-8", "surrogatepass"))
                shift -= length - 1
                self._places.append(match.start() + index + 1 - shift)
                self._shifts.append(shift)
        self.data = text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")

    def __call__(self, byte: int) -> int:
        index = bisect_right(self._places, byte)
        return byte + (self._shifts[index - 1] if index else 0)


class ShellText:
    """A shell text; offsets count in the text of the source, which is `original`, and it was cut from that by `pieces`.

    Without pieces it is that text itself.
    """

    __slots__ = ("offsets", "original", "pieces", "text")

    def __init__(self, text: str, original: str, pieces: Pieces | None) -> None:
        self.text = text
        self.original = original
        self.pieces = pieces
        self.offsets = Offsets(text)

    def span(self, node: Node) -> tuple[int, int]:
        """Where a node of the tree stands in this text."""
        if self.offsets.is_plain:
            return node.start_byte, node.end_byte
        return self.span_of(node.start_byte, node.end_byte)

    def span_of(self, start: int, end: int) -> tuple[int, int]:
        """Where bytes of what was parsed stand in this text."""
        if self.offsets.is_plain:
            return start, end
        start, end = self.offsets(start), self.offsets(end)
        # The place behind a node at the end of a Windows line is in front of both characters of the line end.
        return start, end - 1 if end > start and self.text[end - 1 : end + 1] == "\r\n" else end

    def slice(self, node: Node) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in this text as offsets in the text of the source."""
        if self.pieces is None:
            return start, end
        return self.pieces.start(start), self.pieces.end(end)

    def word(self, node: Node, text: str | None, several: bool = False, template: str = "") -> Word:
        """A node as a word of this value, with the place where it is written."""
        start, end = self.place(*self.span(node))
        return Word(text, self.original[start:end], start, end, several, template)

    def hole(self, node: Node) -> Word:
        return self.word(node, None, True)
