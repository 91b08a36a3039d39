"""The standard streams in a broken world: closed ones, a full disk, a reader that has gone.

What cannot be written must neither end in a traceback nor pass for "nothing found".
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_NAMES = ("stdin", "stdout", "stderr")


def make_ready() -> None:
    """Let the standard streams take whatever is written to them."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A console that cannot show a character gets it written out, not a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def open_closed_streams() -> None:
    """Put something in the place of standard streams that were closed when the process started (`>&-`).

    Python leaves None there, and the first file that is opened would get the stream's number. Standard error goes
    nowhere; the other two fail when they are used, as they would in any other program.
    """
    for number, name in enumerate(_NAMES):
        if getattr(sys, name) is not None:
            continue
        with suppress(OSError):
            os.fstat(number)
            continue  # no console, but a file all the same
        null = os.open(os.devnull, {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY}.get(name, os.O_WRONLY))
        if null != number:
            os.dup2(null, number)
            os.close(null)
        setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False))


def is_of_a_stream(error: OSError) -> bool:
    """Whether an error came from writing to an open stream: those of a path name it."""
    return error.filename is None and error.errno is not None


def end_after(error: OSError) -> int:
    """The exit status after a stream could not be written, said in one line where there is anybody to say it to.

    Whoever read our output and went away (`| head -1`) has seen enough; that is no failure.
    """
    status = getattr(error, "status", 0) if isinstance(error, BrokenPipeError) else 2
    with suppress(OSError, ValueError):
        if not isinstance(error, BrokenPipeError):
            from trl_lint import tracked

            reason = tracked.reason(error)
            print(f"trl-lint: the output cannot be written: {reason}", file=sys.stderr, flush=True)
    # Python would complain once more when it closes the streams, about what is still in their buffers.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            try:
                stream.flush()
            except OSError:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream.fileno())
                os.close(null)
    return status
