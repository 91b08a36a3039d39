"""The standard streams: the one way by which a line reaches people and runners, and what becomes of a broken one.

What cannot be written must neither end in a traceback nor pass for "nothing found". What is written may hold text of
others: settings, names of files, what stands in them. A terminal obeys control characters. The runner of a CI job obeys
some lines: GitHub Actions one that begins with `::name`, after blanks, and one that holds `##[name]` anywhere
(actions/runner, src/Runner.Common/ActionCommand.cs), Azure Pipelines `##vso[name]`, TeamCity `##teamcity[name]`, GitLab
`section_start:` with a carriage return.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_ORDER = r"##(?=\w*\[)"
_NAMES = ("stdin", "stdout", "stderr")


def say(*lines: str, to: str = "stderr") -> None:
    """Print lines for people; `to` is the name of the stream. Raises OSError."""
    getattr(sys, to).write(said(*lines))


def said(*lines: str) -> str:
    """Lines for people as a text to print, each as `visible` has it."""
    return "".join(f"{visible(line)}\n" for line in lines)


def visible(text: str) -> str:
    """Text with everything a terminal or a CI runner would obey, hide or reorder written out.

    Tabs and line ends become blanks. What is visible already stays as it is.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(map(visible_char, text))
    return without_orders(text) if "##" in text or "::" in text else text


def visible_char(char: str) -> str:
    """A character, written out where it is one that a terminal obeys or hides."""
    if char in "\t\r\n":
        return " "
    import unicodedata

    # Control, format (bidirectional overrides, zero width), surrogates, separators of lines and paragraphs.
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        code = ord(char)
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return char


def without_orders(text: str) -> str:
    """The text with the characters written out by which it would be an order to a runner."""
    if "##" in text:
        text = escaped_orders(text, r"\x23")
    start = len(text) - len(text.lstrip())
    return f"{text[:start]}\\x3a{text[start + 1 :]}" if text.startswith("::", start) else text


def places_of_orders(line: str) -> frozenset[int]:
    """The places in a line of the characters that `without_orders` writes out in its middle."""
    if "##" not in line:
        return frozenset()
    import re

    return frozenset(match.start() + 1 for match in re.finditer(_ORDER, line))


def escaped_orders(text: str, escape: str) -> str:
    """The text with the second sign of each `##[name]` written as `escape`."""
    import re

    return re.sub(_ORDER, lambda _: f"#{escape}", text)


# -- broken streams ----------------------------------------------------------------------------------------------------


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
            say(f"trl-lint: the output cannot be written: {reason}")
            sys.stderr.flush()
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
