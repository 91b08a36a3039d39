"""Where uv takes packages from: `[tool.uv.sources]`, the indexes of the project, and the members of its workspace.

Poetry names its indexes in another table, which says the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from trl_lint import tracked
from trl_lint.knowledge.requirements import marker_holds
from trl_lint.project.links import is_own_file
from trl_lint.project.manifests.poetry import address_of
from trl_lint.project.pins import Link, Pin
from trl_lint.project.repositories import at_index
from trl_lint.sources import Files, Source, SourceError
from trl_lint.sources.nodes import Mapping, Node, Sequence, find, value_of
from trl_lint.sources.requirements import normalised
from trl_lint.sources.toml import read_toml

_ELSEWHERE = ("git", "path", "url", "workspace")
# What Poetry calls the indexes that it asks instead of PyPI.
_PRIMARY = (None, "default", "primary")
# More members than a workspace has.
_MOST_MEMBERS = 200


def mark_sources(pins: Iterable[Pin], root: Mapping) -> list[Pin]:
    """The pins of a project, those that it takes from elsewhere than PyPI as what they are: not a release of it."""
    sources = {normalised(name): _parts(node) for name, node in entries(find(root, "tool.uv.sources"))}
    indexes, usual = _indexes(root)
    return [
        marked if marked.url else at_index(marked, usual)
        for pin in pins
        for marked in _from_sources(pin, sources.get(pin.package, ()), indexes)
    ]


def _from_sources(pin: Pin, parts: Iterable[Mapping], indexes: dict[str, str]) -> Iterator[Pin]:
    """A pin, once for each place that it may be taken from."""
    mine = [part for part in parts if not _group(part) or normalised(_group(part)) == normalised(pin.group)]
    # What only another system than Linux installs is no training machine.
    usable = [part for part in mine if marker_holds(_marker(part), systems=("linux",)) is not False] or mine
    for part in usable:
        marker = " and ".join(f"({one})" for one in (pin.marker, _marker(part)) if one)
        index = value_of(part.get("index"))
        if any(part.get(key) is not None for key in _ELSEWHERE):
            yield pin._replace(kind="url", specifier="", specifier_location=None, url=address_of(part), marker=marker)
        else:
            address = indexes.get(index, index) if isinstance(index, str) else ""
            yield at_index(pin._replace(marker=marker), address)
    if not usable:
        yield pin


def _group(part: Mapping) -> str:
    """The extra or the group in which a source counts, "" for all of them."""
    return str(value_of(part.get("extra")) or value_of(part.get("group")) or "")


def _marker(part: Mapping) -> str:
    return str(value_of(part.get("marker")) or "")


def _indexes(root: Mapping) -> tuple[dict[str, str], str]:
    """The addresses of the indexes by their names, and that of the one that is asked instead of PyPI ("" if none)."""
    named: dict[str, str] = {}
    usual = str(value_of(find(root, "tool.uv.index-url")) or value_of(find(root, "tool.uv.pip.index-url")) or "")
    for table in _parts(find(root, "tool.uv.index")):
        address = str(value_of(table.get("url")) or "")
        named[str(value_of(table.get("name")))] = address
        usual = address if value_of(table.get("default")) is True else usual
    for table in _parts(find(root, "tool.poetry.source")):
        address = str(value_of(table.get("url")) or "")
        named[str(value_of(table.get("name")))] = address
        usual = address if address and value_of(table.get("priority")) in _PRIMARY else usual
    return named, usual


def links_of(root: Mapping, pins: Iterable[Pin], path: str, files: Files) -> Iterator[Link]:
    """The projects on the disk that the requirements of the file at a path are taken from."""
    always = {pin.package: pin for pin in pins if not pin.is_optional}
    for name, node in (*entries(find(root, "tool.uv.sources")), *entries(find(root, "tool.poetry.dependencies"))):
        parts = _parts(node)
        pin = always.get(normalised(name))
        if len(parts) != 1 or pin is None:
            continue
        place = value_of(parts[0].get("path"))
        if value_of(parts[0].get("workspace")) is True:
            place = _member(pin.package, root, path, files)
        if isinstance(place, str) and place:
            yield Link(place, "", "project", pin.location, pin.extras)


def _member(package: str, root: Mapping, path: str, files: Files) -> str:
    """The folder of a member of the workspace that the file at a path belongs to, relative to it; "" if not found."""
    here = os.path.dirname(path)
    for above in (here, os.path.dirname(here), os.path.dirname(os.path.dirname(here))):
        around = root if above == here else _read(os.path.join(above, "pyproject.toml"), path, files)
        members = find(around, "tool.uv.workspace.members") if around is not None else None
        for folder in _folders(above, members) if isinstance(members, Sequence) else ():
            found = _read(os.path.join(folder, "pyproject.toml"), path, files)
            if found is not None and normalised(str(value_of(find(found, "project.name")))) == package:
                return os.path.relpath(folder, here)
        if isinstance(members, Sequence):
            break
    return ""


def _folders(above: str, members: Sequence) -> Iterator[str]:
    for item in members.items[:_MOST_MEMBERS]:
        folder, _, last = str(value_of(item)).rstrip("/").rpartition("/")
        place = os.path.normpath(os.path.join(above, folder))
        if "*" not in last:
            yield os.path.join(place, last)
        elif tracked.is_folder(place):
            yield from (os.path.join(place, name) for name in tracked.names(place)[:_MOST_MEMBERS])


def _read(path: str, by: str, files: Files) -> Mapping | None:
    if not tracked.is_file(path) or not is_own_file(path, by):
        return None
    try:
        return read_toml(Source(files.get(path), "toml"))
    except (OSError, SourceError):
        return None  # said where it is checked itself


def _parts(node: Node | None) -> list[Mapping]:
    items = node.items if isinstance(node, Sequence) else [node]
    return [item for item in items if isinstance(item, Mapping)]


def entries(node: Node | None) -> list[tuple[str, Node]]:
    """The keys of a table with their values; none of anything else."""
    if not isinstance(node, Mapping):
        return []
    return [(str(entry.key.value), entry.value) for entry in node.entries]
