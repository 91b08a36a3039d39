"""A baseline: the findings a project has today, so that only new ones are shown.

A fingerprint is made of the rule, the file, the function or the key the finding stands in, and the text of its line
without its white space, never of a line number: code above it may come and go. Equal fingerprints are counted.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from trl_lint.finding import Finding
from trl_lint.paths import relative_to
from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.text import Files

VERSION = 1
_NOQA = re.compile(r"\s*# noqa.*$", re.IGNORECASE)


class BaselineError(Exception):
    """A baseline that cannot be used; the text names the file."""


class Key(NamedTuple):
    """What stays the same about a finding while the file around it changes."""

    path: str
    code: str
    place: str
    text: str


class Baseline:
    """Known findings and how often each was there. Paths are relative to the folder of the baseline's file."""

    def __init__(self, path: str, counts: Counter[Key]) -> None:
        self.path = path
        self.counts = counts

    def new(self, findings: Iterable[Finding], files: Files) -> list[Finding]:
        """The findings that are not in the baseline. Of several equal ones the last are the new ones."""
        left = Counter(self.counts)
        found = []
        keys = _Keys(os.path.dirname(self.path), files)
        for finding in findings:
            key = keys.of(finding)
            if left[key] > 0:
                left[key] -= 1
            else:
                found.append(finding)
        return found


def read_baseline(path: str) -> Baseline:
    """Read a baseline. Raises BaselineError."""
    import json

    try:
        with open(path, encoding="utf-8") as stream:
            document: Any = json.load(stream)
    except FileNotFoundError:
        raise BaselineError(f"{path}: no such baseline; `--write-baseline` makes one") from None
    except OSError as error:
        raise BaselineError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: not a baseline: {error}") from None
    try:
        if document["version"] != VERSION:
            raise BaselineError(f"{path}: written by another version; make it again with `--write-baseline`")
        counts: Counter[Key] = Counter()
        for item in document["findings"]:
            key = Key(*(str(item[name]) for name in Key._fields))
            counts[key] += int(item["count"])
    except (KeyError, TypeError, ValueError) as error:
        raise BaselineError(f"{path}: not a baseline: {type(error).__name__}: {error}") from None
    return Baseline(path, counts)


def baseline_text(path: str, findings: Iterable[Finding], files: Files) -> str:
    """The content of the baseline at an absolute path that holds these findings; sorted, one finding on a line."""
    import json

    keys = _Keys(os.path.dirname(path), files)
    counts = Counter(keys.of(finding) for finding in findings)
    rows = [json.dumps({**key._asdict(), "count": count}) for key, count in sorted(counts.items())]
    listed = "".join(f"\n    {row}{',' if index < len(rows) else ''}" for index, row in enumerate(rows, 1))
    return f'{{\n  "version": {VERSION},\n  "findings": [{listed}\n  ]\n}}\n'


# -- fingerprints -----------------------------------------------------------------------------------------------------


class _Keys:
    """Fingerprints of findings; each file is parsed once."""

    def __init__(self, folder: str, files: Files) -> None:
        self._folder = folder
        self._files = files
        self._outlines: dict[str, list[tuple[int, int, str]]] = {}

    def of(self, finding: Finding) -> Key:
        path = finding.location.path
        name = relative_to(path, self._folder)
        try:
            file = self._files.get(path)
            offset = finding.location.start
            return Key(name, finding.code, self._place(file, offset), _line(file, offset))
        except (OSError, SourceError):
            return Key(name, finding.code, "", "")

    def _place(self, file: SourceFile, offset: int) -> str:
        """The innermost function or key around a place: `Trainer.step`, `optimizer.params.lr`."""
        if file.path not in self._outlines:
            try:
                self._outlines[file.path] = sorted(_outline(file), key=lambda span: (span[0], -span[1]))
            except SourceError:
                self._outlines[file.path] = []
        return next((name for start, end, name in reversed(self._outlines[file.path]) if start <= offset <= end), "")


def _line(file: SourceFile, offset: int) -> str:
    """The line at a place (in a notebook that of the cell), without comment for us and with single blanks."""
    from trl_lint.sources.notebook import NotebookFile

    position = file.position(offset)
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

    from trl_lint.python.module import PythonModule

    if language == "notebook":
        from trl_lint.sources.notebook import python_source

        module = PythonModule(python_source(file))
    else:
        module = PythonModule(Source(file, "python"))
    waiting: list[tuple[ast.AST, str]] = [(module.tree, "")]
    while waiting:
        node, name = waiting.pop()
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{name}.{child.name}" if name else child.name
                start, end = module.span(child)
                yield module.source.file_offset(start), module.source.file_offset(end), inner
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
