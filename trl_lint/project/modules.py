"""Imports between the files of a project: which file `from configs import X` reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from trl_lint import looks

if TYPE_CHECKING:
    from trl_lint.project import Project


def module_file(dotted: str, path: str, project: Project) -> str | None:
    """The file of the project that a module's name stands for in the file at `path`; None if there is none.

    `dotted` begins with a dot for each level of a relative import. An absolute name is looked up as Python does for a
    script, beside the file first, then where a package is usually installed from: the project's root, its `src`, and
    the folders between.
    """
    folder = os.path.dirname(path)
    name = dotted.lstrip(".")
    for _ in range(len(dotted) - len(name) - 1):
        folder = os.path.dirname(folder)
    if dotted.startswith("."):
        return _file(folder, name)
    bases = [folder, project.root, os.path.join(project.root, "src")]
    while folder != project.root and folder.startswith(project.root.rstrip(os.sep) + os.sep):
        folder = os.path.dirname(folder)
        bases.append(folder)
    return next((found for base in bases if (found := _file(base, name)) is not None), None)


def _file(base: str, name: str) -> str | None:
    stem = os.path.join(base, *name.split(".")) if name else base
    for candidate in (f"{stem}.py", os.path.join(stem, "__init__.py")):
        if looks.is_file(candidate):
            return candidate
    return None
