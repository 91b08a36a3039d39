"""What imports what in the package, read from the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from documents import ROOT

PACKAGE = "trl_lint"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
_QUOTED = re.compile(r"`(trl_lint/[^`]*)`")
_NODE = re.compile(r'\b(\w+)\[\(?"([^<"]+)')
_ARROW = re.compile(r"(\w+)(?:\[[^\n]*?\])? (?:-->|-- .*? -->) (?=(\w+))")


class Import(NamedTuple):
    """An import of one module of the package by another. `line` counts from 1; one only for types costs no run."""

    importer: str
    imported: str
    line: int
    is_for_types: bool


def modules() -> dict[str, Path]:
    """The file of each module, by dotted name."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports() -> tuple[Import, ...]:
    """Every import inside the package, also those in functions and those only for types."""
    known = modules()
    return tuple(one for name, path in known.items() for one in _imports_of(name, path, known))


def _imports_of(name: str, path: Path, known: dict[str, Path]) -> Iterator[Import]:
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [one if one in known else node.module for one in inner]
        for target in dict.fromkeys(targets):
            if target in known:
                yield Import(name, target, node.lineno, node in for_types)


def module_name(path: str) -> str:
    """`trl_lint.checks` for `trl_lint/checks/`."""
    return path.rstrip("/").removesuffix(".py").replace("/", ".")


def rooms() -> list[list[str]]:
    """The rows of the table of rooms that are about the package: the paths of each."""
    table = ARCHITECTURE.read_text("utf-8").partition("## The rooms")[2].partition("\n\nA name that")[0]
    cells = (line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `"))
    return [found for found in map(_QUOTED.findall, cells) if found]


@cache
def room_of(module: str) -> str:
    """The first path of the row that a module belongs to, "" for none."""
    first = {module_name(path): row[0] for row in rooms() for path in row}
    around = [module.rsplit(".", count)[0] for count in range(module.count(".") + 1)]
    return next((first[name] for name in around if name in first), "")


def floors() -> list[list[str]]:
    """The rooms of each floor, from the ground up."""
    text = ARCHITECTURE.read_text("utf-8").partition("lower floors only")[2].partition("These arrows")[0]
    return [_QUOTED.findall(floor) for floor in re.split(r"^\d+\. ", text, flags=re.MULTILINE)[1:]]


def arrows_back() -> list[tuple[str, str]]:
    """The arrows between rooms that lead back up, as they are explained."""
    table = ARCHITECTURE.read_text("utf-8").partition("lead back up")[2].partition("import each other")[0]
    lines = (line.split(" | ")[:2] for line in table.splitlines() if line.startswith("| `"))
    return [(_QUOTED.findall(start)[0], _QUOTED.findall(end)[0]) for start, end in lines]


def circles() -> list[tuple[str, str]]:
    """Every two modules that import each other, at the top, in a function or for types alone."""
    found = {(one.importer, one.imported) for one in imports()}
    return sorted((start, end) for start, end in found if start < end and (end, start) in found)


def explained_circles() -> list[tuple[str, str]]:
    """The circles of two modules that stay, as they are explained."""
    table = ARCHITECTURE.read_text("utf-8").partition("import each other")[2].partition("\n## ")[0]
    rows = (_QUOTED.findall(line.split(" | ")[0]) for line in table.splitlines() if line.startswith("| `"))
    return sorted((module_name(start), module_name(end)) for start, *ends in rows for end in ends)


def picture() -> tuple[dict[str, str], set[tuple[str, str]]]:
    """The nodes of the picture that stand for modules, with the names of these, and the arrows between them."""
    text = ARCHITECTURE.read_text("utf-8").partition("```mermaid")[2].partition("```")[0]
    named = {"checks": "checks", **dict(_NODE.findall(text))}
    nodes = {node: f"{PACKAGE}.{module_name(label)}" for node, label in named.items() if node != "rules"}
    arrows = {(start, end) for start, end in _ARROW.findall(text) if start in nodes and end in nodes}
    return nodes, arrows
