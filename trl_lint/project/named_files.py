"""The files that a launch names (script, accelerate config, recipe, DeepSpeed config), and which of them exist."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from trl_lint.project.links import bases, inside_clone, inside_project
from trl_lint.python.values import Missing
from trl_lint.sources.shell_state import HOLE

if TYPE_CHECKING:
    from trl_lint.project.launch import Launch
    from trl_lint.sources.shell import Word

Kind = Literal["script", "accelerate", "recipe", "deepspeed"]
Status = Literal["exact", "candidates", "missing", "placeholder", "external", "unknown"]

_CONFIG_SUFFIXES = (".yaml", ".yml", ".json")
_RECIPE_FLAGS = ("--config",)
_DEEPSPEED_FLAGS = ("--deepspeed", "--deepspeed_config", "--ds_config")
_RECIPE_COMMANDS = ("axolotl", "llamafactory-cli")
# Blanks to fill in, and patterns.
_PLACEHOLDER = re.compile(
    r"[<>{}\[\]*?]|\.\.\.|(?i:path[/_-]to|your|\bmy[_-]|xxx|placeholder|to/be/)|(?:^|/)[A-Z_]+(?:/|$)"
)
_MOST_CANDIDATES = 50


class Link(NamedTuple):
    """A file named by a launch.

    `name` is the path as the program gets it, None where it is not known. `status`: "exact" is one existing file,
    "candidates" several (or those that fit what is known of the name), "missing" none although the name is certain,
    "placeholder" a blank to fill in, "external" nothing of this project (a framework's module, a built-in name, an
    absolute path), "unknown" a name from outside.
    """

    kind: Kind
    word: Word
    name: str | None
    status: Status
    paths: tuple[str, ...]


def links_of(launch: Launch) -> list[Link]:
    """The files a launch names, in the order of the kinds."""
    found = [_link("script", launch.script, launch)] if launch.script is not None else []
    found += [_link(kind, word, launch) for kind, word in _configs(launch)]
    return found


def _configs(launch: Launch) -> Iterator[tuple[Kind, Word]]:
    if launch.launcher == "accelerate":
        for option, kind in (("--config_file", "accelerate"), ("--deepspeed_config_file", "deepspeed")):
            if (word := launch.options.get(option)) is not None:
                yield kind, word  # type: ignore[misc]
    if launch.launcher == "trl" and not isinstance(given := launch.flag("--accelerate_config"), Missing):
        yield "accelerate", given
    for kind, flags in (("recipe", _RECIPE_FLAGS), ("deepspeed", _DEEPSPEED_FLAGS)):
        for flag in flags:
            value = launch.flag(flag)
            # A bare flag is its own value: it names nothing.
            if not isinstance(value, Missing) and value.text != flag:
                yield kind, value  # type: ignore[misc]
    if launch.launcher in _RECIPE_COMMANDS:
        for word in launch.args[:1]:
            if word.raw.rstrip("\"'").endswith(_CONFIG_SUFFIXES):
                yield "recipe", word


def _link(kind: Kind, word: Word, launch: Launch) -> Link:
    name = word.text
    if name is None:
        paths = tuple(candidates(word, launch))
        return Link(kind, word, None, "candidates" if paths else "unknown", paths)
    if "://" in name or (kind != "script" and not name.endswith(_CONFIG_SUFFIXES)):
        return Link(kind, word, name, "external", ())
    paths = launch.candidates if kind == "script" else tuple(launch.files_named(name))
    if paths:
        return Link(kind, word, name, "exact" if len(paths) == 1 else "candidates", paths)
    if is_placeholder(name):
        return Link(kind, word, name, "placeholder", ())
    directory = launch.command.directory
    absolute = os.path.isabs(os.path.join(directory or "", name))
    if absolute and not inside_project(os.path.join(directory or "", name), launch.source.path):
        return Link(kind, word, name, "external", ())
    return Link(kind, word, name, "missing", ())


def is_placeholder(name: str) -> bool:
    """Whether a path is a blank to fill in: `path/to/train.py`, `<script>`, `your_config.yaml`."""
    return _PLACEHOLDER.search(name) is not None


def candidates(word: Word, launch: Launch) -> list[str]:
    """The existing files that fit a name of which a part is unknown: `recipes/$MODEL/config.yaml`."""
    pattern = word.template.rpartition("=")[2].replace(HOLE, "*")
    first, _, rest = pattern.partition("/")
    if not rest or "*" in first or os.path.isabs(pattern):
        return []
    import glob

    found: list[str] = []
    for base in bases(launch.source.path):
        for path in glob.iglob(os.path.join(glob.escape(os.path.join(base, launch.command.directory or "")), pattern)):
            if os.path.isfile(path) and path not in found:
                found.append(os.path.normpath(path))
            if len(found) >= _MOST_CANDIDATES:
                return found
    return found


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
        with os.scandir(folder) as entries:
            return any(entry.is_file() for entry in entries)
    except OSError:
        return False
