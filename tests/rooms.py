"""What imports what in the package, read from the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from documents import ROOT

PACKAGE = "trl_lint"


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
