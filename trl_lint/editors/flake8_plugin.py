"""The flake8 plugin: the findings of the command line for Python files, inside a flake8 run.

flake8 hands over the text of the buffer, so unsaved changes count; pins, configs and launches are read from disk.
Options come from `[tool.trl-lint]`, never from flake8's own configuration: one project, one truth.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from typing import ClassVar

from trl_lint import __version__

# line, column from 0, "CODE text", the plugin: what flake8 wants from a checker
Report = tuple[int, int, str, type]


class Flake8Checker:
    """One file of a flake8 run. The tree is asked for only because flake8 calls no plugin without one."""

    name: ClassVar[str] = "trl-lint"
    version: ClassVar[str] = __version__

    def __init__(self, tree: ast.AST, filename: str, lines: list[str]) -> None:
        self.filename = filename
        self.lines = lines

    def run(self) -> Iterator[Report]:
        text = "".join(self.lines)
        if not text.strip():
            return  # some editors lose every message of an empty file if one of them has a line
        for line, column, message in self._findings(text):
            yield min(max(line, 1), len(self.lines)), column, message, type(self)

    def _findings(self, text: str) -> list[tuple[int, int, str]]:
        try:
            return findings(os.path.abspath(self.filename), text)
        except Exception as error:  # whatever it is, it must not take the whole flake8 run down
            return [(1, 0, f"TRL003 trl-lint failed: {type(error).__name__}: {error}".replace("\n", " "))]


def findings(path: str, text: str) -> list[tuple[int, int, str]]:
    """Line (from 1), column (from 0) and text of the findings in one buffer; `path` is where it would be on disk."""
    from trl_lint.engine import check
    from trl_lint.settings import settings_for

    found = []
    for settings, paths in settings_for([path]):
        result = check(paths, settings, {path: text.encode()})
        for finding in result.findings:
            if finding.location.path == path:
                place = result.files.get(path).position(finding.location.start)
                message = " ".join(finding.message.split())
                found.append((place.line, place.column - 1, f"{finding.code} {message}"))
    return found
