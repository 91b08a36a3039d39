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
    return functions_of(data).get(function) if not function.startswith("*.") else _of_any(data, function[2:])


def _of_any(data: bytes, name: str) -> tuple[str, ...] | None:
    found = [lines for key, lines in functions_of(data).items() if key == name or key.endswith(f".{name}")]
    return tuple(line for lines in found for line in lines) if found else None


@lru_cache(maxsize=256)
def functions_of(data: bytes) -> dict[str, tuple[str, ...]]:
    """The lines of each function and class of a file by its dotted name, and those of the file under ""."""
    tree = parsed(data)
    if tree is None:
        return {}
    found: dict[str, tuple[str, ...]] = {}

    def walk(node: ast.AST, above: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = above
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{above}.{child.name}".lstrip(".")
                found[name] = (*found.get(name, ()), *_unparsed(child))
            if isinstance(child, (ast.stmt, ast.ExceptHandler)):
                walk(child, name)

    for each in ast.walk(tree):
        body = getattr(each, "body", None)
        if isinstance(body, list):
            # A docstring is no code; what is left may be nothing.
            kept = [one for one in body if not (isinstance(one, ast.Expr) and _is_text(one.value))]
            each.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    walk(tree, "")
    found[""] = _unparsed(tree)
    return found


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _unparsed(node: ast.AST) -> tuple[str, ...]:
    return tuple(line.strip() for line in ast.unparse(node).splitlines())
