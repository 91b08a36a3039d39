"""What belongs together: the files of one project, its pins, environments, launches and config documents.

Everything here is lazy: a project costs nothing until a rule asks it a question.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from trl_lint.sources import Files, SourceError

if TYPE_CHECKING:
    from trl_lint.project.documents import Document
    from trl_lint.project.environment import Environment
    from trl_lint.project.launches import Launch
    from trl_lint.project.pins import Manifest
    from trl_lint.settings import Settings

_ROOT_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "trl-lint.toml", ".trl-lint.toml")

# A context file above this size is data, not configuration; it is never read for its surroundings' sake.
_CONTEXT_FILE_BYTES = 1_000_000
_LOCK_FILE_BYTES = 50_000_000


@lru_cache(maxsize=4096)
def find_root(folder: str) -> str:
    """The project a folder belongs to: the nearest repository, else the nearest manifest, else the folder itself."""
    marked = None
    current = folder
    while True:
        if os.path.exists(os.path.join(current, ".git")):
            return current
        if marked is None and any(os.path.isfile(os.path.join(current, name)) for name in _ROOT_MARKERS):
            marked = current
        parent = os.path.dirname(current)
        if parent == current:
            break
        current = parent
    if marked is not None:
        return marked
    here = os.getcwd()
    return here if folder == here or folder.startswith(here + os.sep) else folder


class Project:
    """One project. `root` is absolute; `settings` and `files` are those of the run."""

    def __init__(self, root: str, files: Files, settings: Settings) -> None:
        self.root = root
        self.files = files
        self.settings = settings
        self._paths: list[str] | None = None
        self._manifests: list[Manifest] | None = None
        self._launches: list[Launch] | None = None
        self._documents: list[Document] | None = None
        self._environments: dict[str, Environment] = {}

    def paths(self) -> list[str]:
        """Every file of the project that some reader understands."""
        if self._paths is None:
            from trl_lint.project.discovery import collect

            found, _ = collect([self.root], self.settings)
            self._paths = [path for path, _ in found]
        return self._paths

    def environment(self, path: str) -> Environment:
        """The environment the file at `path` runs in: what its pins allow, package by package."""
        found = self._environments.get(path)
        if found is None:
            from trl_lint.project.environment import environment_for

            found = self._environments[path] = environment_for(path, self)
        return found

    def manifests(self) -> list[Manifest]:
        """Every file of the project that pins packages."""
        if self._manifests is None:
            from trl_lint.project.pins import is_manifest, read_manifest

            self._manifests = []
            for path in self.paths():
                if is_manifest(path) and _size(path) <= _LOCK_FILE_BYTES:
                    try:
                        manifest = read_manifest(self.files.get(path), self.files)
                    except (OSError, SourceError):
                        continue  # reported as TRL001 when the file itself is checked
                    if manifest is not None:
                        self._manifests.append(manifest)
        return self._manifests

    def launches(self) -> list[Launch]:
        """Every launch command written anywhere in the project."""
        if self._launches is None:
            from trl_lint.project.launches import holds_launches, read_launches

            self._launches = []
            for path in self.paths():
                if not holds_launches(path) or _size(path) > _CONTEXT_FILE_BYTES:
                    continue
                try:
                    self._launches.extend(read_launches(self.files.get(path)))
                except (OSError, SourceError):
                    continue
        return self._launches

    def launches_of(self, script: str) -> list[Launch]:
        """The launches that start the script at this absolute path."""
        return [launch for launch in self.launches() if launch.script_path == script]

    def documents(self, kind: str) -> list[Document]:
        """The recognised config documents of one kind ("accelerate", "deepspeed", "trl-recipe", …)."""
        if self._documents is None:
            from trl_lint.project.documents import read_document

            self._documents = []
            for path in self.paths():
                if not path.endswith((".yaml", ".yml", ".json")) or _size(path) > _CONTEXT_FILE_BYTES:
                    continue
                try:
                    document = read_document(self.files.get(path))
                except (OSError, SourceError):
                    continue
                if document is not None:
                    self._documents.append(document)
        return [document for document in self._documents if document.kind == kind]


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
