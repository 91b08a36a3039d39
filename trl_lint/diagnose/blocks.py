"""The bytes of a log, cut into whole lines and brought to UTF-8, in bounded memory and linear time."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Protocol

_BLOCK = 1 << 18
# A line that never ends (a progress bar without line ends) is handed on in pieces of about this size.
LONGEST = 1 << 20
_WIDEST = 1 << 16
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # PowerShell's `>` and `Tee-Object`
_TELLING = 4  # bytes that tell UTF-16 without a mark


class Readable(Protocol):
    """What the bytes of a log are read from."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, none at the end. Raises OSError."""


class LineCutter:
    """Takes a log in pieces of any size, and hands over what ends with a line."""

    def __init__(self) -> None:
        self._beginning: bytes | None = b""  # None once it is known how the log is encoded
        self._decoder: codecs.IncrementalDecoder | None = None
        self._carry = bytearray()

    def feed(self, piece: bytes) -> bytes:
        """The lines that a piece completes, b"" if there are none; of a line that is too long what there is of it."""
        data = self._as_utf8(piece)
        end = data.rfind(b"\n") + 1
        if end:
            whole = bytes(self._carry) + data[:end]
            self._carry = bytearray(data[end:])
            return whole
        self._carry += data
        if len(self._carry) <= LONGEST:
            return b""
        end = self._carry.rfind(b"\r") + 1 or len(self._carry)
        whole = bytes(self._carry[:end])
        del self._carry[:end]
        return whole

    def rest(self) -> bytes:
        """The last line, which nothing ends."""
        beginning = self._beginning or b""
        if beginning[:2] in _MARKS:
            beginning = beginning.decode("utf-16", "replace").encode("utf-8", "replace")
        rest = bytes(self._carry) + beginning
        if self._decoder is not None:
            rest += self._decoder.decode(b"", True).encode("utf-8", "replace")
        return rest

    def _as_utf8(self, piece: bytes) -> bytes:
        if self._beginning is not None:
            piece = self._beginning + piece
            if len(piece) < _TELLING:
                self._beginning = piece
                return b""
            self._begin(piece)
        return piece if self._decoder is None else self._decoder.decode(piece).encode("utf-8", "replace")

    def _begin(self, piece: bytes) -> None:
        """Find out how the log is encoded: from its mark, or from the first two characters of plain English."""
        self._beginning = None
        encoding = ""
        if piece[:2] in _MARKS:
            encoding = "utf-16"
        elif len(piece) >= _TELLING and not any(piece[1:_TELLING:2]) and all(piece[0:_TELLING:2]):
            encoding = "utf-16-le"  # `Add-Content`, and a log that was cut
        elif len(piece) >= _TELLING and not any(piece[0:_TELLING:2]) and all(piece[1:_TELLING:2]):
            encoding = "utf-16-be"
        if encoding:
            self._decoder = codecs.getincrementaldecoder(encoding)("replace")


def blocks(stream: Readable, tick: Callable[[int], None] = lambda size: None) -> Iterator[bytes]:
    """A log in pieces that end with a line. `tick` is told how many bytes were read. Raises OSError."""
    cutter = LineCutter()
    size = 0
    while piece := stream.read(_BLOCK):
        size += len(piece)
        tick(size)
        if block := cutter.feed(piece):
            yield block
    if rest := cutter.rest():
        yield rest


def lines_between(stream: Readable, first: int, last: int) -> Iterator[bytes]:
    """The lines `first` to `last` of a log, counted from 1, without their ends; of a long one its beginning.

    Raises OSError.
    """
    number, head = 1, b""
    for block in blocks(stream):
        count = block.count(b"\n")
        if number + count < first:
            number += count
            continue
        for at, piece in enumerate(block.split(b"\n")):
            head = (head + piece)[:_WIDEST]
            if at < count:
                if first <= number:
                    yield head
                number, head = number + 1, b""
                if number > last:
                    return
    if head and number >= first:
        yield head
