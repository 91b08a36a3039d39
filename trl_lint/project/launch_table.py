"""The launches of a whole project: of one file, of all files, of one script."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import partial

from trl_lint import budget
from trl_lint.project import CONTEXT_FILE_BYTES, READING_COMMANDS, Project, is_larger
from trl_lint.project.launches import Launch, holds_launches
from trl_lint.sources import SourceError, SourceFile

# Files that hold no launch stay open until they are checked themselves, up to so many bytes of them all: most projects
# are read once, and a huge one never stands in memory as a whole.
_MOST_READ_AHEAD = 8_000_000


def launches_in(path: str, project: Project) -> list[Launch]:
    """The launch commands of one file. Raises OSError or SourceError."""
    return project.readings.read("launches", path, partial(_read, project))


def all_launches(project: Project, word: bytes = b"") -> list[Launch]:
    """Every launch command written anywhere in a project; with `word`, only in files whose bytes hold it."""
    table = project.part(LaunchTable).with_word(word)
    return [launch for found in table.values() for launch in found]


def launches_of(script: str, project: Project, word: bytes = b"") -> list[Launch]:
    """The launches that start the script at this absolute path; `word` as in `all_launches`."""
    return [launch for launch in all_launches(project, word) if launch.script_path == script]


def known_launches(project: Project) -> list[Launch]:
    """As `all_launches`, if all commands of the project were read; none if not."""
    return all_launches(project) if project.part(LaunchTable).is_complete else []


def know_no_launches(paths: Iterable[str], project: Project) -> None:
    """Believe of files that they hold no launch."""
    for path in paths:
        project.readings.believe("launches", path, [])


def _read(project: Project, file: SourceFile) -> list[Launch]:
    from trl_lint.project.launches import read_launches

    found = read_launches(file)
    for launch in found:
        if launch.module and not launch.candidates:
            from trl_lint.project.modules import installed_programs

            launch.candidates = installed_programs(launch.module, file.path, project)
    return found


class LaunchTable:
    """The launches of a project by the word that their files hold, and by file."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._tables: dict[bytes, dict[str, list[Launch]]] = {}
        self._ahead = 0  # the bytes of files that were read for their launches and hold none

    def with_word(self, word: bytes) -> dict[str, list[Launch]]:
        table = self._tables.get(word)
        if table is None:
            table = self._tables[word] = budget.shared(READING_COMMANDS, self._project.root, partial(self._all, word))
        return table

    @property
    def is_complete(self) -> bool:
        """Whether all commands of the project were read."""
        return b"" in self._tables

    def take_over(self, before: LaunchTable, changed: Collection[str]) -> None:
        """Take what an earlier state of the project holds, but for files that have changed."""
        for word, table in before._tables.items():
            now = {path: found for path, found in table.items() if path not in changed}
            now.update((path, self._at(path, word)) for path in changed)
            self._tables[word] = {path: now[path] for path in self._project.paths if now.get(path)}

    def _all(self, word: bytes) -> dict[str, list[Launch]]:
        return {path: found for path in self._project.paths if (found := self._at(path, word))}

    def _at(self, path: str, word: bytes) -> list[Launch]:
        if holds_launches(path) and not is_larger(path, CONTEXT_FILE_BYTES):
            with suppress(OSError, SourceError):
                if not word or self._project.files.holds(path, word):
                    return self._read_ahead(path)
        return []

    def _read_ahead(self, path: str) -> list[Launch]:
        files = self._project.files
        was_open = files.is_open(path)
        found = launches_in(path, self._project)
        if not found and not was_open and files.is_open(path):
            self._ahead += len(files.own(path).data)
            if self._ahead > _MOST_READ_AHEAD:
                files.forget(path)
        return found
