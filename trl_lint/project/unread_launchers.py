"""Files that name a launcher and that no reader understands: what they start was not checked, and that is said.

A search of bytes, in files of kinds in which people write commands; what is data, a log or prose is left alone. What
stands behind a `#` is a comment, as it is in the head of many a recipe.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache

from trl_lint import tracked
from trl_lint.finding import Location, Notice
from trl_lint.knowledge.needles import needles
from trl_lint.regexes import regex
from trl_lint.sources import Files, SourceError

# The word behind a program, with a flag or a config file behind it.
_SUBCOMMAND = r"[ \t]+[a-z][a-z-]{1,20}[ \t]+(?:--\w|[\w./${}\" -]{1,200}\.(?:ya?ml|json)\b)"
_STARTS_MODULE = regex(rb"python3?[ \t]{1,20}-m[ \t]{1,20}[a-z]\w{1,30}\.")
_MOST_BYTES = 200_000  # what is larger is data, and no text that people start programs with
_MOST_FILES = 500  # of one run


def unread_launchers(paths: Iterable[str], files: Files) -> Iterator[Notice]:
    """A notice for each of these files that names a launcher; the first ones, where there are very many."""
    from trl_lint import budget
    from trl_lint.project import is_larger
    from trl_lint.project.links import is_own_file

    for number, path in enumerate(paths):
        if number == _MOST_FILES:
            budget.note(path, f"of the files that nobody reads, those behind the first {_MOST_FILES} were not searched")
            return
        if tracked.is_link(path) and not is_own_file(path, path):
            continue
        with suppress(OSError, SourceError):
            if is_own_file(path, path) and not is_larger(path, _MOST_BYTES):
                notice = notice_of(path, files.read(path))
                if notice is not None:
                    yield notice


def notice_of(path: str, data: bytes) -> Notice | None:
    """What to say of a file that nobody reads, None if it names no launcher."""
    if b"\0" in data or len(data) > _MOST_BYTES:
        return None
    if not any(word in data for word in needles().commands) and b"python" not in data:
        return None
    if not _commands().search(data) and not _STARTS_MODULE.search(data):
        return None
    match = _launcher().search(data)
    if match is None:
        return None
    name = b" ".join(match[1].split()).decode("ascii", "replace")
    start = len(data[: match.start(1)].decode("utf-8", "replace"))
    place = Location(path, start, start + len(name))
    return Notice("unread-launcher", f"`{name}` in {os.path.basename(path)}", place)


@cache
def _commands() -> re.Pattern[bytes]:
    """The programs of the families where each is a word of its own, without asking the families."""
    names = b"|".join(map(re.escape, needles().commands))
    return re.compile(rb"(?<![\w.-])(?:%s)(?:-launch)?[ \t]" % names)


@cache
def _launcher() -> re.Pattern[bytes]:
    """A program of the families as it is called, or a module of theirs; in front of it there is no `#` on the line."""
    from trl_lint.knowledge.families import families

    calls = []
    for family in families():
        for program in family.program:
            name = re.escape(program.command)
            if program.words:
                calls.append(name + r"[ \t]+" + r"[ \t]+".join(map(re.escape, program.words)) + r"(?=[ \t\\])")
            elif program.subcommand:
                calls.append(name + _SUBCOMMAND)
            else:
                calls.append(name + r"[ \t]+(?:-|[\w./$-]{1,200}\.py)")
            calls += map(re.escape, program.also)
        calls += [r"python3?[ \t]+-m[ \t]+" + re.escape(module) + r"\.[\w.]{1,200}" for module in family.modules]
    return re.compile(rb"^[^#\n]{0,500}?(?<![\w.-])(%s)" % "|".join(calls).encode(), re.MULTILINE)
