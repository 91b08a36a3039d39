"""The faulty code of a row of `rules/bugs`, looked for in the files of a release. Nothing is run."""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from functools import lru_cache

from trl_lint.knowledge.bugs import Bug, Code
from trl_lint.knowledge.refresher.index import Members
from trl_lint.knowledge.refresher.trees import parsed

# What becomes of a fingerprint in a release: the file or the function is not there, the faulty code is, or other code.
ABSENT, FAULTY, OTHER = "absent", "faulty", "other"


def is_asked(row: Bug, path: str) -> bool:
    """Whether a file of an archive has a say in a row."""
    return any(_fits(path, pattern) for pattern in (row.code.file, *(other.file for other in row.code.elsewhere)))


def state_of(row: Bug, members: Members) -> str:
    """ABSENT, FAULTY or OTHER, for the files of a release that were asked for."""
    code = row.code
    found = [
        lines
        for path, (_, data) in sorted(members.items())
        if _fits(path, code.file) and (lines := _lines_of(path, data, code.function)) is not None
    ]
    if not found:
        return ABSENT
    is_there = any(_is_faulty(code, lines) for lines in found) and all(
        any(
            _fits(path, other.file) and _says(_lines_of(path, data, "") or (), other.text, other.lacks)
            for path, (_, data) in members.items()
        )
        for other in code.elsewhere
    )
    return FAULTY if is_there else OTHER


def is_in(part: str, lines: tuple[str, ...]) -> bool:
    """Whether a part of a line stands in one of them, as it is or as `ast.unparse` writes it.

    Parts of several lines stand in lines that follow each other.
    """
    parts = [_ways(each) for each in part.split("\n")]
    return any(
        all(any(way in line for way in ways) for ways, line in zip(parts, lines[at:], strict=False))
        for at in range(len(lines) - len(parts) + 1)
    )


@lru_cache(maxsize=1024)
def _ways(part: str) -> tuple[str, ...]:
    try:
        return tuple({part, ast.unparse(ast.parse(part))})  # `x=1` is a statement, and a keyword as well
    except (SyntaxError, ValueError):
        return (part,)


def _is_faulty(code: Code, lines: tuple[str, ...]) -> bool:
    return all(is_in(part, lines) for part in code.stands) and not any(is_in(part, lines) for part in code.lacks)


def _says(lines: tuple[str, ...], text: str, lacks: str) -> bool:
    return bool(lines) and not (lacks and is_in(lacks, lines)) and (not text or is_in(text, lines))


def _fits(path: str, pattern: str) -> bool:
    """Whether a path is one of a pattern, in which `**/` stands for any folders or none."""
    return fnmatchcase(path, pattern) or ("**/" in pattern and fnmatchcase(path, pattern.replace("**/", "")))


def _lines_of(path: str, data: bytes, function: str) -> tuple[str, ...] | None:
    """The lines of a function as `ast.unparse` writes them, of the whole file for ""; None where there is none."""
    if not path.endswith(".py"):
        if function:
            return None
        lines = (line.partition(" #")[0].strip() for line in data.decode("utf-8", "replace").splitlines())
        return tuple(line for line in lines if line and not line.startswith("#"))
    last = function.rpartition(".")[2]
    if last and last.encode() not in data:
        return None
    if not function.startswith("*."):
        return _written(data, function)
    names = [key for key in _nodes(data) if key == function[2:] or key.endswith(function[1:])]
    return tuple(line for key in names for line in _written(data, key) or ()) if names else None


def functions_of(data: bytes) -> dict[str, tuple[str, ...]]:
    """The lines of each function and class of a file by its dotted name, and those of the file under ""."""
    return {name: _written(data, name) or () for name in _nodes(data)}


@lru_cache(maxsize=64)
def _nodes(data: bytes) -> dict[str, list[ast.AST]]:
    tree = parsed(data)
    if tree is None:
        return {}
    found: dict[str, list[ast.AST]] = {"": [tree]}

    def walk(node: ast.AST, above: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = above
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{above}.{child.name}".lstrip(".")
                found.setdefault(name, []).append(child)
            if isinstance(child, (ast.stmt, ast.ExceptHandler)):
                walk(child, name)

    walk(tree, "")
    return found


@lru_cache(maxsize=1024)
def _written(data: bytes, name: str) -> tuple[str, ...] | None:
    """The lines of one function alone: to write a whole file costs a second."""
    nodes = _nodes(data).get(name)
    if nodes is None:
        return None
    for each in (inner for node in nodes for inner in ast.walk(node)):
        body = getattr(each, "body", None)
        if isinstance(body, list):
            # A docstring is no code; what is left may be nothing.
            kept = [one for one in body if not (isinstance(one, ast.Expr) and _is_text(one.value))]
            each.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return tuple(line.strip() for node in nodes for line in ast.unparse(node).splitlines())


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
