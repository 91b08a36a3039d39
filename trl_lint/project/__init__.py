"""What belongs together: the files of one project, its pins, environments, launches and config documents.

Everything here is lazy: a project costs nothing until a rule asks it a question.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING

from trl_lint import budget, tracked
from trl_lint.memos import Memo
from trl_lint.paths import DOCUMENTS
from trl_lint.project.readings import Readings
from trl_lint.project.roots import find_root as find_root
from trl_lint.sources import Files, SourceError, SourceFile

if TYPE_CHECKING:
    from trl_lint.project.documents import Document
    from trl_lint.project.environment import Environment
    from trl_lint.project.folders import Folders
    from trl_lint.project.launches import Launch
    from trl_lint.project.parsers import ScriptParser
    from trl_lint.project.pins import Manifest
    from trl_lint.project.runs import Run
    from trl_lint.python.module import PythonModule
    from trl_lint.settings import Settings

# A context file above this size is data, not configuration; it is never read for its surroundings' sake.
CONTEXT_FILE_BYTES = 1_000_000
_LOCK_FILE_BYTES = 50_000_000
# Files that hold no launch stay open until they are checked themselves, up to so many bytes of them all: most projects
# are read once, and a huge one never stands in memory as a whole.
_MOST_READ_AHEAD = 8_000_000
_COMMANDS = "reading all commands of the project"


class Project:
    """One project. `root` is absolute; `settings` and `files` are those of the run."""

    def __init__(self, root: str, files: Files, settings: Settings) -> None:
        self.root = root
        self.files = files
        self.settings = settings
        self.memo: Memo = {}
        self._launches: dict[bytes, dict[str, list[Launch]]] = {}  # by word, and by file
        self._runs: dict[Launch, Run] = {}
        self._environments: dict[str, Environment] = {}
        self.readings = Readings(files)
        self._ahead = 0  # the bytes of files that were read for their launches and hold none

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
            from trl_lint.project.environment import Environment, own_pins

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
            if own:
                found = Environment(self.folders, path, self.settings.targets, own, found)
            self._environments[path] = found
        return found

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

    def launches_in(self, path: str) -> list[Launch]:
        """The launch commands of one file. Raises OSError or SourceError."""
        return self.readings.read("launches", path, self._read_launches)

    def _read_launches(self, file: SourceFile) -> list[Launch]:
        from trl_lint.project.launches import read_launches

        found = read_launches(file)
        for launch in found:
            if launch.module and not launch.candidates:
                from trl_lint.project.modules import installed_programs

                launch.candidates = installed_programs(launch.module, file.path, self)
        return found

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

        return self.readings.read("module", path, lambda file: PythonModule(Source(file, "python")), by)

    def parser_in(self, path: str) -> ScriptParser | None:
        """What the script at `path` reads its arguments with; None where it has no parser that is understood."""
        from trl_lint.project.parsers import PARSER_NAMES, read_parser

        def read(file: SourceFile) -> ScriptParser | None:
            named = any(name in file.data for name in PARSER_NAMES)
            return read_parser(self.module_in(path), self) if named else None

        with suppress(OSError, SourceError):  # reported when the file itself is checked
            return self.readings.read("parser", path, read) if path.endswith(".py") else None
        return None

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
        for word, table in before._launches.items():
            now = {path: found for path, found in table.items() if path not in changed}
            now.update((path, self._launches_at(path, word)) for path in changed)
            self._launches[word] = {path: now[path] for path in self.paths if now.get(path)}
        for launch in self.launches() if b"" in self._launches else ():
            run = before._runs.get(launch)
            if run is not None and run.origin is None and "links" in vars(run):
                self.run_of(launch).links = run.links

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

    def launches(self, word: bytes = b"") -> list[Launch]:
        """Every launch command written anywhere in the project; with `word`, only in files whose bytes hold it."""
        table = self._launches.get(word)
        if table is None:
            table = self._launches[word] = budget.shared(_COMMANDS, self.root, partial(self._all_launches, word))
        return [launch for found in table.values() for launch in found]

    def _all_launches(self, word: bytes) -> dict[str, list[Launch]]:
        return {path: found for path in self.paths if (found := self._launches_at(path, word))}

    def _launches_at(self, path: str, word: bytes) -> list[Launch]:
        from trl_lint.project.launches import holds_launches

        if holds_launches(path) and not is_larger(path, CONTEXT_FILE_BYTES):
            with suppress(OSError, SourceError):
                if not word or self.files.holds(path, word):
                    return self._launches_ahead(path)
        return []

    def know_no_launches(self, paths: Iterable[str]) -> None:
        """Believe of files that they hold no launch."""
        for path in paths:
            self.readings.believe("launches", path, [])

    def _launches_ahead(self, path: str) -> list[Launch]:
        was_open = self.files.is_open(path)
        found = self.launches_in(path)
        if not found and not was_open and self.files.is_open(path):
            self._ahead += len(self.files.own(path).data)
            if self._ahead > _MOST_READ_AHEAD:
                self.files.forget(path)
        return found

    def run_of(self, launch: Launch) -> Run:
        """The run that a launch starts."""
        from trl_lint.project.runs import Run

        found = self._runs.get(launch)
        if found is None:
            found = self._runs[launch] = Run(launch, self)
        return found

    def remember(self, run: Run) -> None:
        """Let `run_of` give this run for its launch: a candidate has a launch that no text holds."""
        self._runs[run.launch] = run

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of all launch commands of the project."""
        return [self.run_of(launch) for launch in self.launches()]

    def runs_with(self, path: str) -> list[Run]:
        """The runs that use the file at `path` through any of their links."""
        return self._runs_by_file.get(path, [])

    @cached_property
    def _runs_by_file(self) -> dict[str, list[Run]]:
        return budget.shared(_COMMANDS, self.root, self._table_of_runs)

    def _table_of_runs(self) -> dict[str, list[Run]]:
        table: dict[str, list[Run]] = {}
        for run in self.runs:
            for linked in dict.fromkeys(path for link in run.links for path in link.paths):
                table.setdefault(linked, []).append(run)
        return table

    def launches_of(self, script: str, word: bytes = b"") -> list[Launch]:
        """The launches that start the script at this absolute path; `word` as in `launches`."""
        return [launch for launch in self.launches(word) if launch.script_path == script]

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
