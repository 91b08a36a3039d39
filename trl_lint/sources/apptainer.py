"""Definition files of Apptainer and Singularity: the commands of `%post`, and what `%files` copies into the image."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell import Command, read_commands
from trl_lint.sources.shell_state import State

_SECTION = regex(r"^%(?P<name>[a-z]+)[^\n]*\n?", re.MULTILINE)
_BOOTSTRAP = regex(r"^[ \t]*bootstrap[ \t]*:", re.IGNORECASE | re.MULTILINE)


def is_definition(text: str) -> bool:
    """Whether a text begins as every definition does: files of other programs have such names, too."""
    return _BOOTSTRAP.search(text) is not None


def post_commands(source: Source) -> list[Command]:
    """The commands that make the image, in order; their `directory` is one of the image."""
    found: list[Command] = []
    for name, start, end in _sections(source.text):
        if name == "post":
            script = Pieces()
            script.copy(source.text, start, end)
            found += read_commands(script.text, script, State(), original=source.text)
    return found


def files_of(source: Source) -> dict[str, str]:
    """Paths of the image, and what is copied there out of the folder that the image is built in."""
    found: dict[str, str] = {}
    for name, start, end in _sections(source.text):
        for line in source.text[start:end].splitlines() if name == "files" else ():
            words = line.split("#")[0].split()
            if words:
                place = words[-1] if len(words) > 1 else posixpath.join("/", words[0])
                into = posixpath.join(place, posixpath.basename(words[0])) if place.endswith("/") else place
                found[posixpath.normpath(into)] = posixpath.normpath(words[0]).lstrip("/")
    return found


def _sections(text: str) -> Iterator[tuple[str, int, int]]:
    """The name of each section with the range of its lines."""
    heads = list(_SECTION.finditer(text))
    for head, following in zip(heads, (*heads[1:], None), strict=True):
        yield head["name"], head.end(), following.start() if following is not None else len(text)
