"""From one command to the launch it is: program, script, arguments, GPUs, processes, files."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from trl_lint.finding import Location
from trl_lint.missing import Missing
from trl_lint.project.launchers import (
    PYTHON,
    PYTHON_WITH_VALUE,
    SET_HOLE,
    Flags,
    Peeled,
    basename,
    is_launcher,
    option_name,
    peel,
    read_flags,
    tail_of,
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
    def location(self) -> Location:
        return self.source.location(self.command.start, self.command.end)

    @property
    def is_mild(self) -> bool:
        """Whether what is found in it weighs less: it is only shown, or run in what may be another checkout."""
        directory = self.command.directory or ""
        if self.source.language == "dockerfile" or not directory.startswith("/"):
            return self.is_documentation
        return self.is_documentation or not inside_project(f"{directory}/.here", self.source.path)

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

    def hides_options(self) -> bool:
        """Whether a word before the program may stand for options of the launcher: `accelerate launch $ARGS x.py`."""
        end = self.script.start if self.script is not None else self.command.end
        words = (word for word in self.command.words if self.launcher_word.end <= word.start < end)
        return any(word.text is None and word.several and SET_HOLE.search(word.raw) for word in words)

    def __repr__(self) -> str:
        return f"Launch({self.launcher}, {self.module or (self.script.text if self.script else None)!r})"


def launch_of(command: Command, source: Source) -> Launch | None:
    """The launch a command is, None if it starts no Python program."""
    peeled = peel(command.words)
    if peeled is None or peeled.program >= len(command.words):
        return None
    words = command.words
    index = peeled.program
    name = basename(words[index])
    if PYTHON.match(name):
        launch = _python(command, source, index)
    elif is_launcher(words, index):
        from trl_lint.knowledge.families import programs

        program = programs()[name]
        launch = _launcher(command, source, program, index + 1 + len(program.words), words[index])
    elif not name and words[index].text is None and _is_module(words, index + 1):
        # `"${LAUNCH[@]}" -m verl.trainer.main_ppo`: whatever starts it, the module is known.
        launch = _module(Launch("", words[index], command, source), index + 2)
    elif name.endswith(".py") and (peeled.wrappers[-1:] == ("uv",) or "/" in (words[index].text or "")):
        launch = Launch("python", words[index], command, source)
        _script(launch, index)
    else:
        launch = None
    if launch is None:
        return None
    launch.wrappers = (*_outer_programs(command), *peeled.wrappers)
    launch.env = _environment(command, peeled)
    _read_gpus(launch)
    _resolve(launch)
    return launch


def _outer_programs(command: Command) -> tuple[str, ...]:
    """The programs around a command in quotes: `srun -n 1 bash -c "…"` -> srun, bash."""
    if not command.outer:
        return ()
    peeled = peel(command.outer)
    if peeled is None:
        return tuple(basename(word) for word in command.outer[:1])
    return (*peeled.wrappers, basename(command.outer[peeled.program]))


def _python(command: Command, source: Source, index: int) -> Launch | None:
    return _read_python(Launch("python", command.words[index], command, source), index)


def _read_python(launch: Launch, index: int) -> Launch | None:
    """What the interpreter at `index` runs; None if that is no file and no module, or cannot be told."""
    words = launch.command.words
    options: list[Word] = []
    position = index + 1
    while position < len(words):
        text = words[position].text
        if text is None and words[position].raw.startswith("-"):
            return None
        if text is None or not text.startswith("-"):
            break
        if text == "-m" and position + 1 < len(words):
            launch.interpreter_options = tuple(options)
            return _module(launch, position + 1)
        if text in ("-", "-c") or (text.startswith("-c") and not text.startswith("--")):
            return None
        options.append(words[position])
        if text in PYTHON_WITH_VALUE and position + 1 < len(words):
            position += 1
            options.append(words[position])
        position += 1
    launch.interpreter_options = tuple(options)
    if position >= len(words):
        return None
    _script(launch, position)
    return launch


def _module(launch: Launch, index: int) -> Launch:
    words = launch.command.words
    word = words[index]
    from trl_lint.knowledge.families import program_modules

    known = program_modules().get(word.text or "")
    if known is not None:
        program, extra = known
        return _launcher(launch.command, launch.source, program, index + 1 + extra, launch.launcher_word)
    launch.module = word.text
    launch.args = words[index + 1 :]
    return launch


def _is_module(words: tuple[Word, ...], index: int) -> bool:
    """Whether `-m package.module` stands at `index`."""
    given = [word.text or "" for word in words[index : index + 2]]
    return len(given) == 2 and given[0] == "-m" and re.fullmatch(r"\w+(?:\.\w+)+", given[1]) is not None


def _script(launch: Launch, index: int) -> None:
    launch.script = launch.command.words[index]
    launch.args = launch.command.words[index + 1 :]


def _launcher(command: Command, source: Source, program: Program, start: int, word: Word) -> Launch:
    """The launch of a program whose own name ends before `start`; `word` is what names it."""
    words = command.words
    launch = Launch(program.command, word, command, source)
    if program.starts_programs:
        _read_options(launch, start, program.flags)
        return launch
    if program.subcommand and start < len(words):
        launch.subcommand = words[start].text
        start += 1
    elif program.words:
        launch.subcommand = program.words[0]
    launch.args = words[start:]
    return launch


def _read_options(launch: Launch, position: int, flags: frozenset[str]) -> None:
    """The launcher's options up to the script. Behind a hole of several words only a `.py` file can be the script."""
    words = launch.command.words
    uncertain = False
    while position < len(words):
        word = words[position]
        text = word.text
        if text is None and word.raw.lstrip("\"'").startswith("-"):
            # `--nproc_per_node=$N` is an option whose value nobody knows; `--$NAME` may be any.
            name, equals, _ = word.raw.lstrip("\"'").partition("=")
            if equals and "$" not in name:
                launch.options[option_name(name)] = word
            else:
                uncertain = True
        elif text is None and word.several and position + 1 < len(words):
            uncertain = True
        elif text is not None and text.startswith("-") and len(text) > 1:
            name = option_name(text)
            if "=" in text:
                launch.options[name] = tail_of(word, text.index("=") + 1)
            elif name in flags:
                launch.options[name] = word
            elif position + 1 < len(words):
                position += 1
                launch.options[name] = words[position]
        elif text is not None and uncertain and not _is_program(text, launch):
            pass
        else:
            break
        position += 1
    if position >= len(words):
        return
    if "--no_python" in launch.options:
        _read_program(launch, position)
    elif "-m" in launch.options or "--module" in launch.options:
        launch.module = words[position].text
        launch.args = words[position + 1 :]
    else:
        _script(launch, position)


