"""What stays the same about a finding while the file around it changes.

A fingerprint is made of the rule, the file, the function or the key the finding stands in, and the text of its line
without its white space, never of a line number: code above it may come and go. Equal ones are counted. Baselines,
reports and whoever has to recognise a finding in the next run share it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable

from trl_lint.finding import Finding
from trl_lint.paths import relative_to
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.files import Files
from trl_lint.sources.text import Position

_NOQA = regex(r"(?<!\s)\s*# noqa.*$", re.IGNORECASE)


class Key(NamedTuple):
    """What a finding is recognised by; `path` is relative to a folder that the caller chose."""

    path: str
    code: str
    place: str
    text: str


class Fingerprint(NamedTuple):
    """A key in 16 hexadecimal digits, and the number of the finding among those with this key, from 1."""

    digest: str
    occurrence: int

    def __str__(self) -> str:
        return f"{self.digest}:{self.occurrence}"


def fingerprints(findings: Iterable[Finding], folder: str, files: Files) -> list[Fingerprint]:
    """A fingerprint for each finding, in their order; no two are equal. Paths count from `folder`.

    Of findings with the same key the first in the file keeps the lowest number, so a new one below disturbs none.
    """
    import hashlib

    keys = Keys(folder, files)
    seen: Counter[Key] = Counter()
    found = []
    for finding in findings:
        key = keys.of(finding)
        seen[key] += 1
        digest = hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        found.append(Fingerprint(digest, seen[key]))
    return found


# Where statements have statements, and so the only places where something is defined.
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


class Keys:
    """The keys of findings; each file is parsed once."""

    def __init__(self, folder: str, files: Files) -> None:
        self._folder = folder
        self._files = files
        self._outlines: dict[str, _Outline] = {}
        self._last: tuple[object, str] = None, ""

    def of(self, finding: Finding) -> Key:
        path = finding.location.path
        name = relative_to(path, self._folder)
        try:
            file = self._files.own(path)
            offset = finding.location.start
            return Key(name, finding.code, self._place(file, offset), self._line(file, offset))
        except (OSError, SourceError):
            return Key(name, finding.code, "", "")

    def _place(self, file: SourceFile, offset: int) -> str:
        """The innermost function or key around a place: `Trainer.step`, `optimizer.params.lr`."""
        outline = self._outlines.get(file.path)
        if outline is None:
            outline = self._outlines[file.path] = _Outline(file)
        return outline.name_at(offset)

    def _line(self, file: SourceFile, offset: int) -> str:
        position = file.position(offset)
        line = (file.path, position.cell, position.line)
        if self._last[0] != line:  # many findings may stand on one long line
            self._last = line, _text_of(file, position)
        return self._last[1]


class _Outline:
    """The functions or keys of a file, each with the number of the one around it."""

    def __init__(self, file: SourceFile) -> None:
        try:
            self._spans = sorted(_outline(file), key=lambda span: (span[0], -span[1]))
        except SourceError:
            self._spans = []
        self._starts = [start for start, _, _ in self._spans]
        self._around: list[int] = []
        at = -1
        for number, (start, _, _) in enumerate(self._spans):
            while at >= 0 and self._spans[at][1] < start:
                at = self._around[at]
            self._around.append(at)
            at = number

    def name_at(self, offset: int) -> str:
        """The innermost one around a place, "" outside of all."""
        at = bisect_right(self._starts, offset) - 1
        while at >= 0 and self._spans[at][1] < offset:
            at = self._around[at]
        return self._spans[at][2] if at >= 0 else ""


def _text_of(file: SourceFile, position: Position) -> str:
    """The line at a place (in a notebook that of the cell), without comment for us and with single blanks."""
    from trl_lint.sources.notebook import NotebookFile

    if isinstance(file, NotebookFile) and position.cell is not None:
        lines = file.cells[position.cell - 1].text.splitlines()
        text = lines[position.line - 1] if position.line <= len(lines) else ""
    else:
        text = file.lines.line_text(position.line)
    return " ".join(_NOQA.sub("", text).split())


def _outline(file: SourceFile) -> Iterable[tuple[int, int, str]]:
    """The named stretches of a file: (start, end, dotted name)."""
    from trl_lint.comments import language_of

    language = language_of(file.path)
    if language in ("python", "notebook"):
        return _functions(file, language)
    if language in ("yaml", "json", "toml"):
        return _keys(Source(file, language))
    return ()


def _functions(file: SourceFile, language: str) -> Iterable[tuple[int, int, str]]:
    import ast

    from trl_lint.python.module import Places, tree_of

    if language == "notebook":
        from trl_lint.sources.notebook import python_source

        source: Source = python_source(file)
    else:
        source = Source(file, "python")
    places = Places(source)
    waiting: list[tuple[ast.AST, str]] = [(tree_of(source), "")]
    while waiting:
        node, name = waiting.pop()
        for field in _BODIES:
            for child in getattr(node, field, ()):
                inner = name
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    inner = f"{name}.{child.name}" if name else child.name
                    start, end = places.span(child)
                    yield source.file_offset(start), source.file_offset(end), inner
                waiting.append((child, inner))


def _keys(source: Source) -> Iterable[tuple[int, int, str]]:
    from trl_lint.sources.nodes import Mapping, Node, Sequence
    from trl_lint.sources.trees import read_trees

    seen: set[int] = set()
    waiting: list[tuple[Node, str]] = [(root, "") for root in read_trees(source)]
    while waiting:
        node, name = waiting.pop()
        if isinstance(node, Mapping) and id(node.entries) not in seen:
            seen.add(id(node.entries))
            for entry in node.entries:
                inner = f"{name}.{entry.key.value}" if name else str(entry.key.value)
                yield entry.key.start, entry.value.end, inner
                waiting.append((entry.value, inner))
        elif isinstance(node, Sequence) and id(node.items) not in seen:
            seen.add(id(node.items))
            waiting.extend((item, name) for item in node.items)
