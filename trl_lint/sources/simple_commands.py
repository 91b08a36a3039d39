"""Simple commands of a shell script: their words, and all that holds where they stand."""

from __future__ import annotations

from trl_lint.records import NamedTuple
from trl_lint.sources.shell_state import View
from trl_lint.sources.shell_values import Word


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
    function     the name of the shell function in which it stands, "" outside of them
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
        "function",
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
        self.function = ""
        self.branch: tuple[tuple[int, int], ...] = ()
        self.cut: Cut | None = None

    def __repr__(self) -> str:
        return "Command(" + " ".join("?" if w.text is None else w.text for w in self.words) + ")"
