"""What a client writes, message by message, whatever its headers say.

pygls takes the first length for true: one with many digits ends it, and behind a header without a length it reads the
text of a message as headers, and the message after it is lost as well.
"""

from __future__ import annotations

import logging
import re
from typing import BinaryIO

from trl_lint.regexes import regex

_log = logging.getLogger(__name__)

_MOST = 64_000_000  # bytes of a message; one that is said to be longer is passed over, and the log says so
_PIECE = 65_536
_TAIL = 100  # bytes that are kept of a piece, in which a header may begin
# Where a header gave no length, nobody knows where the text ends: the next header follows it in the same line.
_LENGTH = regex(rb"(.*)content-length:[ \t]{0,9}(\d{1,19})[ \t]{0,9}\r?\n", re.IGNORECASE | re.DOTALL)


class Messages:
    """A stream that pygls reads: of each message one header with its length, a blank line, and its text."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._is_due = False  # the blank line behind a header

    def readline(self) -> bytes:
        if self._is_due:
            self._is_due = False
            return b"\r\n"
        length = self._next_length()
        self._is_due = length is not None
        return b"" if length is None else b"Content-Length: %d\r\n" % length

    def read(self, size: int) -> bytes:
        """The text of a message; nothing where the stream ends in the midst of it."""
        found = self._stream.read(size)
        return found if len(found) == size else b""

    def _next_length(self) -> int | None:
        """The length of the next message with a header that can be followed; None at the end of the stream."""
        lengths: set[int] = set()
        before = b""
        while line := self._stream.readline(_PIECE):
            match = _LENGTH.fullmatch(before + line)
            before = b"" if line.endswith(b"\n") else line[-_TAIL:]
            if match is not None:
                lengths = {int(match[2])} if match[1] else {*lengths, int(match[2])}
            elif line in (b"\n", b"\r\n") and lengths:
                length = max(lengths)
                if len(lengths) == 1 and 0 < length <= _MOST:
                    return length
                _log.error("a message was passed over: its header says %s bytes", " and ".join(map(str, lengths)))
                lengths = set()
        return None
