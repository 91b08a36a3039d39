"""Reading shell: every command of a script with its words, its variables and its working directory.

The grammar is tree-sitter-bash; nothing is run. A value that depends on anything outside the script (an argument, the
environment, a branch, a loop, a command's output) is a hole: `Word.text is None`. Holes are never guessed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import lru_cache, wraps

from trl_lint import budget
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell_state import State, View
from trl_lint.sources.shell_values import Word
from trl_lint.sources.simple_commands import Command, Cut, Heredoc, Redirect

__all__ = [
    "Command",
    "Cut",
    "Directive",
    "Heredoc",
    "Pieces",
    "Redirect",
    "View",
    "Word",
    "commands",
    "directives",
    "read_commands",
]

_DIRECTIVE = regex(r"^#(SBATCH|PBS|BSUB|\$)[ \t]+(.+)$", re.MULTILINE)
_DIRECTIVE_OPTION = regex(r"(?:^|(?<=\s))(--?[\w-]+)(?:=(\S+)|[ \t]+(?!-)(\S+))?")


def read_once(read: Callable[[Source], list[Command]]) -> Callable[[Source], list[Command]]:
    """Keep what is read of a source with its file: who looks for launches and who looks for pins both ask for it."""

    @wraps(read)
    def known(source: Source) -> list[Command]:
        kept = source.file.commands
        key = (read.__name__, source.text, source.text is source.file.text)
        found = kept.get(key)
        if found is None:
            found = kept[key] = read(source)
        return found

    return known


@read_once
def commands(source: Source) -> list[Command]:
    """Every command of a shell source in the order it is written, with those inside `bash -c` and `$(…)`.

    Broken syntax costs the commands it covers, never an exception; what is still readable is marked `errors`.
    """
    if source.text is source.file.text:
        return read_commands(source.text, script=source.path)
    found, limits = _commands_of(source.text)
    for number, what, start in limits:
        budget.limit(number, what, source.path, source.file_offset(start))
    return list(found)


@lru_cache(maxsize=256)
def _commands_of(text: str) -> tuple[tuple[Command, ...], tuple[budget.Limit, ...]]:
    """The commands of a text in some document, and what was left out of it.

    The notebooks of a project install the same, line by line.
    """
    with budget.overheard() as limits:
        return tuple(read_commands(text)), tuple(limits)


def read_commands(
    text: str,
    pieces: Pieces | None = None,
    state: State | None = None,
    script: str | None = None,
    original: str | None = None,
) -> list[Command]:
    """The commands of a shell text; offsets count in the text that `pieces` was cut from, or in `text` without it.

    `original` is that other text; `state` holds what is known before; `script` is the path of a file that is a script.
    """
    from trl_lint.sources.shell_blanks import fill_blanks
    from trl_lint.sources.shell_reader import Reader
    from trl_lint.sources.shell_text import ShellText

    state = State() if state is None else state
    if (filled := fill_blanks(text, pieces)) is not None:
        text, pieces, original = filled.text, filled, text if original is None else original
    reader = Reader(ShellText(text, text if original is None else original, pieces), state, script)
    try:
        reader.read()
    except RecursionError:
        state.forget_all()  # what was read up to there stands
        budget.limit(sys.getrecursionlimit(), "commands nested deeper than Python can follow ({}) were not read")
    return reader.commands


class Directive(NamedTuple):
    """One option of a scheduler line: `#SBATCH --gres=gpu:4` is ("SBATCH", "--gres", "gpu:4")."""

    scheduler: str
    name: str
    value: str
    start: int
    end: int


def directives(source: Source) -> list[Directive]:
    """The scheduler options in the head of a script. Schedulers stop at the first command, and so does this."""
    text = source.text
    end = _end_of_comments(text)
    found = []
    for line in _DIRECTIVE.finditer(text, 0, end):
        scheduler = {"$": "SGE"}.get(line[1], line[1])
        # A comment may follow the options; a value never holds ` #`.
        options = line[2].rstrip(" \t\r").split(" #", 1)[0]
        for option in _DIRECTIVE_OPTION.finditer(options):
            value = option[2] or option[3] or ""
            start = line.start(2) + option.start()
            found.append(Directive(scheduler, option[1], value.strip("\"'"), start, line.start(2) + option.end()))
    return found


def _end_of_comments(text: str) -> int:
    offset = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        offset += len(line)
    return offset
