"""The files of a project that may start a script, and what they give it from outside."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from trl_lint import tracked
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.sources import SourceError

_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch", ".yaml", ".yml", ".py", ".md")


@per_project
def files_naming(path: str, project: Project) -> list[str]:
    """The files of a project, other than the script at `path`, that name it: one of them may start it."""
    name = os.path.basename(path).encode(errors="replace")
    found = []
    for other in project.paths():
        if other != path and other.endswith(_SUFFIXES):
            with suppress(OSError, SourceError):
                if project.files.holds(other, name):
                    found.append(other)
    return found


@per_project
def may_be_given(names: frozenset[str], path: str, project: Project) -> bool:
    """Whether a file that names the script at `path` may set one of these variables for it.

    A number is an argument: one that follows the script where it is named. `NAME=`, `"NAME":` and `NAME:` set others.
    """
    folder, name = os.path.split(path)
    in_folder = rf"(?:\b{re.escape(os.path.basename(folder))}/|\./|[}})\"]/|\$\w+/)"
    argument = r"[\"'`]?,?[ \t]+[^\s#|;&]"
    for other in files_naming(path, project):
        # Beside another script of that name, the name alone means that one.
        is_other = tracked.is_file(os.path.join(os.path.dirname(other), name)) and os.path.dirname(other) != folder
        script = (in_folder if is_other else rf"(?:(?<![\w./-])|{in_folder})") + re.escape(name)
        wanted = [
            rf"{script}{argument}" if each.isdecimal() else rf"\b{re.escape(each)}\b[\"']?\]?[ \t]*[=:]"
            for each in sorted(names)
        ]
        with suppress(OSError, SourceError):
            if _fits(script, other, project) and _fits("|".join(wanted), other, project):
                return True
    return False


def _fits(pattern: str, path: str, project: Project) -> bool:
    return project.files.fits(path, pattern.encode(errors="replace"))
