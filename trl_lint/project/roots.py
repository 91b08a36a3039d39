"""Which folder is the project that a file belongs to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from trl_lint import tracked

_OWN_SETTINGS = (".trl-lint.toml", "trl-lint.toml")
_READMES = ("README.md", "README.rst", "README")
_PACKAGE_FILES = ("pyproject.toml", "setup.py", "setup.cfg")

# The folders that the run was given, absolute, by how many runs stand in each other.
_named: list[tuple[str, ...]] = [()]


@contextmanager
def starting_in(paths: Iterable[str]) -> Iterator[None]:
    """Let the folders among these paths count as working directories inside: whoever names one means all of it."""
    _named.append(tuple(path for path in map(os.path.abspath, paths) if tracked.is_folder(path)))
    tracked.forget()
    try:
        yield
    finally:
        _named.pop()
        tracked.forget()


@tracked.remembered(4096)
def find_root(folder: str) -> str:
    """The project a folder belongs to: the nearest repository, else package, else requirements.txt, else itself.

    A folder with settings of its own is a project too, so one repository can hold several that share nothing. Below the
    working directory, or a folder that the run was given, what was downloaded as an archive has no repository: there
    the outermost of the folders with a README, a package or a requirements.txt counts.
    """
    package = requirements = outermost = None
    starts = tuple(start for start in (_working_directory(), *_named[-1]) if start and _is_in(folder, start))
    current = folder
    while True:
        if _holds(current, (".git", *_OWN_SETTINGS)):
            return current
        is_below = any(_is_in(current, start) for start in starts)
        if is_below and _holds(current, (*_PACKAGE_FILES, "requirements.txt", *_READMES)):
            outermost = current
        if package is None and _holds(current, _PACKAGE_FILES):
            package = current
        if requirements is None and _holds(current, ("requirements.txt",)):
            requirements = current
        parent = os.path.dirname(current)
        if parent == current:
            break
        current = parent
    return outermost or package or requirements or min(starts, key=len, default=folder)


def named_folder(folder: str) -> str:
    """The innermost of the folders that the run was given in which a folder is; "" where none is."""
    return max((start for start in _named[-1] if _is_in(folder, start)), key=len, default="")


def _is_in(folder: str, start: str) -> bool:
    return folder == start or folder.startswith(start.rstrip(os.sep) + os.sep)


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _holds(folder: str, names: tuple[str, ...]) -> bool:
    return any(tracked.exists(os.path.join(folder, name)) for name in names)
