"""A launch: one command that starts a Python program, and what it says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from trl_lint.finding import Location
from trl_lint.missing import Missing
from trl_lint.paths import DOCUMENTS
from trl_lint.project.launchers import (
    SET_HOLE,
    Flags,
    read_flags,
)
from trl_lint.project.links import inside_project, linked_files
from trl_lint.sources import Source

if TYPE_CHECKING:
    from trl_lint.knowledge.families import Program
    from trl_lint.project.scheduler import Scheduler
    from trl_lint.sources.shell import Command, View, Word


class Variables(Mapping[str, "Word"]):
    """The variables a program sees and the text sets: those of its own command, and those of the script around it.

    Looked up when asked for: a script of thousands of lines has as many variables as commands.
    """

    __slots__ = ("_around", "_own")

    def __init__(self, own: dict[str, Word], around: View | None = None) -> None:
        self._own = own
        self._around = around

    def __getitem__(self, name: str) -> Word:
        if name in self._own:
            return self._own[name]
        if self._around is None:
            raise KeyError(name)
        word = self._around[name]
        # Not exported: the program sees it only if it was inherited before.
        return word if self._around.exported(name) else word._replace(text=None, template="", options=())

    def names(self) -> Iterator[str]:
        """Every name that may be among them, cheaper than asking whether it is."""
        yield from self._own
        if self._around is not None:
            yield from (name for name in self._around.names() if name not in self._own)

    @property
    def is_partial(self) -> bool:
        """Whether there may be some that no text names: those of a sourced file."""
        return self._around is not None and self._around.is_partial

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.names() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Launch:
    """One command that starts a Python program, directly or through a launcher.

    launcher       "python", or the command of a program of `rules/families`; "" if a variable names it
    launcher_word  the word that names it (the script itself where it is started as a program)
    program        what is known of the launcher, None for the interpreter
    subcommand     what the program is told to do: "sft" of `trl sft`, "serve" of `vllm serve`; None for the others
    options        the launcher's own options, `--num_processes` with `_` for `-`; a flag's value is its own word
    script, module the program; `script_path` is its file if one, and only one, is found; `candidates` are all found
    args           the words behind the program
    env            variables the program sees and the text sets: name -> Word (text None: unknown)
    visible_gpus   ids of the GPUs the text makes visible; None where the text does not say
    visible_word   the word that says so
    config_file    absolute path of the accelerate config named by `--config_file`, if it exists
    wrappers       programs taken off the front, outermost first (`srun`, `uv`, `bash`)
    scheduler      what the `#SBATCH` lines of the same file ask for
    """

    __slots__ = (
        "_flags",
        "args",
        "candidates",
        "command",
        "config_file",
        "env",
        "interpreter_options",
        "is_documentation",
        "launcher",
        "launcher_word",
        "module",
        "options",
        "scheduler",
        "script",
        "source",
        "subcommand",
        "visible_gpus",
        "visible_word",
        "wrappers",
    )

    def __init__(self, launcher: str, launcher_word: Word, command: Command, source: Source) -> None:
        self.launcher = launcher
        self.launcher_word = launcher_word
        self.command = command
        self.source = source
        self.script: Word | None = None
        self.module: str | None = None
        self.subcommand: str | None = None
        self.candidates: tuple[str, ...] = ()
        self.args: tuple[Word, ...] = ()
        self.options: dict[str, Word] = {}
        self.interpreter_options: tuple[Word, ...] = ()
        self.env: Variables = Variables({})
        self.visible_gpus: tuple[str, ...] | None = None
        self.visible_word: Word | None = None
        self.wrappers: tuple[str, ...] = ()
        self.config_file: str | None = None
        self.scheduler: Scheduler | None = None
        self.is_documentation = False
        self._flags: Flags | None = None

    @property
    def program(self) -> Program | None:
        if self.launcher in ("", "python"):
            return None
        from trl_lint.knowledge.families import programs

        return programs()[self.launcher]

    @property
    def script_path(self) -> str | None:
        return self.candidates[0] if len(self.candidates) == 1 else None

    @property
    def first_config(self) -> Word | None:
        """`python train.py config.yaml`: scripts with an HfArgumentParser and most frameworks take the file first.

        JSON with other arguments than overrides behind it is data, for an HfArgumentParser reads it alone.
        """
        if not self.args or self.args[0].text is None or not self.args[0].text.endswith(DOCUMENTS):
            return None
        first, *others = self.args
        if "=" in (first.text or ""):
            return None  # `config=a.yaml` gives it by its name
        is_data = (first.text or "").endswith(".json") and any("=" not in (word.text or word.raw) for word in others)
        return None if is_data and self.script is not None else first

    @property
    def location(self) -> Location:
        return self.source.location(self.command.start, self.command.end)

    @property
    def is_mild(self) -> bool:
        """Whether what is found in it weighs less: it is only shown, or run in what may be another checkout."""
        is_in_unknown_folder = self.script is not None and self.script.text is None
        return is_in_unknown_folder or self.is_documentation or self.is_elsewhere

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is run in a folder that is named and is not one of the project."""
        directory = self.command.directory or ""
        if self.source.language == "dockerfile" or not directory.startswith("/"):
            return False
        return not inside_project(f"{directory}/.here", self.source.path)

    def files_named(self, name: str) -> list[str]:
        """The absolute paths of the existing files that a name written in this command may mean."""
        return linked_files(name, self.source, self.command.directory)

    def file_named(self, name: str) -> str | None:
        """The file that a name written in this command means; None if there is none, or if it may be one of several."""
        paths = self.files_named(name)
        return paths[0] if len(paths) == 1 else None

    def flag(self, name: str) -> Word | Missing:
        """The value of an argument of the script: `--x v` and `--x=v` give v, a bare `--x` gives itself.

        The last one counts. ABSENT only if no word can hide it: with `"$@"` or `$EXTRA_ARGS` among the arguments the
        answer is UNKNOWN.
        """
        known = self._flags
        if known is None or known.args is not self.args:
            known = self._flags = read_flags(self.args)
        return known.given.get(name, known.absent)

    def place_of(self, word: Word, name: str) -> Location:
        """Where a flag is written in a word; of one that comes out of a variable, where that gets it; else the word."""
        for text in (name, name.lstrip("-")):  # a job file may hold `"--name"`, or the flag as a key
            start = word.start + max(0, word.raw.find(text))
            if text and self.source.text.startswith(text, start):
                return self.source.location(start, start + len(text))
        found = self.written(name) if "$" in word.raw else None
        return found or self.source.location(word.start, word.end)

    def place_of_value(self, word: Word) -> Location:
        """The same for a whole word that is a value."""
        text = word.text or ""
        is_here = not text or "$" not in word.raw
        return (None if is_here else self.written(text)) or self.source.location(word.start, word.end)

    def written(self, text: str) -> Location | None:
        """The one place of the file where a text stands as a word; None where there are more, or none."""
        whole, start = self.source.text, 0
        found: list[int] = []
        while len(found) < 2 and (start := whole.find(text, start)) >= 0:
            end = start + len(text)
            if not _goes_on(whole[start - 1 : start]) and not _goes_on(whole[end : end + 1]):
                found.append(start)
            start = end
        return self.source.location(found[0], found[0] + len(text)) if len(found) == 1 else None

    def hides_options(self) -> bool:
        """Whether a word before the program may stand for options of the launcher: `accelerate launch $ARGS x.py`."""
        end = self.script.start if self.script is not None else self.command.end
        words = (word for word in self.command.words if self.launcher_word.end <= word.start < end)
        return any(word.text is None and word.several and SET_HOLE.search(word.raw) for word in words)

    def __repr__(self) -> str:
        return f"Launch({self.launcher}, {self.module or (self.script.text if self.script else None)!r})"


def _goes_on(character: str) -> bool:
    """Whether a word does not end before, or begin behind, a character."""
    return character.isalnum() or character in ("-", "_", ".")
