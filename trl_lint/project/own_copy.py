"""Whether the project has a copy of a package of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from trl_lint import tracked
from trl_lint.memos import per_project, read_per_project
from trl_lint.project import Project
from trl_lint.project.stack import Choice
from trl_lint.python.definitions import defines, takes


def is_shadowed(chosen: Choice, path: str, project: Project, defined: str, parameter: str = "") -> bool:
    """Whether the project brings its own copy of a package, and that copy defines the name or takes the parameter.

    A fork keeps the version number of what it was forked from, and a vendored folder has none.
    """
    package = chosen.package
    if package.source == "target":
        return False
    folders = _copies(package.name, path, project)
    if not folders or not package.is_own:
        return bool(folders)
    return any(_has(folder, defined, parameter, project) for folder in folders)


@per_project
def copies_of_module(dotted: str, project: Project) -> tuple[str, ...]:
    """The files of a module in the copies of its package that the project has, in whatever folders they lie."""
    tracked.note_name(dotted.replace(".", "/"))
    end = os.sep + os.path.join(*dotted.split(".")) + ".py"
    return tuple(path for path in project.paths if path.endswith(end))


@per_project
def _has(folder: str, defined: str, parameter: str, project: Project) -> bool:
    texts = _texts(folder, project)
    if not parameter and any(_is_of_module(path, folder, defined) for path, _ in texts):
        return True
    return any(_module_has(path, text, defined, parameter) for path, text in texts)


def _is_of_module(path: str, folder: str, name: str) -> bool:
    """Whether a file below a folder is a module of a name, or belongs to one."""
    return name in os.path.splitext(os.path.relpath(path, folder))[0].split(os.sep)


def _module_has(path: str, text: str, defined: str, parameter: str) -> bool:
    answer = takes(text, defined, parameter) if parameter else defines(text, defined)
    tracked.note_content("has", f"{defined} {parameter}", path, answer)
    return answer


def has_own_copy(package: str, path: str, project: Project) -> bool:
    """Whether `import package` in a program started from the file at `path` may find a folder of the project."""
    return bool(_copies(package, path, project))


def _copies(package: str, path: str, project: Project) -> list[str]:
    """Folders that `import package` may find: beside the script, above it, one level below the project's root, or in a
    project on the disk that some document installs."""
    root = project.root
    places = [os.path.dirname(path), *project.folders.importable(package, os.path.dirname(path))]
    folder = places[0]
    while folder != root and folder.startswith(root.rstrip(os.sep) + os.sep):
        folder = os.path.dirname(folder)
        places.append(folder)
    places += [place for place in _top_folders(project) if os.path.basename(place) != package]
    found = dict.fromkeys(os.path.join(place, package) for place in places)
    return [folder for folder in found if tracked.is_file(os.path.join(folder, "__init__.py"))]


@read_per_project
def _top_folders(project: Project) -> list[str]:
    with suppress(OSError):
        return [entry.path for entry in tracked.entries(project.root) if tracked.leads_to_folder(entry)]
    return []


@per_project
def _texts(folder: str, project: Project) -> list[tuple[str, str]]:
    return list(_read_texts(folder))


def _read_texts(folder: str) -> Iterator[tuple[str, str]]:
    for path in tracked.walk(folder):
        if path.endswith(".py"):
            with tracked.for_itself(path):
                yield path, tracked.read_text(path)
