"""The files of a project that may start a script, and what they give it from outside."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from trl_lint import tracked
from trl_lint.memos import per_project, read_per_project
from trl_lint.project import Project
from trl_lint.sources import SourceError
from trl_lint.sources.files import rarest_word, words_of

_SUFFIXES = (
    ".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".pbs", ".yaml", ".yml", ".py", ".ipynb", ".md", ".rst", ".txt",
    ".toml", ".mk", ".env",
)  # fmt: skip
# A command that submits a job, with an option by which it gets other GPUs or nodes.
_SUBMITTED = rb"\b(?:sbatch|qsub)\b[\s\S]{1,300}?(?:--gres|--gpus|--exclusive|--nodes|\s-[GNl]\b)"
_NAMES = ("Dockerfile", "Makefile", "makefile", "justfile", "Justfile", "tasks.json", "launch.json")


@per_project
def files_naming(path: str, project: Project) -> list[str]:
    """The files of a project, other than the script at `path`, that name it: one of them may start it."""
    name = os.path.basename(path).encode(errors="replace")
    found = []
    for other in _by_word(project).get(rarest_word(name), ()):
        with suppress(OSError, SourceError):
            if other != path and project.files.holds(other, name):
                found.append(other)
    return found


@read_per_project
def _by_word(project: Project) -> dict[bytes, list[str]]:
    """The files that may start something, by the words of them that are in the name of a file of the project."""
    words = {rarest_word(os.path.basename(path).encode(errors="replace")) for path in project.paths}
    found: dict[bytes, list[str]] = {}
    for path in project.paths:
        if _may_start(path):
            with suppress(OSError, SourceError):
                for word in words & words_of(project.files.read(path)):
                    found.setdefault(word, []).append(path)
    return found


def _may_start(path: str) -> bool:
    """Whether people write into a file of this name how something is started: also one without a suffix."""
    name = os.path.basename(path)
    return name.endswith(_SUFFIXES) or name.startswith(_NAMES) or "." not in name


@per_project
def may_be_given(names: frozenset[str], path: str, project: Project) -> bool:
    """Whether a file that names the script at `path` may set one of these variables for it.

    A number is an argument: one that follows the script where it is named. Others are set by name.
    """
    folder, name = os.path.split(path)
    in_folder = rf"(?:\b{re.escape(os.path.basename(folder))}/|\./|[}})\"]/|\$\w+/)"
    argument = r"[\"'`]?,?[ \t]+[^\s#|;&]"
    for other in files_naming(path, project):
        # Beside another script of that name, the name alone means that one.
        is_other = tracked.is_file(os.path.join(os.path.dirname(other), name)) and os.path.dirname(other) != folder
        script = (in_folder if is_other else rf"(?:(?<![\w./-])|{in_folder})") + re.escape(name)
        wanted = [f"{script}{argument}" if each.isdecimal() else _setting(each) for each in sorted(names)]
        with suppress(OSError, SourceError):
            if _fits(script, other, project) and _fits("|".join(wanted), other, project):
                return True
    return False


@per_project
def is_submitted_with_gpus(path: str, project: Project) -> bool:
    """Whether the batch script at `path` may be submitted with options about GPUs, which go before its own lines.

    Somebody writes such a command into a file that names the script, or into its own comments.
    """
    for other in (path, *files_naming(path, project)):
        with suppress(OSError, SourceError):
            if project.files.fits(other, _SUBMITTED):
                return True
    return False


@per_project
def is_named_beside(word: str, path: str, project: Project) -> bool:
    """Whether another Python file that has the longest word in the name of the module at `path` has `word` as well."""
    name = os.path.basename(path).encode(errors="replace")
    for other in _by_word(project).get(rarest_word(name), ()):
        with suppress(OSError, SourceError):
            if other != path and other.endswith((".py", ".ipynb")) and project.files.holds(other, word.encode()):
                return True
    return False


def _setting(name: str) -> str:
    """How a text sets a variable: `NAME=`, `"NAME":`, `("NAME", …)`, `read NAME`, `export NAME`."""
    word = rf"\b{re.escape(name)}\b"
    return rf"{word}[\"']?\]?[ \t]*[=:,]|\bread\b[^\n]*{word}|\bexport[ \t]+{word}"


def _fits(pattern: str, path: str, project: Project) -> bool:
    return project.files.fits(path, pattern.encode(errors="replace"))
