"""pyproject.toml: PEP 621 and PEP 735 dependencies, and the tables of Poetry, uv and PDM."""

from __future__ import annotations

import os

from trl_lint import budget
from trl_lint.project.manifests.collected import Collected
from trl_lint.project.manifests.own_version import find_version, version_in_file
from trl_lint.project.manifests.poetry import pin_from_poetry
from trl_lint.project.manifests.uv_sources import entries, links_of, mark_sources
from trl_lint.project.pins import Kind, Manifest
from trl_lint.sources import Files, Source, SourceFile
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, find, value_of
from trl_lint.sources.requirements import normalised
from trl_lint.sources.toml import read_toml

# How many requirements of included groups are read once more for those that include them.
_MOST_INCLUDED = 2000


def read(file: SourceFile, files: Files) -> Manifest | None:
    source = Source(file, "toml")
    root = read_toml(source)
    collected = Collected(source)
    collect_lists(root, collected)
    _collect_poetry(root, collected)
    pins = mark_sources(collected.pins, root)
    project, version = _project(root, os.path.dirname(file.path), files)
    python = value_of(find(root, "project.requires-python"))
    if not pins and not collected.problems and not project:
        return None
    problems = tuple(collected.problems)
    requires = python if isinstance(python, str) else None
    links = tuple(links_of(root, pins, file.path, files))
    return Manifest(file.path, "pyproject", tuple(pins), requires, problems, project, version, links)


def collect_lists(root: Mapping, collected: Collected) -> None:
    """Everything that is written as a list of PEP 508 strings."""
    add_list(find(root, "project.dependencies"), collected, "requirement")
    for name, node in entries(find(root, "project.optional-dependencies")):
        add_list(node, collected, "extra", name)
    groups = find(root, "dependency-groups")
    _add_groups(groups, collected)
    add_list(find(root, "tool.uv.dev-dependencies"), collected, "group", "dev")
    add_list(find(root, "tool.uv.constraint-dependencies"), collected, "constraint")
    add_list(find(root, "tool.uv.override-dependencies"), collected, "override")
    for name, node in entries(find(root, "tool.pdm.dev-dependencies")):
        add_list(node, collected, "group", name)


def add_list(node: Node | None, collected: Collected, kind: Kind, group: str = "") -> None:
    if isinstance(node, Sequence):
        for item in node.items:
            add_string(item, collected, kind, group)


def add_string(item: Node, collected: Collected, kind: Kind, group: str = "") -> None:
    """A TOML string that is a requirement; one spelled with escapes is left out, it has no plain span."""
    if isinstance(item, Scalar) and isinstance(item.value, str):
        inner = item.raw.find(item.value)
        if inner > 0:
            collected.add(item.start + inner, item.start + inner + len(item.value), kind, group)


def _add_groups(groups: Node | None, collected: Collected) -> None:
    """The requirements of every dependency group, with those of the groups it includes (PEP 735)."""
    lists: dict[str, list[Sequence]] = {}
    for key, node in entries(groups):
        if isinstance(node, Sequence):
            lists.setdefault(normalised(key), []).append(node)
    left = _MOST_INCLUDED
    for name, _ in entries(groups):
        seen, waiting = {normalised(name)}, [(node.items, 0) for node in reversed(lists.get(normalised(name), []))]
        while waiting:
            items, at = waiting.pop()
            if at == len(items):
                continue
            waiting.append((items, at + 1))
            item = items[at]
            included = value_of(item.get("include-group")) if isinstance(item, Mapping) else None
            if not isinstance(included, str):
                add_string(item, collected, "group", name)
            elif (wanted := normalised(included)) not in seen:
                seen.add(wanted)
                found = lists.get(wanted, [])
                left -= 1 + sum(len(node.items) for node in found)
                if left < 0:
                    budget.note(collected.source.path, "its groups include each other too often")
                    continue
                waiting += [(node.items, 0) for node in reversed(found)]


def _collect_poetry(root: Mapping, collected: Collected) -> None:
    poetry = find(root, "tool.poetry")
    if not isinstance(poetry, Mapping):
        return
    tables: list[tuple[str, Kind, Node | None]] = [
        ("", "requirement", poetry.get("dependencies")),
        ("dev", "group", poetry.get("dev-dependencies")),
    ]
    for name, group in entries(poetry.get("group")):
        tables.append((name, "group", find(group, "dependencies")))
    for group_name, kind, table in tables:
        if not isinstance(table, Mapping):
            continue
        for entry in table.entries:
            pin = pin_from_poetry(collected.source, entry, kind, group_name)
            if pin is not None:
                collected.pins.append(pin)


def _project(root: Mapping, folder: str, files: Files) -> tuple[str, str]:
    """Name and version of the package this file builds."""
    name = value_of(find(root, "project.name")) or value_of(find(root, "tool.poetry.name"))
    if not isinstance(name, str):
        return "", ""
    version = value_of(find(root, "project.version")) or value_of(find(root, "tool.poetry.version"))
    if isinstance(version, str) and version:
        return normalised(name), version
    path = value_of(find(root, "tool.setuptools.dynamic.version.file")) or value_of(
        find(root, "tool.hatch.version.path")
    )
    if isinstance(path, str) and (
        found := version_in_file(
            os.path.normpath(os.path.join(folder, path)), os.path.join(folder, "pyproject.toml"), files
        )
    ):
        return normalised(name), found
    return normalised(name), find_version(folder, normalised(name), files)
