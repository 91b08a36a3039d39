"""Launches: the commands that start training or serving, wherever a project writes them down.

Scripts, SLURM files, Makefiles, Dockerfiles, notebooks, and the files of `rules/wrappers.toml` (job files, workflows,
task runners) say what is run; Markdown, module docstrings and leading comments say what people are told to run, and are
marked as documentation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache

from trl_lint.paths import MARKDOWN
from trl_lint.project.launch import Launch
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.shell import Command
from trl_lint.sources.text import MAX_BYTES, refuse_large

__all__ = ["Launch", "holds_launches", "read_launches"]

_SHELL_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch", ".zsh", ".pbs", ".lsf", ".qsub", ".sge")
# Of all JSON, TOML and INI files only these hold commands.
_WITH_COMMANDS = frozenset(
    (
        ".devcontainer.json", ".justfile", "devcontainer.json", "hatch.toml", "launch.json", "package.json",
        "pixi.toml", "poe_tasks.toml", "pyproject.toml", "tasks.json", "tox.ini",
    )
)  # fmt: skip
_MAKEFILES = frozenset({"Makefile", "makefile", "GNUmakefile"})
_JUSTFILES = frozenset({"justfile", "Justfile", "JUSTFILE", ".justfile"})
# YAML and TOML by these names.
_WITHOUT_SUFFIX = frozenset({"MLproject", "Pipfile"})
_DOCKERFILE = regex(r"(?:Dockerfile|Containerfile)(?:[._-].*)?\Z|.*\.(?:dockerfile|Dockerfile)\Z")
_SHEBANG = regex(rb"#![^\n]*\b(?:ba|z|da|k)?sh\b")
_SCRIPT = regex(rb"\.py\b")
# In the bytes of a Python file: without one of these it starts nothing.
_STARTS = regex(
    rb"\b(?:subprocess\b|os\.(?:system|popen)\b|(?:sagemaker|submitit|azureml|sky)\b|azure\.ai\.ml"
    rb"|submit_job\b|run(?:_uv)?_job\b|create_subprocess|(?:modal|nox|invoke|fabric)\b|BashOperator\b)"
)
_MARKS = (
    b"subprocess", b"os.", b"sagemaker", b"submitit", b"azure", b"sky", b"_job", b"modal", b"nox", b"invoke", b"fabric",
    b"BashOperator",
)  # fmt: skip


def holds_launches(path: str) -> bool:
    """Whether a file of this name can hold launches; a file without a suffix may be a shell script."""
    name = os.path.basename(path)
    if name.endswith((*_SHELL_SUFFIXES, *MARKDOWN, ".py", ".ipynb", ".mk", ".just", ".yml", ".yaml")):
        return True
    return "." not in name or name in _WITH_COMMANDS or _DOCKERFILE.match(name) is not None


def is_shell_script(file: SourceFile) -> bool:
    """Whether a file is one, by its name or by its first line."""
    return file.path.endswith(_SHELL_SUFFIXES) or _SHEBANG.match(file.data) is not None


def read_launches(file: SourceFile) -> list[Launch]:
    """Every launch written in a file, in the order of the text. Raises SourceError if the file cannot be decoded."""
    if not _names_launcher(file.data):
        return []
    if not file.path.endswith(".ipynb") and len(file.data) > MAX_BYTES:
        if file.path.endswith((".py", *MARKDOWN)):
            return []  # only examples stand there
        refuse_large(len(file.data))
    found: list[Launch] = []
    for source, commands, is_documentation in command_sources(file):
        scheduler = None
        if source.language == "shell" and not is_documentation:
            from trl_lint.project.scheduler import read_scheduler

            scheduler = read_scheduler(source)
        for launch in _launches_of(commands, source):
            if not shows_help(launch):
                launch.is_documentation = is_documentation
                launch.scheduler = scheduler
                found.append(launch)
    return found


def _launches_of(commands: list[Command], source: Source) -> Iterator[Launch]:
    """The launches among some commands, and among those that stand in their words."""
    if not commands:
        return
    from trl_lint.project.carried import with_carried
    from trl_lint.project.launch_reader import launch_of

    for command in with_carried(commands, source.text):
        launch = launch_of(command, source)
        if launch is not None:
            yield launch


def shows_help(launch: Launch) -> bool:
    """Whether a command only prints how it is used: then it starts nothing."""
    return any(word.text in ("-h", "--help") for word in launch.args)


def _names_launcher(data: bytes) -> bool:
    """Whether a file may hold a launch: nothing is parsed in one that names no program."""
    from trl_lint.knowledge.needles import needles

    words = needles()
    # Plain words first: a search for each is faster than one for all.
    if b"python" in data or any(name in data for name in words.plain) or (b".py" in data and _SCRIPT.search(data)):
        return True
    if b"uv run" in data and b" -m " in data:
        return True
    return any(name in data and _as_command(name).search(data) is not None for name in words.common)


@cache
def _as_command(name: bytes) -> re.Pattern[bytes]:
    """A word where it can be a command."""
    return re.compile(rb"\b%s[ \t\\\"']" % re.escape(name))


def command_sources(file: SourceFile, script: str = "") -> Iterator[tuple[Source, list[Command], bool]]:
    """The texts of a file that hold commands, each with these, and whether they are only shown.

    `script`: the name of one that is looked for as well as programs that are known.
    """
    name = os.path.basename(file.path)
    if name.endswith(".py"):
        from trl_lint.knowledge.needles import needles
        from trl_lint.sources.pydoc_commands import documented_commands

        source = Source(file, "python")
        programs = tuple(map(bytes.decode, needles().commands))
        yield source, documented_commands(source, programs), True
        yield source, _started_by(file, source, script), False
    elif name.endswith(MARKDOWN):
        from trl_lint.sources.markdown import fences
        from trl_lint.sources.shell import commands

        for fence in fences(Source(file, "markdown")):
            if fence.language == "shell":
                yield fence, commands(fence), True
    elif name.endswith(".ipynb"):
        from trl_lint.sources.notebook import shell_lines

        for line in shell_lines(file):
            if _names_launcher(line.text.encode("utf-8", "replace")) or (script and script in line.text):
                yield line, _notebook_commands(line), False
    else:
        yield from _whole_file(file, name)


def _started_by(file: SourceFile, source: Source, script: str) -> list[Command]:
    """The commands that a Python file starts; those of tests are often meant to fail."""
    if not any(mark in file.data for mark in _MARKS) or not _STARTS.search(file.data):
        return []
    from trl_lint.knowledge.needles import needles
    from trl_lint.paths import is_test_file
    from trl_lint.project.python_commands import started_commands

    words = needles()
    names = (*words.plain, *words.commands, b".py", b"-m", *filter(None, [script.encode(errors="replace")]))
    if not any(name in file.data for name in names) or is_test_file(os.path.join(*file.path.split(os.sep)[-2:])):
        return []
    return started_commands(source)


def _whole_file(file: SourceFile, name: str) -> Iterator[tuple[Source, list[Command], bool]]:
    if name in _MAKEFILES or name.endswith(".mk"):
        from trl_lint.sources.makefile import recipe_commands

        source = Source(file, "makefile")
        yield source, recipe_commands(source), False
    elif _DOCKERFILE.match(name):
        from trl_lint.sources.dockerfile import run_commands

        source = Source(file, "dockerfile")
        yield source, run_commands(source), False
    elif name.endswith(".just") or name in _JUSTFILES:
        from trl_lint.sources.justfile import recipe_commands as just_commands

        source = Source(file, "just")
        yield source, just_commands(source), False
    elif name.endswith((".yml", ".yaml", ".json", ".toml", ".ini")) or name in _WITHOUT_SUFFIX:
        from trl_lint.project.wrapped import held_in

        for held in held_in(file):
            yield held.source, held.commands, False
    elif is_shell_script(file):
        from trl_lint.sources.shell import commands

        source = Source(file, "shell")
        yield source, commands(source), False


def _notebook_commands(source: Source) -> list[Command]:
    """The commands of a `!` line. IPython fills in `{name}` before the shell starts, so that is a hole."""
    from trl_lint.sources.pieces import Pieces
    from trl_lint.sources.shell import commands, read_commands
    from trl_lint.sources.shell_values import HOLE

    holes = list(re.finditer(r"(?<!\$)\{[A-Za-z_][^{}\n,]*\}", source.text))
    if not holes:
        return commands(source)
    text = Pieces()
    position = 0
    for match in holes:
        text.copy(source.text, position, match.start())
        text.put(HOLE, match.start(), match.end())
        position = match.end()
    text.copy(source.text, position, len(source.text))
    return read_commands(text.text, text, original=source.text)
