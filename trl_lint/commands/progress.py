"""A sign of life on standard error for runs of more than a second."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_FIRST = 1.0
_EACH = 0.5


@contextmanager
def progress(quiet: bool) -> Iterator[None]:
    """Show how long the work inside has been running, if standard error is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    import threading
    import time

    done = threading.Event()
    start = time.perf_counter()

    def show() -> None:
        if done.wait(_FIRST):
            return
        while True:
            sys.stderr.write(f"\rchecking... {time.perf_counter() - start:.0f} s")
            sys.stderr.flush()
            if done.wait(_EACH):
                break
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
