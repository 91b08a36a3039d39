"""The manifests around a file: those of its folder and of the folders above it, each read once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from trl_lint import looks
from trl_lint.project.pins import Manifest, Pin, kind_of

_COMMAND_KINDS = frozenset(("shell", "makefile", "dockerfile", "readme"))
SCRIPT_KINDS = frozenset(("pep723", "notebook", "script-lock"))
DOCKER_FOLDERS = ("docker", "dockerfile", "dockerfiles", ".devcontainer")


class Folders:
    """The manifests of a project's folders, each read once by `read`, which takes a path and raises nothing."""

    def __init__(self, root: str, read: Callable[[str], Manifest | None]) -> None:
        self.root = root
        self._read = read
        self._manifests: dict[str, list[Manifest]] = {}
        self._tiers: dict[str, list[list[Pin]]] = {}
        self._names: dict[str, list[str]] = {}
        self._commands: dict[str, list[list[Pin]]] = {}
        self._own_commands: dict[str, list[list[Pin]]] = {}
        self._versions: dict[tuple[str, str], str | None] = {}

    def upwards(self, folder: str) -> Iterator[str]:
        """The folder and those above it, up to the root of the project."""
        yield folder
        while folder != self.root and folder.startswith(self.root.rstrip(os.sep) + os.sep):
            folder = os.path.dirname(folder)
            yield folder

    def names(self, folder: str) -> list[str]:
        found = self._names.get(folder)
        if found is None:
            try:
                found = looks.names(folder)
            except OSError:
                found = []
            self._names[folder] = found
        return found

    def manifests(self, folder: str) -> list[Manifest]:
        """The locks and declared requirements of one folder."""
        found = self._manifests.get(folder)
        if found is None:
            paths = [os.path.join(folder, name) for name in self.names(folder)]
            if "requirements" in self.names(folder):
                inner = os.path.join(folder, "requirements")
                paths += [os.path.join(inner, name) for name in self.names(inner)]
            found = self._manifests[folder] = []
            for path in paths:
                kind = kind_of(path)
                if kind and kind not in _COMMAND_KINDS and kind not in SCRIPT_KINDS and kind != "constraints":
                    manifest = self._read(path)
                    if manifest is not None:
                        found.append(manifest)
        return found

    def tiers(self, folder: str) -> list[list[Pin]]:
        """The pins of one folder by rank: lock, always installed, optional."""
        found = self._tiers.get(folder)
        if found is None:
            core: list[Pin] = []
            side: list[Pin] = []
            for manifest in self.manifests(folder):
                if manifest.is_lock:
                    continue
                main = manifest.kind != "requirements" or os.path.basename(manifest.path).lower() == "requirements.txt"
                for pin in manifest.pins:
                    if pin.package != manifest.project:
                        (core if main and not pin.is_optional else side).append(pin)
            found = self._tiers[folder] = [self.lock(folder), core, side]
        return found

    def lock(self, folder: str) -> list[Pin]:
        return [pin for manifest in self.manifests(folder) if manifest.is_lock for pin in manifest.pins]

    def own_version(self, folder: str, package: str) -> str | None:
        """The version of the package if the project builds it: "" if it is not told, None if it is another project."""
        if (folder, package) not in self._versions:
            self._versions[folder, package] = self._own_version(folder, package)
        return self._versions[folder, package]

    def _own_version(self, folder: str, package: str) -> str | None:
        for upper in self.upwards(folder):
            versions = [manifest.version for manifest in self.manifests(upper) if manifest.project == package]
            if versions:
                return next((version for version in versions if version), "")
        return None

    def commands(self, folder: str) -> list[list[Pin]]:
        """What install commands bring: per folder upwards Dockerfiles, scripts and Makefiles, then READMEs."""
        found = self._commands.get(folder)
        if found is None:
            tiers = (tier for upper in self.upwards(folder) for tier in self._commands_of(upper))
            found = self._commands[folder] = [tier for tier in tiers if tier]
        return found

    def _commands_of(self, folder: str) -> list[list[Pin]]:
        found = self._own_commands.get(folder)
        if found is None:
            found = self._own_commands[folder] = self._read_commands(folder)
        return found

    def _read_commands(self, folder: str) -> list[list[Pin]]:
        run: list[Pin] = []
        told: list[Pin] = []
        paths = [os.path.join(folder, name) for name in self.names(folder)]
        for name in DOCKER_FOLDERS:
            if name in self.names(folder):
                inner = os.path.join(folder, name)
                paths += [os.path.join(inner, inner_name) for inner_name in self.names(inner)]
        for path in paths:
            kind = kind_of(path)
            manifest = self._read(path) if kind in _COMMAND_KINDS else None
            if manifest is not None:
                (told if kind == "readme" else run).extend(manifest.pins)
        return [run, told]
