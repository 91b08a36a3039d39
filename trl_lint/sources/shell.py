"""Reading shell: every command of a script with its words, its variables and its working directory.

The grammar is tree-sitter-bash; nothing is run. A value that depends on anything outside the script (an argument, the
environment, a branch, a loop, a command's output) is a hole: `Word.text is None`. Holes are never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell_state import State, View, Word

__all__ = [
    "Command",
    "Cut",
    "Directive",
    "Heredoc",
    "Pieces",
    "View",
    "Word",
    "commands",
    "directives",
    "read_commands",
]

_DIRECTIVE = regex(r"^#(SBATCH|PBS|BSUB|\$)[ \t]+(.+)$", re.MULTILINE)
_DIRECTIVE_OPTION = regex(r"(?:^|(?<=\s))(--?[\w-]+)(?:=(\S+)|[ \t]+(?!-)(\S+))?")


class Heredoc(NamedTuple):
    """The body of a here-document. `quoted`: the shell expands nothing inside it."""

    text: str
    start: int
    end: int
    quoted: bool


class Redirect(NamedTuple):
    """`operator` as written (`>`, `2>&1` has `>&`) and where it goes."""

    operator: str
    target: Word


class Cut(NamedTuple):
    """A continuation that does not continue: `start` is its backslash, `end` the line that was meant to go on.

    `blanks`: white space (and perhaps a comment) follows the backslash, which so escapes a blank and not the line end.
    Otherwise empty lines or comments stand below it, and the command ends with them.
    """

    start: int
    end: int
    blanks: bool


class Command:
    """One simple command.

    words        program and arguments; holes have no text
    assignments  the `NAME=value` prefix of the command
    start, end   offsets in the source, from the first assignment or word to the last word
    env          variables known at this point: name -> Word (`env.exported(name)`: seen by the program)
    directory    working directory: absolute, relative to the start ("" = there), None unknown
    outer        the words of the command whose argument this command is written in (`srun bash -c "…"`)
    pipes_to     programs that read its output through a pipe; `piped_from` is True when it reads from one
    background   followed by `&`
    errors       the syntax around it could not be read; its words may be incomplete
    exec_form    written as a JSON array (Dockerfile): no shell sees the words
    branch       the branches of `if` and `case` around it, outermost first: a number for each decision, and the way
    cut          where a backslash behind it failed to continue it; None where all is well
    """

    __slots__ = (
        "assignments",
        "background",
        "branch",
        "cut",
        "directory",
        "end",
        "env",
        "errors",
        "exec_form",
        "heredocs",
        "outer",
        "piped_from",
        "pipes_to",
        "redirects",
        "start",
        "words",
    )

    def __init__(self, words: tuple[Word, ...], env: View, directory: str | None, start: int, end: int) -> None:
        self.words = words
        self.env = env
        self.directory = directory
        self.start = start
        self.end = end
        self.assignments: tuple[tuple[str, Word], ...] = ()
        self.outer: tuple[Word, ...] = ()
        self.heredocs: tuple[Heredoc, ...] = ()
        self.redirects: tuple[Redirect, ...] = ()
        self.pipes_to: tuple[str, ...] = ()
        self.piped_from = False
        self.background = False
        self.errors = False
        self.exec_form = False
        self.branch: tuple[tuple[int, int], ...] = ()
        self.cut: Cut | None = None

    def __repr__(self) -> str:
        return "Command(" + " ".join("?" if w.text is None else w.text for w in self.words) + ")"


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
    return list(_commands_of(source.text))


@lru_cache(maxsize=256)
def _commands_of(text: str) -> tuple[Command, ...]:
    """The commands of a text in some document: the notebooks of a project install the same, line by line."""
    return tuple(read_commands(text))


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
    from trl_lint.sources.shell_reader import Reader

    state = State() if state is None else state
    reader = Reader(text, text if original is None else original, pieces, state, script)
    try:
        reader.read()
    except RecursionError:
        state.forget_all()  # nested deeper than anybody writes; what was read up to there stands
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
