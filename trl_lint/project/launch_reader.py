"""From one command to the launch it is: program, script, arguments, GPUs, processes, files."""

from __future__ import annotations

import os.path
import re

from trl_lint import budget
from trl_lint.knowledge.families import Program
from trl_lint.knowledge.wrappers import names_of_wrappers
from trl_lint.project.launch import Launch, Variables
from trl_lint.project.launchers import (
    PYTHON,
    PYTHON_WITH_VALUE,
    basename,
    is_installed,
    option_name,
    tail_of,
)
from trl_lint.project.links import below_unknown, linked_files
from trl_lint.project.peeling import Peeled, peel
from trl_lint.sources import Source
from trl_lint.sources.shell import Command, Word

_MOST_OUTER = 200  # words around each of the commands in one text: they are read for each of these


def launch_of(command: Command, source: Source) -> Launch | None:
    """The launch a command is, None if it starts no Python program."""
    peeled = peel(command.words)
    if peeled is None or peeled.program >= len(command.words) or peeled.is_text:
        return None
    if any(row.fills for row in peeled.rows):
        return None  # `carried` makes the commands that it starts
    if peeled.in_container or peeled.folders:
        from copy import copy

        command, around = copy(command), command.directory
        command.directory = peeled.directory(around)
    words = command.words
    index = peeled.program
    name = basename(words[index])
    if PYTHON.match(name):
        launch = _python(command, source, index)
    elif (found := _program_at(words, index)) is not None:
        launch = _launcher(command, source, *found, words[index])
    elif not name and words[index].text is None and _is_module(words, index + 1):
        # `"${LAUNCH[@]}" -m verl.trainer.main_ppo`: whatever starts it, the module is known.
        launch = _module(Launch("", words[index], command, source), index + 2)
    elif peeled.rows and name in peeled.rows[-1].module and index + 1 < len(words):
        launch = _module(Launch("python", words[index], command, source), index + 1)
    elif name.endswith(".py") and (any(row.python for row in peeled.rows[-1:]) or "/" in (words[index].text or "")):
        launch = Launch("python", words[index], command, source)
        _script(launch, index)
    else:
        launch = None
    if launch is None:
        return None
    outer = command.outer[:_MOST_OUTER]
    if len(command.outer) > _MOST_OUTER:
        budget.note(source.path, f"of a command around others, the words behind the first {_MOST_OUTER} were not read")
    launch.wrappers = (*_outer_programs(outer), *peeled.wrappers)
    launch.env = _environment(command, peeled)
    _read_gpus(launch, outer)
    _resolve(launch)
    return launch


def _program_at(words: tuple[Word, ...], index: int) -> tuple[Program, int] | None:
    """The program of a family that stands at `index`, and where the words that belong to its name end."""
    from trl_lint.knowledge.families import programs, programs_in_one_word

    name = basename(words[index])
    if not name or not is_installed(words[index].text or ""):
        return None
    whole = programs_in_one_word().get(name)
    if whole is not None:
        return whole, index + 1
    program = programs().get(name)
    if program is None:
        return None
    end = index + 1 + len(program.words)
    return (program, end) if tuple(word.text for word in words[index + 1 : end]) == program.words else None


def _outer_programs(outer: tuple[Word, ...]) -> tuple[str, ...]:
    """The programs around a command in quotes: `srun -n 1 bash -c "…"` -> srun, bash."""
    if not outer:
        return ()
    peeled = peel(outer)
    if peeled is None or peeled.program >= len(outer):
        return tuple(basename(word) for word in outer[:1])
    return (*peeled.wrappers, basename(outer[peeled.program]))


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


def _read_gpus(launch: Launch, outer: tuple[Word, ...]) -> None:
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
    elif word is None and _is_in_container(launch):
        _read_container(launch, outer)


def _is_in_container(launch: Launch) -> bool:
    return not names_of_wrappers("container").isdisjoint(launch.wrappers)


def _read_container(launch: Launch, outer: tuple[Word, ...]) -> None:
    from itertools import takewhile

    from trl_lint.project.containers import gpus_of_container

    front = takewhile(lambda word: word is not launch.launcher_word, launch.command.words)
    found = gpus_of_container((*outer, *front))
    if found is not None:
        launch.visible_gpus, launch.visible_word = found


def _resolve(launch: Launch) -> None:
    word = launch.script
    if word is not None and word.text:
        launch.candidates = tuple(launch.files_named(word.text))
    elif word is not None and (tail := below_unknown(word)):
        launch.candidates = tuple(linked_files(tail, launch.source, ""))
    elif launch.module:
        stem = launch.module.replace(".", "/")
        names = (f"{stem}.py", f"{stem}/__main__.py", f"src/{stem}.py", f"src/{stem}/__main__.py")
        launch.candidates = tuple(dict.fromkeys(path for name in names for path in launch.files_named(name)))
    config = launch.options.get("--config_file") if launch.launcher == "accelerate" else None
    if config is not None and config.text:
        launch.config_file = launch.file_named(config.text)
