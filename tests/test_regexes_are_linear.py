"""No regular expression of the tool, nor of its rules, takes more than linear time, whatever it is given."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tomli
from documents import ROOT
from pattern_growth import Danger, TooComplexError, danger_in, loops_in

from trl_lint.checks.registry import declared_rules

PACKAGE = ROOT / "trl_lint"
RULES = ROOT / "rules"
USES = {"match": "match", "fullmatch": "fullmatch", "search": "search", "fits": "search"}
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
        self.names: dict[ast.AST, str] = {}  # of assignments, and of the dicts that are assigned
        self.unread: list[str] = []

    def found(self, uses: dict[tuple[str, str], set[str]]) -> Iterator[Found]:
        for parent in ast.walk(self.tree):
            for node in ast.iter_child_nodes(parent):
                if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                    self.names[node] = self.names[node.value] = node.targets[0].id
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
        pattern = self.read(node.args[how == "fits"]) if node.args else None
        if how == "regex" and pattern is None:
            pattern = ""  # is asked of the module
        if pattern is None:
            self.unread.append(place)
            return
        given = [*node.args[(2 if how in ("match", "fullmatch", "search", "findall", "finditer") else 1) :]]
        given += [keyword.value for keyword in node.keywords if keyword.arg == "flags"]
        flags = sum((_flags(one) for one in given), 0)
        named = {how}
        if how == "regex":
            pattern, flags = self._made(parent, pattern, flags)
            name = self.names.get(parent, "")
            named = uses.get((self.name, name), {"all"}) - {"pattern", "flags"}
        elif how == "compile" and isinstance(parent, ast.Attribute):
            named = {parent.attr}
        for use in {USES.get(one, "all") for one in named}:
            yield Found(place, pattern, flags, use)

    def _made(self, parent: ast.AST, pattern: str | bytes, flags: int) -> tuple[str | bytes, int]:
        """What stands in the module itself, where that can be imported: parts of it may be worked out by functions."""
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name) and parent in self.tree.body:
            module = import_module(self.name.removesuffix(".py").replace("/", "."))
            return getattr(module, parent.targets[0].id)._given  # type: ignore[no-any-return]
        return pattern, flags

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
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            left = self.read(node.left)
            return left.replace(b"%s", SAMPLE.encode()) if isinstance(left, bytes) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "escape":
            return SAMPLE
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "encode":
            left = self.read(node.func.value)
            return left.encode() if isinstance(left, str) else left
        return None


def _asks(node: ast.Call) -> str:
    """The function of `re`, or `regex`, that a call is of."""
    if isinstance(node.func, ast.Name):
        return "regex" if node.func.id == "regex" else ""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "fits" and len(node.args) == 2:
        return "fits"
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
                if isinstance(child, ast.Subscript) and isinstance(node, ast.Attribute):
                    how, child = node.attr, child.value  # one of a dict of them
                else:
                    how = node.attr if isinstance(node, ast.Attribute) else "all"
                if isinstance(node, ast.Subscript):
                    continue
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                    found.setdefault(origins.get(child.id, (module.name, child.id)), set()).add(how)
    return found


def _in_rules() -> Iterator[Found]:
    """The expressions of the data, which are searched in lines and texts, and those that rules look for in bytes."""
    for path in sorted(RULES.rglob("*.toml")):
        for key, text in _patterns(tomli.loads(path.read_text("utf-8"))):
            yield Found(f"{path.relative_to(ROOT).as_posix()}: {key}: {text[:60]}", text, 0, "search")
    for path in sorted(RULES.rglob("*.md")):
        _, facts, *_ = path.read_text("utf-8").split("+++\n")
        for key, text in _patterns(tomli.loads(facts)):
            yield Found(f"{path.relative_to(ROOT).as_posix()}: {key}: {text[:60]}", text, 0, "search")
    for rule in declared_rules():
        yield from (Found(f"{rule.code}: {pattern!r:.60}", pattern, 0, "search") for pattern in rule.patterns)


def _patterns(data: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _patterns(value, key)
    elif isinstance(data, list):
        for value in data:
            yield from _patterns(value, name)
    elif isinstance(data, str) and name in ("pattern", "project"):
        yield name, data


@cache
def every_expression() -> tuple[list[Found], list[str]]:
    modules = [_Module(path) for path in sorted(PACKAGE.rglob("*.py")) if path.name != "github.py"]
    uses = _uses(modules)
    found, unread = [], []
    for module in modules:
        found += module.found(uses)
        unread += module.unread
    return [*dict.fromkeys([*found, *_in_rules()])], unread


# Where an expression is made of what is not written there, and why it is linear all the same.
NOT_READ = {
    "trl_lint/diagnose/causes.py: re.search(wanted, finding.message)": "a pattern of the rules, with a word put in",
    "trl_lint/diagnose/first.py: re.compile(pattern)": "a pattern of the rules",
    "trl_lint/diagnose/judging.py: re.compile(pattern)": "a pattern of the rules",
    "trl_lint/diagnose/project.py: re.compile(pattern)": "a pattern of the rules",
    "trl_lint/diagnose/tracer.py: re.compile(re.sub(": "the words before a header, with its numbers as `\\d+`",
    "trl_lint/knowledge/chats.py: re.fullmatch(text, ": "a pattern of the rules, about 200 characters at most",
    "trl_lint/knowledge/models.py: re.fullmatch(text, ": "a pattern of the rules, about 200 characters at most",
    "trl_lint/knowledge/refresher/conditions_build.py: re.fullmatch(self.": "of those who work on the tool",
    "trl_lint/knowledge/refresher/packages.py": "of those who work on the tool, about paths in an archive",
    "trl_lint/paths.py: re.compile(as_regex(pieces), re.DOTALL)": "at most two wildcards, about a path",
    "trl_lint/project/gitignore.py: re.compile('|'.join((text for": "likewise",
    "trl_lint/python/triage.py: re.search(pattern, self._data)": "the patterns of rules, which are among the others",
    "trl_lint/regexes.py: re.compile(*self._given)": "what `regex` was given",
    "trl_lint/sources/files.py: re.search(pattern.encode": "what `fits` is given, which is among the others",
    "trl_lint/checks/_runs.py: project.files.fits(path, pattern)": "the names of modules",
    "trl_lint/checks/launch/_concern.py: project.files.fits(path, _imports_of_models())": "names, one after another",
    "trl_lint/project/foreign.py: project.files.fits(path, _names_one())": "names, one after another",
    "trl_lint/project/starters.py: project.files.fits(": "the names of a script, its folder and its variables",
    "trl_lint/wildcards.py: re.compile(piece, re.DOTALL)": "one character",
}


JUDGED = ROOT / "tests" / "oracle" / "linear_expressions.txt"


def digest(one: Found) -> str:
    """A word for an expression and its use."""
    pattern = one.pattern if isinstance(one.pattern, str) else f"bytes {one.pattern.decode('latin-1')}"
    return sha256(f"{one.flags} {one.use} {pattern}".encode()).hexdigest()[:16]


@pytest.mark.parametrize("is_new", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_every_expression_is_read_and_takes_linear_time(is_new: bool):
    """The new ones, or all: `python tests/test_regexes_are_linear.py` writes down which ones this test has passed.

    What is not read is listed above.
    """
    found, unread = every_expression()
    assert len(found) > 700
    assert [place for place in unread if not place.startswith(tuple(NOT_READ))] == []
    assert [begin for begin in NOT_READ if not any(place.startswith(begin) for place in unread)] == []
    if is_new:
        judged = set(JUDGED.read_text("utf-8").split())
        found = [one for one in found if digest(one) not in judged]
    dangers, undecided = [], []
    for one in found:
        try:
            danger = danger_in(one.pattern, one.flags, one.use)
        except TooComplexError:
            undecided.append(one.place)
            continue
        if danger is not None:
            dangers.append((one.place, one.use, one.pattern, danger))
    assert dangers == []
    assert undecided == UNDECIDED


# What the analysis does not get through. It is timed like all others.
UNDECIDED: list[str] = []

KNOWN = [  # an expression, how it is used, and what is wrong with it
    (r"a+b", "search", "polynomial"),
    (r"a+b", "match", None),
    (r"a+", "all", None),
    (r"a(?:a*b)?", "all", "polynomial"),
    (r"a(?:a*b)?", "search", None),
    (r"(?<!a)a+b", "all", None),
    (r"(?:a+)+b", "match", "exponential"),
    (r"(?:a|a)*b", "match", "exponential"),
    (r"(?:a|ab)*c", "match", None),
    (r"\d[\d_]*\.?[\d_]*x", "match", "polynomial"),
    (r"\w+\b", "all", None),
    (r"\w+\Z", "search", "polynomial"),
    (r"a+(?=b)", "search", "polynomial"),
    (r".*x.*y", "match", "polynomial"),
    (r"foo.*bar", "search", "polynomial"),
    (r"foo.{0,300}bar", "search", None),
    (r"a{1,400}a{1,400}b", "match", "polynomial"),
    (r'"(?:[^"\\]|\\.)*"', "all", "polynomial"),
    (r"([ab]*)x\1y", "match", None),
    (r"([ab]*)x\1[ab]*y", "match", "polynomial"),
]


@pytest.mark.parametrize(("pattern", "use", "kind"), KNOWN)
def test_the_analysis_finds_what_is_known(pattern: str, use: str, kind: str | None):
    danger = danger_in(pattern, 0, use)
    assert (danger.kind if danger is not None else None) == kind


SHOWN = [  # whose text shows it: bounded ones and those that look back need another
    (pattern, use) for pattern, use, kind in KNOWN if kind is not None and "{" not in pattern and r"\1" not in pattern
]


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "use"), SHOWN)
def test_the_text_of_a_danger_takes_more_than_linear_time(pattern: str, use: str):
    danger = danger_in(pattern, 0, use)
    assert danger is not None
    assert not is_linear(pattern, 0, use, danger)


def is_linear(pattern: str | bytes, flags: int, use: str, text: Danger) -> bool:
    """Whether a text that goes around a loop takes no more than its length asks for.

    Twice the length may take four times as long before it counts, and only where it takes long enough to be told from
    what else the machine does.
    """
    method = getattr(re.compile(pattern, flags), {"all": "findall"}.get(use, use))
    before = 0.0
    for length in (12, 16, 20, 24, 1000, 2000, 4000, 8000, 16000, 32000):
        pump = text.pump * (length // len(text.pump) + 1)
        given = text.prefix + pump + "\x00"
        began = time.process_time()
        method(given.encode("latin-1", "replace") if isinstance(pattern, bytes) else given)
        spent = time.process_time() - began
        if spent > 0.05 and spent > 3.2 * max(before, 0.002):
            return False
        before = spent
    return True


@pytest.mark.slow
def test_no_loop_takes_more_than_linear_time():
    """By the clock, what the analysis says of each expression."""
    found, _ = every_expression()
    slow = []
    for one in found:
        try:
            texts = loops_in(one.pattern, one.flags, one.use)
        except TooComplexError:
            continue
        slow += [
            (one.place, one.pattern, text) for text in texts if not is_linear(one.pattern, one.flags, one.use, text)
        ]
    assert slow == []


if __name__ == "__main__":
    test_every_expression_is_read_and_takes_linear_time(is_new=False)
    JUDGED.write_text("".join(f"{word}\n" for word in sorted({digest(one) for one in every_expression()[0]})), "utf-8")
