"""How the diff of a fix looks in a terminal and in the log of a CI job."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.reports import visible
from trl_lint.reports.colors import Palette


def painted(lines: Iterator[str], palette: Palette) -> Iterator[str]:
    """The same for a terminal: in colours, and with nothing in it that a terminal would obey."""
    for line in lines:
        shown = visible(line.rstrip("\r\n").replace("\t", "    "))
        if line.startswith(("---", "+++")):
            shown = palette.bold(shown)
        elif line.startswith("@@"):
            shown = palette.cyan(shown)
        elif line.startswith("-"):
            shown = palette.red(shown)
        elif line.startswith("+"):
            shown = palette.green(shown)
        yield shown + "\n"


def safe_line(line: str) -> str:
    """A line of a patch as it is, or written out where a terminal or a CI runner would obey something in it."""
    body = line.rstrip("\r\n")
    # A byte order mark and tabs are obeyed by nobody, and without them the patch could not be applied.
    plain = body.replace("\ufeff", "").replace("\t", " ")
    return line if visible(plain) == plain else visible(body) + "\n"
