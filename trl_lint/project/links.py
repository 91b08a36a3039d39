"""Links: which file a name written in another file means, when nobody says where the command is typed."""

from __future__ import annotations

import os

from trl_lint import budget, tracked
from trl_lint.paths import leads_below, repository_around
from trl_lint.sources import Source
from trl_lint.sources.shell import Word
from trl_lint.sources.shell_values import HOLE

_MOST_CANDIDATES = 50
_MOUNTS = frozenset(
    (
        "app",
        "code",
        "job",
        "mnt",
        "opt",
        "project",
        "repo",
        "root",
        "src",
        "w",
        "work",
        "workdir",
        "workspace",
        "workspaces",
    )
)


def linked_files(name: str, source: Source, directory: str | None) -> list[str]:
    """The absolute paths of the existing files that `name`, written in `source`, may mean.

    `directory` is the working directory as far as the text tells it: absolute, relative to where the command is typed
    ("" = there), None unknown. From an absolute one there is one answer, else all likely places count, nearest first.
    An absolute one that is no folder of the project may be where the checkout is mounted elsewhere (`cd /workspace`).
    """
    if source.language == "dockerfile":
        # Folders of the image are not folders of the host; below the working directory the layouts usually agree.
        if name.startswith("/"):
            if not directory or not name.startswith(directory.rstrip("/") + "/"):
                return []
            name = name[len(directory.rstrip("/")) + 1 :]
        directory = None
    if os.path.isabs(name) or (directory and os.path.isabs(directory)):
        path = os.path.normpath(os.path.join(directory or "", name))
        if os.path.isabs(name) or tracked.is_file(path) or inside_project(path, source.path):
            return [path] if tracked.is_file(path) and is_own_file(path, source.path) else []
        mounted = inside_mount(directory or "", source.path)
        if mounted is None and "/" not in name and not _is_mount(directory or ""):
            return []  # every project has a `train.py`
        directory = mounted
    directory = inside_clone(directory, source.path)
    found: list[str] = []
    found_bases = bases(source.path)
    inside = found_bases[-1].rstrip(os.sep) + os.sep
    for base in found_bases:
        path = os.path.normpath(os.path.join(base, directory or "", name))
        # `../train.py` must not lead out of the project.
        if path not in found and path.startswith(inside) and tracked.is_file(path) and is_own_file(path, source.path):
            found.append(path)
    return found


def _is_mount(directory: str) -> bool:
    """Whether a folder has only names that people give to the place of a project in a container: `/workspace`."""
    return all(part in _MOUNTS for part in directory.strip("/").split("/"))


def below_unknown(word: Word) -> str:
    """The path of a file below a folder that nobody knows, of which it may be the project: `"$ROOT/train.py"`."""
    before, slash, path = word.template.partition("/")
    return path if slash and before == HOLE and path and HOLE not in path else ""


def fitting_files(word: Word, source: Source, directory: str | None) -> list[str]:
    """The existing files that fit a name of which a part is unknown: `recipes/$MODEL/config.yaml`."""
    pattern = word.template.rpartition("=")[2].replace(HOLE, "*")
    first, _, rest = pattern.partition("/")
    if not rest or "*" in first or os.path.isabs(pattern):
        return []
    found: list[str] = []
    for base in bases(source.path):
        for path in tracked.matching(os.path.join(base, directory or ""), pattern):
            path = os.path.normpath(path)
            if tracked.is_file(path) and path not in found and is_own_file(path, source.path):
                if len(found) >= _MOST_CANDIDATES:
                    what = "more than {} files have a name that a command may mean; the others were not looked at"
                    budget.limit(_MOST_CANDIDATES, what, source.path, source.file_offset(word.start))
                    return sorted(found)
                found.append(path)
    return sorted(found)


def bases(path: str) -> list[str]:
    """The folders a command may be typed in: that of its file, and all above it up to the root of the project."""
    from trl_lint.project import find_root

    folder = os.path.dirname(path)
    root = find_root(folder)
    found = [folder]
    while folder != root and len(found) < 20:
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
        found.append(folder)
    return found


def inside_clone(directory: str | None, path: str) -> str:
    """A working directory without the name of the project itself: `git clone …/project && cd project` leads to it."""
    from trl_lint.project import find_root

    first, _, rest = (directory or "").partition("/")
    root = find_root(os.path.dirname(path))
    tracked.note_name(first)
    if first and first.lower() == os.path.basename(root).lower() and not tracked.is_folder(os.path.join(root, first)):
        return rest
    return directory or ""


def inside_mount(directory: str, path: str) -> str | None:
    """A folder of another machine as seen from the root of the project: `/workspace/project/examples` -> `examples`.

    None where no part of it has the name of the project.
    """
    from trl_lint.project import find_root

    name = os.path.basename(find_root(os.path.dirname(path))).lower()
    parts = [part for part in directory.split("/") if part]
    tracked.note_name(directory)
    at = next((index for index, part in enumerate(parts) if part.lower() == name), None)
    return "/".join(parts[at + 1 :]) if at is not None else None


def is_own_file(name: str, path: str) -> bool:
    """Whether an absolute path stands in the repository of the file at `path`, and no link leads it out of there.

    What a repository names elsewhere, such as the settings of whoever checks it, is none of its business. Where there
    is no repository nothing tells what belongs together.
    """
    root = repository_around(os.path.dirname(path))
    return root is None or leads_below(name, root)


def inside_project(name: str, path: str) -> bool:
    """Whether an absolute path lies below the root of the project that the file at `path` belongs to."""
    from trl_lint.project import find_root

    root = find_root(os.path.dirname(path)).rstrip(os.sep)
    return os.path.normpath(name).startswith(root + os.sep)
