"""What lies open, and what the engine says about it: one kept project for each file of settings.

Used by one thread alone. It knows files and findings; the protocol is none of its business.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from trl_lint import tracked
from trl_lint.editors.context import Kept
from trl_lint.engine import Result
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.records import NamedTuple
from trl_lint.settings import NOTHING, Said, find_config
from trl_lint.settings_file import Reader, SettingsError
from trl_lint.sources import Files
from trl_lint.workspace import Workspace


class Checked(NamedTuple):
    """The findings in one file that are to be shown, and the files that their places are in."""

    path: str
    findings: tuple[Finding, ...]
    files: Files


class Desk:
    """Open files with their unsaved contents, and the workspaces that check them.

    `said` is what the settings are told beside their files, as on a command line.
    """

    def __init__(self, said: Said = NOTHING) -> None:
        self._said = said
        self.contents: dict[str, bytes] = {}
        """What is unsaved, by path."""
        self._unsaved: dict[str, bytes] = {}  # of that, what counts as settings
        self._kept: dict[str | None, Kept] = {}

    def put(self, contents: Mapping[str, bytes | None]) -> None:
        """Lay unsaved contents over files, or (None) take them away."""
        for path, data in contents.items():
            if data is None:
                self.contents.pop(path, None)
            else:
                self.contents[path] = data
            if path.endswith(".toml"):
                self._take_settings(path, data)
        for kept in self._kept.values():
            kept.workspace.change(contents)

    def _take_settings(self, path: str, data: bytes | None) -> None:
        """Let an unsaved file of settings count, or no more. One that cannot be used is still being written: what it
        held before goes on to count.
        """
        now = {name: content for name, content in self._unsaved.items() if name != path}
        if data is not None:
            now[path] = data
        said = _settings_in(path, now)
        if said is None and data is not None:
            return
        if said != _settings_in(path, self._unsaved):
            self._kept.clear()
        self._unsaved = now

    def look_again(self) -> None:
        """Take in what has changed on disk, settings as well."""
        tracked.forget()
        for config, kept in list(self._kept.items()):
            if not kept.look_again():
                del self._kept[config]

    def is_new(self, path: str) -> bool:
        """Whether nothing was read yet of what belongs to a file."""
        return find_config(os.path.dirname(path), self._unsaved) not in self._kept

    def is_due(self, path: str) -> bool:
        """Whether a file may have other findings now. Raises SettingsError, BaselineError."""
        return self._kept_for(path).workspace.is_due([path])

    def workspace(self, path: str) -> Workspace:
        """The workspace of a file. Raises SettingsError, BaselineError."""
        return self._kept_for(path).workspace

    def project(self, path: str) -> Project:
        """The project of a file. Raises SettingsError, BaselineError."""
        return self.workspace(path).project(path)

    def check(self, path: str) -> Checked:
        """Check a file as it is now. Raises SettingsError, BaselineError."""
        kept = self._kept_for(path)
        result = kept.workspace.check([path])
        return Checked(path, tuple(kept.shown(path, result)), result.files)

    def check_first(self, path: str) -> Checked | None:
        """What can be said of a large file at once, if that is less. Raises SettingsError, BaselineError."""
        kept = self._kept_for(path)
        result = kept.workspace.check_first(path)
        return Checked(path, tuple(kept.shown(path, result)), result.files) if result is not None else None

    def shown(self, path: str, result: Result) -> list[Finding]:
        """The findings of a result that are shown in a file. Raises SettingsError, BaselineError."""
        return self._kept_for(path).shown(path, result)

    def _kept_for(self, path: str) -> Kept:
        config = find_config(os.path.dirname(path), self._unsaved)
        kept = self._kept.get(config)
        if kept is None:
            kept = self._kept[config] = Kept(config, self._said, self.contents, self._unsaved)
        return kept


def _settings_in(path: str, unsaved: Mapping[str, bytes]) -> dict[str, Any] | None:
    """What a file sets; None where it cannot be used."""
    try:
        return Reader(path, unsaved=unsaved).read()
    except SettingsError:
        return None
