"""What gets installed together: the projects and requirements files that a document installs, beside its own pins.

`pip install -e ./sub` in a README, script, Dockerfile or workflow brings what `sub` declares and the modules that stand
there; `-r sub/requirements.txt` what that file lists. A repository that is cloned, and a path that is not there, are
unknown: what they require, nobody can read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from trl_lint import tracked
from trl_lint.project.links import is_own_file
from trl_lint.project.pins import PROJECT_FILES, Kind, Link, Manifest, Pin, Step
from trl_lint.project.repositories import package_at
from trl_lint.project.tiers import Tier
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.requirements import normalised, package_of_url

# Projects that install each other in a chain longer than this do not exist.
_MOST_DEPTH = 10
_LIMITING: dict[str, Kind] = {"constraints": "constraint", "overrides": "override"}
_SOURCE_FOLDERS = ("", "src", "python", "lib")
# What archives and people put behind and in front of the name of a repository when it becomes a folder.
_BEHIND_NAME = regex(r"-(?:main|master|v?\d[\w.]*)\Z")
_NOT_OF_NAME = regex(r"[^\w.-]")


class Installation(NamedTuple):
    """What a document installs into one environment: the pins in the order of its commands, and where they come from.

    `files` are all manifests of the project that it reads, `folders` the projects whose modules are importable then.
    """

    path: str
    environment: str
    tier: Tier
    files: frozenset[str]
    folders: frozenset[str]


class Installs:
    """The links between the manifests of a project. `read` gives the manifest at a path, if there is one."""

    def __init__(
        self, root: str, read: Callable[[str], Manifest | None], upwards: Callable[[str], Iterable[str]]
    ) -> None:
        self.root = root
        self._read = read
        self._upwards = upwards
        self._own_names: frozenset[str] | None = None

    def read_with(self, read: Callable[[str], Manifest | None]) -> None:
        """Go on with another way to read manifests, which gives the same of those that were read."""
        self._read = read

    def installations(self, document: Manifest) -> list[Installation]:
        """What a document installs, by environment; nothing for one that installs only what it names."""
        from trl_lint.project.tiers import Tier

        found = []
        for environment, part in by_environment(document).items():
            # What a workflow names beside the project is what it tests, and no pin.
            visit = _Visit(self, list(part.pins) if document.kind != "workflow" else [])
            for link in part.links:
                visit.follow(link, document.path)
            files, folders = frozenset(visit.files), frozenset(visit.folders)
            found.append(Installation(document.path, environment, Tier(visit.pins), files, folders))
        return found

    def brought(self, manifest: Manifest, step: Step | None = None) -> list[Pin]:
        """The pins that the links of a manifest bring, without its own; in a step, where the links tell none."""
        visit = _Visit(self, [])
        visit.files[manifest.path] = None
        for link in manifest.links:
            visit.follow(link, manifest.path, step)
        return visit.pins

    # -- where links lead -----------------------------------------------------------------------------------------

    def target(self, link: Link, path: str) -> str:
        """The folder or file of this project that a link in the file at `path` leads to; "" if there is none."""
        if link.directory is None:
            return ""
        is_there = _is_project if link.kind == "project" else tracked.is_file
        if link.clone is not None and not self.is_own(link.clone.url):
            return ""
        inside = os.path.join(self.root, "")
        for directory in self._directories(link):
            for base in self._upwards(os.path.dirname(path)):
                found = os.path.normpath(os.path.join(base, directory, link.name))
                if (found + os.sep).startswith(inside) and is_there(found) and is_own_file(found, path):
                    return found
        return ""

    def _directories(self, link: Link) -> Iterator[str]:
        """The working directory of a link, and what is left of it where it begins with the folder of the project."""
        directory = link.directory or ""
        if os.path.isabs(link.name):
            yield ""
            return
        if link.clone is not None:
            directory = os.path.relpath(directory or ".", link.clone.folder or ".") if directory else ""
            yield "" if directory.startswith("..") else directory
            return
        parts = directory.strip("/").split("/")
        if os.path.isabs(directory):  # a folder of an image, where the checkout may lie
            known = [index for index, part in enumerate(parts) if self._is_own_name(part)]
            if known:
                yield "/".join(parts[known[-1] + 1 :])
            return
        yield directory
        # `cd sub` in another project is no folder of this one, but `./core` below it would be a coincidence.
        if directory and (self._is_own_name(parts[0]) or os.path.normpath(link.name) != "."):
            yield "/".join(parts[1:])

    def is_own(self, url: str) -> bool:
        """Whether the address of a repository is that of this project, by its name."""
        return self._is_own_name(package_of_url(url))

    def _is_own_name(self, name: str) -> bool:
        tracked.note_name(name)
        if self._own_names is None:
            folder = _NOT_OF_NAME.split(os.path.basename(self.root))[-1]
            names = [folder, _BEHIND_NAME.sub("", folder)]
            for file in PROJECT_FILES:
                manifest = self._read(os.path.join(self.root, file))
                names.append(manifest.project if manifest is not None else "")
            self._own_names = frozenset(normalised(found) for found in names if found)
        return normalised(name) in self._own_names


class _Visit:
    """Follows links, each target once for each choice of extras, and collects what they bring."""

    def __init__(self, installs: Installs, pins: list[Pin]) -> None:
        self.installs = installs
        self.pins = list(pins)
        self.files: dict[str, None] = {}
        self.folders: dict[str, None] = {}
        self._read: set[tuple[str, frozenset[str]]] = set()

    def follow(self, link: Link, path: str, step: Step | None = None, depth: int = 0) -> None:
        step = link.step or step
        if link.clone is not None and not self.installs.is_own(link.clone.url):
            self._add_foreign(link, step, link.clone.url)
            return
        target = self.installs.target(link, path)
        if not target:
            if link.directory is not None:
                self._add_foreign(link, step, "")
        elif link.kind == "project":
            self._add_project(target, link, step, depth)
        else:
            self._add_file(target, step, frozenset(), depth, link.kind)

    def _add_foreign(self, link: Link, step: Step | None, url: str) -> None:
        """What is on no disk that we see: a package of a name that may be known, and of no known release."""
        if link.kind in ("constraints", "overrides"):
            return
        name = package_at(url) if url else ""
        if not url and link.kind == "project":
            last = os.path.basename(os.path.normpath(os.path.join(link.directory or "", link.name)))
            name = normalised(last) if last not in (".", "..") else ""
        self.pins.append(Pin(name, "", link.location, "url", text=link.name, url=url or link.name, step=step))

    def _add_project(self, folder: str, link: Link, step: Step | None, depth: int) -> None:
        self.folders.setdefault(folder)
        for name in PROJECT_FILES:
            path = os.path.join(folder, name)
            if tracked.is_file(path):
                self._add_file(path, step, link.extras, depth, link.kind)

    def _add_file(self, path: str, step: Step | None, extras: frozenset[str], depth: int, kind: str) -> None:
        if (path, extras) in self._read or depth > _MOST_DEPTH or (path in self.files and not extras):
            return
        self.files[path] = None
        self._read.add((path, extras))
        manifest = self.installs._read(path)
        if manifest is None:
            return
        self.files.update(dict.fromkeys(pin.location.path for pin in manifest.pins))
        if step is None or not step.alone:
            for pin in manifest.pins:
                self._add_pin(pin, manifest, step, extras, kind)
        for link in manifest.links:
            self.follow(link, path, step, depth + 1)

    def _add_pin(self, pin: Pin, manifest: Manifest, step: Step | None, extras: frozenset[str], kind: str) -> None:
        if pin.kind == "inert" or pin.package == manifest.project:
            return
        if pin.is_optional:
            if normalised(pin.group) not in extras:
                return
            pin = pin._replace(group="", kind="url" if pin.kind == "url" else "requirement")
        if kind in _LIMITING and pin.kind == "requirement":
            pin = pin._replace(kind=_LIMITING[kind])
        self.pins.append(pin._replace(step=step))


def module_folders(folder: str) -> list[str]:
    """Where the modules of a project stand, as far as its layout tells: beside its setup.py or in `src`."""
    return [found for name in _SOURCE_FOLDERS if tracked.is_folder(found := os.path.join(folder, name).rstrip(os.sep))]


def _is_project(folder: str) -> bool:
    return any(tracked.is_file(os.path.join(folder, name)) for name in PROJECT_FILES)


def by_environment(document: Manifest) -> dict[str, Manifest]:
    """What a document installs, by the environment that it fills."""
    pins: dict[str, list[Pin]] = {}
    links: dict[str, list[Link]] = {}
    for pin in document.pins:
        pins.setdefault(pin.step.environment if pin.step is not None else "", []).append(pin)
    for link in document.links:
        links.setdefault(link.step.environment if link.step is not None else "", []).append(link)
    return {
        name: document._replace(pins=tuple(pins.get(name, ())), links=tuple(links.get(name, ())))
        for name in dict.fromkeys((*pins, *links))
    }
