"""Pins: every requirement on a package, where it is written, and how binding it is.

`is_manifest` goes by the name alone; `read_manifest` looks at the bytes before it imports a parser, because most
Python files, scripts and notebooks of a project pin nothing.
"""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple

from trl_lint.finding import Location
from trl_lint.sources import Files, SourceFile
from trl_lint.sources.text import MAX_BYTES, refuse_large

LOCKS = ("uv-lock", "poetry-lock", "pylock", "script-lock")
MAX_LOCK_BYTES = 10_000_000  # the largest of known projects have 3 MB

Kind = Literal["requirement", "constraint", "lock", "extra", "group", "inert", "url", "command"]


class Pin(NamedTuple):
    """One requirement on a package.

    `package` is normalised as in PEP 503 and `specifier` is PEP 440 ("" allows any release), whatever the file's own
    notation is. `kind` says how binding it is: an "extra" or "group" only for those who ask for it (`group` names it),
    an "inert" one stands in a table nothing uses, a "url" installs something whose version nobody can tell.
    `specifier_location` is what a fix may replace by another specifier (an empty stretch where one may be inserted);
    None where no text edit is right: lock files, the words of a shell that would read `>` as a redirection.
    """

    package: str
    specifier: str
    location: Location
    kind: Kind
    extras: frozenset[str] = frozenset()
    marker: str = ""
    text: str = ""
    group: str = ""
    specifier_location: Location | None = None
    url: str = ""

    @property
    def is_optional(self) -> bool:
        return self.group != ""


class Manifest(NamedTuple):
    """A file that pins packages.

    `python` is its `requires-python`; `problems` are requirements pip would refuse. `project` is the normalised name of
    the package the file builds, "" if none, and `version` that package's version where the source tells it.
    """

    path: str
    kind: str
    pins: tuple[Pin, ...]
    python: str | None = None
    problems: tuple[tuple[Location, str], ...] = ()
    project: str = ""
    version: str = ""

    @property
    def is_lock(self) -> bool:
        return self.kind in LOCKS


_REQUIREMENTS_NAME = re.compile(
    r"(?:^|.*[-_.])(?:requirements?|reqs|constraints?)(?:[-_.][^/]*)?\.(?:txt|in|pip)$", re.IGNORECASE
)
_REQUIREMENTS_FOLDER = re.compile(r"[\\/]requirements[\\/][^\\/]+\.(?:txt|in)$", re.IGNORECASE)
_CONDA_NAME = re.compile(r"(?:^|.*[-_.])(?:environment|conda|env)(?:[-_.][^/]*)?\.ya?ml$", re.IGNORECASE)
_DOCKERFILE_NAME = re.compile(r"(?:^|.*[-_.])(?:dockerfile|containerfile)(?:[-_.].*)?$", re.IGNORECASE)
_README_NAME = re.compile(r"^(?:readme|install|installation|setup)(?:[-_.][^/]*)?\.md$", re.IGNORECASE)
_SHELL_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch")
_SCRIPT_BLOCK = re.compile(rb"^# /// script[ \t]*\r?$", re.MULTILINE)
_FIXED_NAMES = {
    "pyproject.toml": "pyproject",
    "setup.py": "setup.py",
    "setup.cfg": "setup.cfg",
    "uv.lock": "uv-lock",
    "poetry.lock": "poetry-lock",
    "makefile": "makefile",
    "gnumakefile": "makefile",
}


def kind_of(path: str) -> str:
    """The kind of manifest a name promises, "" if none. A Python file is "pep723": it may hold a script block."""
    name = os.path.basename(path)
    lower = name.lower()
    if fixed := _FIXED_NAMES.get(lower):
        return fixed
    if lower.endswith((".py.lock", ".pyi.lock")):
        return "script-lock"
    if lower.startswith("pylock.") and lower.endswith(".toml"):
        return "pylock"
    if lower.endswith(".py"):
        return "pep723"
    if lower.endswith(".ipynb"):
        return "notebook"
    if _REQUIREMENTS_NAME.match(name) or _REQUIREMENTS_FOLDER.search(path):
        return "constraints" if "constraint" in lower else "requirements"
    if lower.endswith(_SHELL_SUFFIXES):
        return "shell"
    if _CONDA_NAME.match(name):
        return "conda"
    if _README_NAME.match(name):
        return "readme"
    if _DOCKERFILE_NAME.match(name) and not lower.endswith((".md", ".txt", ".json", ".yml", ".yaml")):
        return "dockerfile"
    return ""


def is_manifest(path: str) -> bool:
    """Whether a file of this name may pin packages; `read_manifest` answers None where it does not."""
    return kind_of(path) != ""


def read_manifest(file: SourceFile, files: Files) -> Manifest | None:
    """The pins of a file, None if it holds none. Raises SourceError if it cannot be read as what it claims to be."""
    kind = kind_of(file.path)
    if not kind or not _may_hold_pins(kind, file.data):
        return None
    if kind != "notebook":  # most of a notebook is output, which nobody parses
        refuse_large(len(file.data), MAX_LOCK_BYTES if kind in LOCKS else MAX_BYTES)
    if kind in ("requirements", "constraints"):
        from trl_lint.project.manifests import requirements

        return requirements.read(file, files, kind)
    if kind in LOCKS:
        from trl_lint.project.manifests import locks

        return locks.read(file, kind)
    if kind == "setup.py":
        from trl_lint.project.manifests import setup_py

        return setup_py.read(file, files)
    if kind == "pyproject":
        from trl_lint.project.manifests import pyproject

        return pyproject.read(file, files)
    if kind == "setup.cfg":
        from trl_lint.project.manifests import setup_cfg

        return setup_cfg.read(file, files)
    if kind == "pep723":
        from trl_lint.project.manifests import pep723

        return pep723.read(file)
    if kind == "conda":
        from trl_lint.project.manifests import conda

        return conda.read(file)
    from trl_lint.project.manifests import commands

    return commands.read(file, kind)


def _may_hold_pins(kind: str, data: bytes) -> bool:
    if b"\0" in data:
        return kind in ("requirements", "constraints")  # its reader says what is wrong with it
    if kind == "pep723":
        return b"# /// script" in data and _SCRIPT_BLOCK.search(data) is not None
    if kind in ("shell", "makefile", "readme", "dockerfile", "notebook"):
        return b"pip" in data and b"install" in data
    if kind == "setup.py":
        return b"setup" in data
    if kind == "conda":
        return b"dependencies" in data
    return True
