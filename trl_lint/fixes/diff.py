"""What fixes would change, as a unified diff that `git apply` and `patch` accept."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.reports import visible
from trl_lint.reports.colors import Palette


def unified(name: str, before: str, after: str) -> Iterator[str]:
    """The lines of the diff between two texts of a file, line ends included."""
    import difflib

    # Only LF ends a line of a patch; a CR before it belongs to the line.
    old, new = _lines(before), _lines(after)
    for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"):
        if line.endswith("\n"):
            yield line
        else:
            yield line + "\n"
            yield "\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


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
