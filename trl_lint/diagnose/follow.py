"""Waiting beside a log that grows, until the program that writes it has failed or has gone silent."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Literal

from trl_lint.diagnose.blocks import LineCutter
from trl_lint.diagnose.first import has_ended
from trl_lint.diagnose.reader import Scanner

_PIECE = 1 << 18
# After the last line of a failure other ranks may still report theirs.
SETTLE = 20.0
_PAUSE = 1.0

End = Literal["failed", "silent"]


def wait_for_the_end(
    path: str,
    silence: float,
    *,
    settle: float = SETTLE,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> End:
    """Return "failed" when a failure is in the log and nothing came for `settle` seconds, and "silent" when nothing
    came for `silence` seconds.

    What training goes on after is no end. A log that becomes shorter is read from its beginning. Raises OSError.
    """
    scanner, cutter = Scanner(), LineCutter()
    last = now()
    with open(path, "rb") as stream:
        while True:
            if os.fstat(stream.fileno()).st_size < stream.tell():
                stream.seek(0)
                scanner, cutter = Scanner(), LineCutter()
            piece = stream.read(_PIECE)
            if piece:
                last = now()
                if block := cutter.feed(piece):
                    scanner.scan(block)
                continue
            idle = now() - last
            if idle >= settle and (scanner.is_in_traceback or has_ended(scanner.log)):
                return "failed"
            if idle >= silence:
                return "silent"
            sleep(_PAUSE)
