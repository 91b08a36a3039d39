"""No regular expression of the tool, nor of its rules, takes more than linear time, whatever it is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import tomli
from documents import ROOT

PACKAGE = ROOT / "trl_lint"
RULES = ROOT / "rules"
USES = {"match": "match", "fullmatch": "fullmatch", "search": "search"}
EVERYWHERE = ("findall", "finditer", "sub", "subn", "split")
SAMPLE = "name"  # what stands for a part that is put in: escaped words


class Found(NamedTuple):
    """An expression, where it is written, and how it is used."""

    place: str
    pattern: str | bytes
    flags: int
    use: str


class _Module:
    """The expressions of one module of the tool."""

    def __init__(self, path: Path) -> None:
        self.name = path.relative_to(ROOT).as_posix()
        self.tree = ast.parse(path.read_bytes())
        self.constants: dict[str, Any] = {}
        self.unread: list[str] = []

    def found(self, uses: dict[tuple[str, str], set[str]]) -> Iterator[Found]:
        for parent in ast.walk(self.tree):
            for node in ast.iter_child_nodes(parent):
                if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                    value = self.read(node.value)
                    if value is not None:
                        self.constants[node.targets[0].id] = value
        for parent in ast.walk(self.tree):
            for node in ast.iter_child_nodes(parent):
                if isinstance(node, ast.Call) and (how := _asks(node)):
                    yield from self._of_call(node, how, parent, uses)

    def _of_call(
        self, node: ast.Call, how: str, parent: ast.AST, uses: dict[tuple[str, str], set[str]]
    ) -> Iterator[Found]:
        place = f"{self.name}: {ast.unparse(node)[:90]}"
        pattern = self.read(node.args[0]) if node.args else None
        if pattern is None:
            self.unread.append(place)
            return
        given = [*node.args[(2 if how in ("match", "fullmatch", "search", "findall", "finditer") else 1) :]]
        given += [keyword.value for keyword in node.keywords if keyword.arg == "flags"]
        flags = sum((_flags(one) for one in given), 0)
        named = {how}
        if how == "regex":
            name = (
                parent.targets[0].id
                if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name)
                else ""
            )
            named = uses.get((self.name, name), {"all"}) - {"pattern", "flags"}
        elif how == "compile" and isinstance(parent, ast.Attribute):
            named = {parent.attr}
        for use in {USES.get(one, "all") for one in named}:
            yield Found(place, pattern, flags, use)

    def read(self, node: ast.expr) -> str | bytes | None:
        """A text that is written in the module; parts that are put in are a sample word."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, (str, bytes)) else None
        if isinstance(node, ast.Name):
            return self.constants.get(node.id)
        if isinstance(node, ast.JoinedStr):
            parts = [
                self.read(part.value) if isinstance(part, ast.FormattedValue) else self.read(part)
                for part in node.values
            ]
            return "".join(part if isinstance(part, str) else SAMPLE for part in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.read(node.left), self.read(node.right)
            if left is None and right is None:
                return None
            parts = [SAMPLE if part is None else part for part in (left, right)]
            if any(isinstance(part, bytes) for part in parts):
                return b"".join(part.encode() if isinstance(part, str) else part for part in parts)
            return "".join(map(str, parts))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "escape":
            return SAMPLE
        return None


def _asks(node: ast.Call) -> str:
    """The function of `re`, or `regex`, that a call is of."""
    if isinstance(node.func, ast.Name):
        return "regex" if node.func.id == "regex" else ""
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
        return node.func.attr if node.func.attr in ("compile", *USES, *EVERYWHERE) else ""
    return ""


def _flags(node: ast.expr) -> int:
    if isinstance(node, ast.BinOp):
        return _flags(node.left) | _flags(node.right)
    return int(getattr(re, node.attr)) if isinstance(node, ast.Attribute) and hasattr(re, node.attr) else 0


def _uses(modules: list[_Module]) -> dict[tuple[str, str], set[str]]:
    """By the module and the name of an expression, how it is used; handed on, it may be used in any way."""
    found: dict[tuple[str, str], set[str]] = {}
    for module in modules:
        origins: dict[str, tuple[str, str]] = {}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                home = f"{node.module.replace('.', '/')}.py"
                origins |= {alias.asname or alias.name: (home, alias.name) for alias in node.names}
        for node in ast.walk(module.tree):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                    how = node.attr if isinstance(node, ast.Attribute) else "all"
                    found.setdefault(origins.get(child.id, (module.name, child.id)), set()).add(how)
    return found


def _in_rules() -> Iterator[Found]:
    """The expressions of the data: of symptoms and consequences, searched in lines and texts."""
    for path in sorted(RULES.rglob("*.toml")):
        for key, text in _patterns(tomli.loads(path.read_text("utf-8"))):
            yield Found(f"{path.relative_to(ROOT).as_posix()}: {key}: {text[:60]}", text, 0, "search")
    for path in sorted(RULES.rglob("*.md")):
        _, facts, *_ = path.read_text("utf-8").split("+++\n")
        for key, text in _patterns(tomli.loads(facts)):
            yield Found(f"{path.relative_to(ROOT).as_posix()}: {key}: {text[:60]}", text, 0, "search")


def _patterns(data: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _patterns(value, key)
    elif isinstance(data, list):
        for value in data:
            yield from _patterns(value, name)
    elif isinstance(data, str) and name in PATTERN_KEYS:
        yield name, data


PATTERN_KEYS = ("pattern", "project")


@cache
def every_expression() -> tuple[list[Found], list[str]]:
    modules = [_Module(path) for path in sorted(PACKAGE.rglob("*.py"))]
    uses = _uses(modules)
    found, unread = [], []
    for module in modules:
        found += module.found(uses)
        unread += module.unread
    return [*dict.fromkeys([*found, *_in_rules()])], unread
