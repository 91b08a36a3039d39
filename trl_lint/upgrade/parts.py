"""The parts of a tree that are upgraded each by itself: files whose environments have no pin in common."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from trl_lint.knowledge.releases import known_packages
from trl_lint.project import Project, find_root
from trl_lint.project.inventory import overviews
from trl_lint.project.pins import is_manifest
from trl_lint.records import NamedTuple


class Place(NamedTuple):
    """Some of the asked files, and the folder that holds all of them that pins rule ("" where there is one part)."""

    folder: str
    files: list[str]


def parts_of(projects: Iterable[Project], asked: Sequence[str]) -> list[Place]:
    """The asked files by the environments that they make or run in; those of one part share pins, the largest first.

    What no pin rules belongs to the largest part: the releases that it gets are those of nobody else.
    """
    groups = _Groups()
    for project in projects:
        mine = [path for path in asked if find_root(os.path.dirname(path)) == project.root]
        for overview in overviews(project, mine):
            pinned = [facts for facts in overview.packages if facts.source != "told"]
            places = [pin.location.path for facts in pinned for pin in facts.pins]
            groups.join([*places, *(overview.files if places else ())])
        for path in mine:
            if path not in groups:
                groups.join(_pinned_with(path, project))
    wanted = set(asked)
    parts = [sorted(wanted.intersection(group)) for group in groups.all()]
    parts = sorted((part for part in parts if part), key=lambda part: (-len(part), part))
    if len(parts) < 2:
        return [Place("", list(asked))]
    loose = sorted(wanted.difference(*parts))
    folders = [os.path.commonpath([os.path.dirname(path) for path in part]) for part in parts]
    return [
        Place(folder, part if at else part + loose)
        for at, (folder, part) in enumerate(zip(folders, parts, strict=True))
    ]


def _pinned_with(path: str, project: Project) -> list[str]:
    """A file with those whose pins rule it, or hold beside its own; nothing for one that no pin rules."""
    manifest = project.manifest_around(path) if is_manifest(path) else None
    mine = [pin.location.path for pin in manifest.pins] if manifest is not None else []
    around = project.environment(os.path.join(os.path.dirname(path), "_"))
    packages = (around.package(name) for name in known_packages())
    places = [pin.location.path for package in packages if package.source != "told" for pin in package.pins]
    return [path, *mine, *places] if mine or places else []


class _Groups:
    """Paths that belong together."""

    def __init__(self) -> None:
        self._of: dict[str, set[str]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._of

    def join(self, paths: Sequence[str]) -> None:
        whole: set[str] = set(paths)
        for path in paths:
            whole |= self._of.get(path, set())
        for path in whole:
            self._of[path] = whole

    def all(self) -> list[set[str]]:
        return list({id(group): group for group in self._of.values()}.values())
