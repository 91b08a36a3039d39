"""The files that a launch names (script, accelerate config, recipe, DeepSpeed config), and which of them exist."""

from __future__ import annotations

import os
from typing import Literal

from trl_lint import tracked
from trl_lint.paths import DOCUMENTS
from trl_lint.project.launch import Launch
from trl_lint.project.links import bases, inside_clone, inside_project
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.inputs import Link, LinkKind
from trl_lint.run.runs import Run
from trl_lint.sources.shell import Word

Status = Literal["exact", "candidates", "missing", "placeholder", "external", "unknown"]

_CODE = ("script", "reward")
# Blanks to fill in, and patterns.
_PLACEHOLDER = regex(r"[<>{}\[\]*?]|\.\.\.|(?i:path[/_-]to|your|\bmy[_-]|xxx|placeholder|to/be/)|(?:^|/)[A-Z_]+(?:/|$)")


class NamedFile(NamedTuple):
    """A file that a launch names, a link of its run seen more closely.

    `name` is the path as the program gets it, None where it is not known. `status`: "exact" is one existing file,
    "candidates" several (or those that fit what is known of the name), "missing" none although the name is certain,
    "placeholder" a blank to fill in, "external" nothing of this project (a built-in name, an address, an absolute
    path), "unknown" a name from outside.
    """

    kind: LinkKind
    word: Word
    name: str | None
    status: Status
    paths: tuple[str, ...]


def named_files(run: Run) -> list[NamedFile]:
    """The files a run's command names: script, accelerate config, recipe, DeepSpeed config."""
    return [_named(link, run.launch) for link in run.links]


def _named(link: Link, launch: Launch) -> NamedFile:
    word, name = link.word, link.word.text
    if name is None:
        return NamedFile(link.kind, word, None, "candidates" if link.paths else "unknown", link.paths)
    if link.status in ("exact", "candidates"):
        return NamedFile(link.kind, word, name, "exact" if len(link.paths) == 1 else "candidates", link.paths)
    return absent(link.kind, word, name, launch)


def absent(kind: LinkKind, word: Word, name: str, launch: Launch) -> NamedFile:
    """A file that a word of a launch names in full, and of which none is found."""
    return NamedFile(kind, word, name, _absent(kind, name, launch), ())


def _absent(kind: LinkKind, name: str, launch: Launch) -> Status:
    if "://" in name or (kind not in _CODE and not name.endswith(DOCUMENTS)):
        return "external"
    if is_placeholder(name):
        return "placeholder"
    path = os.path.join(launch.command.directory or "", name)
    return "external" if os.path.isabs(path) and not inside_project(path, launch.source.path) else "missing"


def is_placeholder(name: str) -> bool:
    """Whether a path is a blank to fill in: `path/to/train.py`, `<script>`, `your_config.yaml`."""
    return _PLACEHOLDER.search(name) is not None


def parent_folders(name: str, launch: Launch) -> list[str]:
    """The existing folders, below the root of the project, that the file of this name would stand in.

    None for a bare `train.py`: which folder that is depends on where the command is typed.
    """
    return folders_named(name, launch.source.path, launch.command.directory)


def folders_named(name: str, path: str, directory: str | None) -> list[str]:
    """As `parent_folders`, for a name written in the file at `path`."""
    folder = os.path.dirname(os.path.join(inside_clone(directory, path), name))
    if os.path.normpath(folder) in ("", "."):
        return []
    found = []
    for base in bases(path):
        full = os.path.normpath(os.path.join(base, folder))
        if full not in found and inside_project(full, path) and _holds_files(full):
            found.append(full)
    return found


def _holds_files(folder: str) -> bool:
    """Whether a folder holds a file: that of a submodule which is not checked out does not."""
    try:
        return any(tracked.leads_to_file(entry) for entry in tracked.entries(folder))
    except OSError:
        return False
