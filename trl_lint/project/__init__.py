"""What belongs together: the files of one project, its pins, environments, launches and config documents.

Everything here is lazy: a project costs nothing until a rule asks it a question.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from weakref import ref

from trl_lint import budget, tracked
from trl_lint.memos import Memo
from trl_lint.paths import DOCUMENTS
from trl_lint.project.readings import Readings
from trl_lint.project.roots import find_root as find_root
from trl_lint.sources import Files, SourceError

if TYPE_CHECKING:
    from trl_lint.project.documents import Document
    from trl_lint.project.environment import Environment
    from trl_lint.project.folders import Folders
    from trl_lint.project.launch import Launch
    from trl_lint.project.pins import Manifest
    from trl_lint.python.module import PythonModule
    from trl_lint.settings import Settings

# A context file above this size is data, not configuration; it is never read for its surroundings' sake.
CONTEXT_FILE_BYTES = 1_000_000
READING_COMMANDS = "reading all commands of the project"  # what is cut short where that takes too long
_LOCK_FILE_BYTES = 50_000_000


class Part(Protocol):
    """What is kept with a project. `take_over` takes what an earlier state holds, but for files that have changed."""

    def take_over(self, before: Any, changed: Collection[str]) -> None: ...


T = TypeVar("T", bound=Part)


class Project:
    """One project. `root` is absolute; `settings` and `files` are those of the run."""

    def __init__(self, root: str, files: Files, settings: Settings) -> None:
        self.root = root
        self.files = files
        self.settings = settings
        self.memo: Memo = {}
        self._parts: dict[Callable[[Project], Part], Part] = {}
        self._environments: dict[str, Environment] = {}
        self.readings = Readings(files)

    @cached_property
    def paths(self) -> list[str]:
        """Every file of the project that some reader understands."""
        from trl_lint.project.discovery import collect

        found, _ = collect([self.root], self.settings)
        return [path for path, _ in found]

    def environment(self, path: str) -> Environment:
        """The environment the file at `path` runs in: what its pins allow, package by package."""
        found = self._environments.get(path)
        if found is None:
            from trl_lint.project.environment import Environment, own_pins, own_told

            own = own_pins(path, self)
            # Files that pin nothing themselves share the environment of their folder, or of the one that states it.
            around = os.path.join(os.path.dirname(path), "")
            found = self._environments.get(around)
            if found is None:
                stating = os.path.join(self.folders.stating(os.path.dirname(path)), "")
                found = self._environments.get(stating)
                if found is None:
                    found = self._environments[stating] = Environment(self.folders, stating, self.settings.targets)
                self._environments[around] = found
            told = own_told(path, self)
            if own or told:
                found = Environment(self.folders, path, self.settings.targets, own, found, told)
            self._environments[path] = found
        return found

    def environment_of(self, launch: Launch) -> Environment:
        """The environment of a command: that of the image it is typed in, where this installs anything; else that of
        its script, or of the file it stands in.
        """
        from trl_lint.project.pins import IMAGE_KINDS, kind_of

        place, script = launch.source.path, launch.script_path
        if script is not None and kind_of(place) in IMAGE_KINDS:
            image = self.manifest_around(place)
            script = None if image is not None and (image.pins or image.links) else script
        return self.environment(script or place)

    @cached_property
    def folders(self) -> Folders:
        """The manifests of the project by folder: which of them speak for a file."""
        from trl_lint.project.folders import Folders

        return Folders(self.root, self.manifest_around, lambda: self.paths)

    # -- single files, each read once -----------------------------------------------------------------------------

    def manifest_in(self, path: str) -> Manifest | None:
        """The pins of one file, None where it holds none. Raises OSError or SourceError."""
        from trl_lint.project.manifests.reader import read_manifest

        return self.readings.read("manifest", path, lambda file: read_manifest(file, self.files))

    def manifest_around(self, path: str) -> Manifest | None:
        """A manifest read for its surroundings' sake: what is wrong with it is reported where it is checked itself."""
        with suppress(OSError, SourceError):
            if self.files.exists(path) and not is_larger(path, _LOCK_FILE_BYTES):
                return self.manifest_in(path)
        return None

    def document_in(self, path: str) -> Document | None:
        """The config document one file is, None where its bytes name nothing of ours. Raises OSError or SourceError."""
        from trl_lint.project.documents import read_document

        return self.readings.read("document", path, read_document)

    def recipe_in(self, path: str) -> Document | None:
        """A file as the recipe that a script reads, whatever its keys; None if it is none. Raises as `document_in`."""
        from trl_lint.project.documents import read_recipe

        return self.readings.read("recipe", path, read_recipe)

    def module_in(self, path: str, by: str | None = None) -> PythonModule:
        """One Python file of the project, for what another file says about it. Raises OSError or SourceError.

        `by` is the file that imports it, if what is found out with it is kept with the module of that file.
        """
        from trl_lint.python.module import PythonModule
        from trl_lint.sources import Source

        module = self.readings.read("module", path, lambda file: PythonModule(Source(file, "python")), by)
        module.project = ref(self)
        return module

    def change(self, files: Files, changed: Iterable[str]) -> None:
        """Go on with a later state of the files: those at the paths `changed` differ, and say the same to others."""
        changed = list(changed)
        self.files = files
        self.memo.clear()
        self.readings.change(files, changed)
        for path in changed:
            self._environments.pop(path, None)

    def renewed(self, files: Files, is_moved: bool, same_pins: Collection[str] | None = None) -> Project:
        """The project in a later state of the files, with what was read of single ones that are the same.

        It was told what has changed by `change`. `is_moved`: files have come or gone, or are installed otherwise.
        `same_pins`: nothing has, and these are the files that have changed; they hold the pins that they held.
        """
        later = Project(self.root, files, self.settings)
        later.readings = self.readings.carried(files, is_moved)
        if not is_moved and "paths" in vars(self):
            later.paths = self.paths
        elsewhere = self.readings.pinning_elsewhere() if same_pins is not None else {}
        is_same = all(later.manifest_around(path) == manifest for path, manifest in elsewhere.items())
        if same_pins is not None and is_same:
            later._take_surroundings(self, same_pins)
        return later

    def _take_surroundings(self, before: Project, changed: Collection[str]) -> None:
        """Take over what rests on pins, on names and on the commands of files, but for those in what has changed."""
        if "folders" in vars(before):
            self.folders = before.folders
            self.folders.read_with(self.manifest_around, lambda: self.paths)
            # Those of single files may have pins from commands.
            around = {path: found for path, found in before._environments.items() if path.endswith(os.sep)}
            self._environments = around
        for kind, part in before._parts.items():
            self.part(kind).take_over(part, changed)

    def part(self, kind: Callable[[Project], T]) -> T:
        """What another room works out of the project and keeps with it: one object of a class, made when asked for."""
        found = self._parts.get(kind)
        if found is None:
            found = self._parts[kind] = kind(self)
        return cast("T", found)

    def forget_worked_out(self) -> None:
        """Drop what rules have worked out: one of them was stopped in the midst of it."""
        self.memo.clear()
        self.readings.forget_worked_out()

    # -- the whole project ----------------------------------------------------------------------------------------

    @cached_property
    def manifests(self) -> list[Manifest]:
        """Every file of the project that pins packages."""
        from trl_lint.project.pins import is_manifest

        around = (self.manifest_around(path) for path in self.paths if is_manifest(path))
        return [manifest for manifest in around if manifest is not None]

    def documents(self, kind: str) -> list[Document]:
        """The recognised config documents of one kind of `rules/families`, or of the kind "other"."""
        return [document for document in self._documents if document.kind == kind]

    @cached_property
    def _documents(self) -> list[Document]:
        return budget.shared("reading all configs of the project", self.root, self._all_documents)

    def _all_documents(self) -> list[Document]:
        found = []
        for path in self.paths:
            if path.endswith(DOCUMENTS) and not is_larger(path, CONTEXT_FILE_BYTES):
                with suppress(OSError, SourceError):
                    if (document := self.document_in(path)) is not None:
                        found.append(document)
        return found


def is_larger(path: str, limit: int) -> bool:
    """Whether there is a file of more than `limit` bytes at a path."""
    try:
        return tracked.is_larger(path, limit)
    except OSError:
        return False
