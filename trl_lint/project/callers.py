"""The files of a project in which a function of another file may be called."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import islice

from trl_lint.memos import per_project
from trl_lint.paths import is_test_file
from trl_lint.project import Project
from trl_lint.sources import SourceError

_MOST_FILES = 1_000  # `has_more_files` tells who asks that there are more


@per_project
def files_calling(needle: str, project: Project) -> list[str]:
    """The Python files of the project, no tests, that hold the name of a function with its bracket."""
    return [path for path in python_files(project) if _holds(project, path, needle)]


@per_project
def python_files(project: Project) -> list[str]:
    """The first of the Python files of the project that are no tests."""
    paths = (path for path in project.paths if path.endswith(".py"))
    own = (path for path in paths if not is_test_file(os.path.relpath(path, project.root)))
    return list(islice(own, _MOST_FILES))


@per_project
def has_more_files(project: Project) -> bool:
    """Whether the project has more Python files than are looked at for callers."""
    return (
        len(python_files(project)) == _MOST_FILES and sum(path.endswith(".py") for path in project.paths) > _MOST_FILES
    )


def _holds(project: Project, path: str, needle: str) -> bool:
    with suppress(OSError, SourceError):
        return project.files.holds(path, needle.encode())
    return False


def may_import(path: str, home: str, project: Project) -> bool:
    """Whether a file imports from the module `home`, or from a package around it, which may offer its names."""
    parts = [
        part for part in os.path.relpath(home, project.root).removesuffix(".py").split(os.sep) if part != "__init__"
    ]
    words = "|".join(map(re.escape, parts[-3:]))
    pattern = (
        rf"(?m)^[ \t]*(?:from[ \t]+[\w.]*\b(?:{words})\b|from[ \t]+\.+[ \t]*import\b|import[ \t]+[\w.]*\b(?:{words})\b)"
    )
    with suppress(OSError, SourceError):
        return project.files.fits(path, pattern.encode("utf-8", "replace"))
    return False