def _read_program(launch: Launch, position: int) -> None:
    """`--no_python`: a whole command stands behind the options, with an interpreter of its own or without one."""
    peeled = peel(launch.command.words[position:])
    if peeled is None or peeled.assignments or peeled.clean:
        return
    index = position + peeled.program
    word = launch.command.words[index]
    if PYTHON.match(basename(word)):
        _read_python(launch, index)
    elif word.text is None or "/" in word.text or word.text.endswith(".py"):
        _script(launch, index)


def _is_program(text: str, launch: Launch) -> bool:
    if "--no_python" in launch.options:
        return PYTHON.match(os.path.basename(text)) is not None or text.endswith(".py")
    return text.endswith(".py") or "-m" in launch.options or "--module" in launch.options


def _environment(command: Command, peeled: Peeled) -> Variables:
    own = dict(peeled.assignments) if peeled.clean else {**dict(command.assignments), **dict(peeled.assignments)}
    return Variables(own, None if peeled.clean else command.env)


def gpu_ids(text: str) -> tuple[str, ...] | None:
    """The ids of a CUDA_VISIBLE_DEVICES value as CUDA reads it: the list ends at the first id that cannot be one.

    None where the value is no list of ids (CUDA programming guide, "CUDA environment variables").
    """
    ids: list[str] = []
    for part in text.split(","):
        part = part.strip()
        if part.startswith(("GPU-", "MIG-")) or part.isdecimal():
            ids.append(part)
        elif re.fullmatch(r"-\d+|", part) or part == "NoDevFiles":
            break
        else:
            return None
    return tuple(ids) if len(set(ids)) == len(ids) else None


def _read_gpus(launch: Launch) -> None:
    word = launch.env.get("CUDA_VISIBLE_DEVICES")
    if launch.launcher == "accelerate" and (given := launch.options.get("--gpu_ids")) is not None:
        if given.text == "all":
            given = word
        word = given
    if launch.launcher == "deepspeed":
        selecting = {"--include", "-i", "--exclude", "-e", "--num_gpus", "--num_nodes", "--hostfile", "-H"}
        if selecting & launch.options.keys():
            # Its own selection makes deepspeed ignore the variable.
            word = launch.options.get("--include", launch.options.get("-i"))
            match = re.fullmatch(r"(?:localhost|127\.0\.0\.1|worker-0):([\d,]+)", word.text or "") if word else None
            launch.visible_gpus = gpu_ids(match[1]) if match else None
            launch.visible_word = word if match else None
            return
    if word is not None and word.text is not None:
        launch.visible_gpus = gpu_ids(word.text)
        launch.visible_word = word


def _resolve(launch: Launch) -> None:
    word = launch.script
    if word is not None and word.text:
        launch.candidates = tuple(launch.files_named(word.text))
    elif launch.module:
        stem = launch.module.replace(".", "/")
        names = (f"{stem}.py", f"{stem}/__main__.py", f"src/{stem}.py", f"src/{stem}/__main__.py")
        launch.candidates = tuple(dict.fromkeys(path for name in names for path in launch.files_named(name)))
    config = launch.options.get("--config_file") if launch.launcher == "accelerate" else None
    if config is not None and config.text:
        launch.config_file = launch.file_named(config.text)
