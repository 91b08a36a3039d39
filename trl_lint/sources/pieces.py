"""A text put together from stretches of another text, and the way back from its offsets.

Shell commands hide inside other texts: a Makefile recipe, a Dockerfile instruction, a quoted `bash -c` argument. What
the shell sees is not what stands in the file (`$$` becomes `$`, a comment inside a continued line disappears), yet
every word must be found again where it was written.
"""

from __future__ import annotations

from bisect import bisect_right


class Pieces:
    """Build the text with `copy` and `put`, then ask `start` and `end` where a stretch of it was written.

    Offsets given to `copy` and `put` count in the text of `parent`, or in the file's text where there is none.
    """

    __slots__ = ("_length", "_out", "_places", "_starts", "parent")

    def __init__(self, parent: Pieces | None = None) -> None:
        self.parent = parent
        self._out: list[str] = []
        self._starts: list[int] = []
        self._places: list[tuple[int, int, bool]] = []
        self._length = 0

    def copy(self, text: str, start: int, end: int) -> None:
        """Append `text[start:end]` as it is."""
        if end > start:
            self._add(text[start:end], start, end, True)

    def put(self, content: str, start: int, end: int) -> None:
        """Append `content`, which stands for what is written from `start` to `end`."""
        if content:
            self._add(content, start, end, False)

    def _add(self, content: str, start: int, end: int, verbatim: bool) -> None:
        self._starts.append(self._length)
        self._places.append((start, end, verbatim))
        self._out.append(content)
        self._length += len(content)

    @property
    def text(self) -> str:
        return "".join(self._out)

    def start(self, offset: int) -> int:
        """Where the character at `offset` was written; at the end of the text, where the last one ends."""
        if offset >= self._length:
            return self.end(offset)
        index = bisect_right(self._starts, offset) - 1
        place, _, verbatim = self._places[index]
        place = place + offset - self._starts[index] if verbatim else place
        return place if self.parent is None else self.parent.start(place)

    def end(self, offset: int) -> int:
        """Where a stretch that ends at `offset` ends."""
        if not self._starts:
            return 0
        index = max(0, bisect_right(self._starts, min(offset, self._length) - 1) - 1)
        start, end, verbatim = self._places[index]
        place = start + min(offset, self._length) - self._starts[index] if verbatim else end
        return place if self.parent is None else self.parent.end(place)
