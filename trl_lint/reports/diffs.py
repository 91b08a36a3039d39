"""Changes of a text as a unified diff that `git apply` and `patch` accept."""

from __future__ import annotations

from collections.abc import Iterator


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
