"""What a Python file or notebook asks of some packages: the names it imports and the keywords it passes to them.

Read with `ast` alone and on purpose not with the tool's own readers: this is the side that the tool is compared with.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_CATCHING = {"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "Exception", "BaseException"}


class Use(NamedTuple):
    """A name (`module:Name`, `module:`) that a statement imports, or a `keyword` that a call passes to it.

    `lines`: the statement or call, 1-based, both ends included; in a notebook those of the cell, which counts from 1
    (0 in a file). `guarded`: it stands in a `try` that catches its failure, or under an `if` about versions.
    """

    path: str
    cell: int
    lines: tuple[int, int]
    name: str
    keyword: str
    guarded: bool


def uses_of(tree: Path, path: Path, packages: tuple[str, ...]) -> list[Use]:
    """The uses in one file. Raises SyntaxError and ValueError where it cannot be read."""
    relative = path.relative_to(tree).as_posix()
    parsed = [(number, _parse(text)) for number, text in _cells(path)]
    names: dict[str, str] = {}
    bound: dict[str, int] = {}
    for _, module in parsed:
        _read_names(module, packages, names, bound)
    certain = {name: full for name, full in names.items() if bound[name] == 1}
    return [
        Use(relative, number, lines, name, keyword, guarded)
        for number, module in parsed
        for lines, name, keyword, guarded in _walk(module, packages, certain, False)
    ]


def _cells(path: Path) -> list[tuple[int, str]]:
    text = path.read_text("utf-8")
    if path.suffix != ".ipynb":
        return [(0, text)]
    cells = json.loads(text)["cells"]
    code = [(number, "".join(cell["source"])) for number, cell in enumerate(cells, 1) if cell["cell_type"] == "code"]
    return [(number, re.sub(r"(?m)^\s*[!%].*(?:\\\n.*)*$", "", source)) for number, source in code]


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _read_names(module: ast.Module, packages: tuple[str, ...], names: dict[str, str], bound: dict[str, int]) -> None:
    """Add the names that imports bind, and how many different things each name of the file is bound to."""
    for node in ast.walk(module):
        given: list[tuple[str, str]] = []
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            given = [(alias.asname or alias.name, f"{node.module}:{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Import):
            given = [(alias.asname or alias.name.partition(".")[0], "") for alias in node.names]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            given = [(node.name, "")]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given = [(node.id, "")]
        elif isinstance(node, ast.arg):
            given = [(node.arg, "")]
        for name, full in given:
            if not (full and names.get(name) == full):
                bound[name] = bound.get(name, 0) + 1
            if full and full.partition(".")[0].partition(":")[0] in packages:
                names[name] = full


def _walk(
    node: ast.AST, packages: tuple[str, ...], names: dict[str, str], guarded: bool
) -> Iterator[tuple[tuple[int, int], str, str, bool]]:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Call)):
        lines = (node.lineno, node.end_lineno or node.lineno)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            for keyword in node.keywords:
                if keyword.arg is not None:
                    place = (keyword.lineno, keyword.end_lineno or keyword.lineno)
                    yield place, names[node.func.id], keyword.arg, guarded
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names if node.module.partition(".")[0] in packages else ():
                yield lines, f"{node.module}:{'' if alias.name == '*' else alias.name}", "", guarded
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in packages:
                    yield lines, f"{alias.name}:", "", guarded
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, packages, names, guarded or _guards(node))


def _guards(node: ast.AST) -> bool:
    if isinstance(node, ast.Try):
        kinds = [kind for handler in node.handlers for kind in _kinds(handler)]
        return "" in kinds or not _CATCHING.isdisjoint(kinds)
    return isinstance(node, (ast.If, ast.IfExp)) and re.search("version|available", ast.unparse(node.test)) is not None


def _kinds(handler: ast.ExceptHandler) -> list[str]:
    """The exceptions a handler catches, "" for all of them."""
    if handler.type is None:
        return [""]
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [ast.unparse(kind).rpartition(".")[2] for kind in kinds]
