"""The flake8 plugin: the findings of the command line for Python files, inside a flake8 run.

flake8 hands over the text of the buffer, so unsaved changes count; pins, configs and launches are read from disk.
Which rules are on comes from `[tool.trl-lint]`, never from flake8's own configuration: one project, one truth. So a
rule that is off by default stays off whatever `--ignore` says. flake8 knows no levels, and whatever is reported fails
its run: hints are reported only if `--trl-hints` or the settings ask for them. `--disable-noqa` counts for TRL codes.

What stands in other files is not reported here; where it explains a finding, the message names it. What editors really
do with a plugin, and what breaks them, was read from flake8 7.5, python-lsp-server 1.15 and the flake8 extension of
VS Code.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from trl_lint import __version__
from trl_lint.knowledge import KnowledgeError
from trl_lint.records import NamedTuple
from trl_lint.streams import say, visible

if TYPE_CHECKING:
    import argparse

    from trl_lint.engine import Result
    from trl_lint.finding import Finding
    from trl_lint.sources import SourceFile

# line, column from 0, "CODE text", the plugin: what flake8 wants from a checker
Report = tuple[int, int, str, type]

_MAX_EXPLAINED = 3


class Asked(NamedTuple):
    """What the options of flake8 ask for: `hints` as well, and what a `# noqa` suppresses."""

    hints: bool = False
    ignore_noqa: bool = False


NOTHING_ASKED = Asked()


class Flake8Checker:
    """One file of a flake8 run, with the tree that flake8 made of its lines."""

    name: ClassVar[str] = "trl-lint"
    version: ClassVar[str] = __version__
    asked: ClassVar[Asked] = NOTHING_ASKED

    def __init__(self, tree: ast.AST, filename: str, lines: list[str]) -> None:
        self.tree = tree
        self.filename = filename
        self.lines = lines

    @classmethod
    def add_options(cls, parser: Any) -> None:
        """Tell flake8 (its `OptionManager`) the options of this plugin; its configuration file may hold them too."""
        from trl_lint.options import OPTIONS

        for option in OPTIONS:
            if option.flake8:
                parser.add_option(
                    f"--trl-{option.name}", action="store_true", default=False, parse_from_config=True,
                    help=option.flake8,
                )  # fmt: skip

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """What the command line and the configuration file of flake8 say."""
        cls.asked = Asked(options.trl_hints, options.disable_noqa)

    def run(self) -> Iterator[Report]:
        text = "".join(self.lines)
        if not text.strip():
            return  # python-lsp-server loses every message of a file if one is on a line that is not there
        for line, column, message in self._findings(text):
            yield min(max(line, 1), len(self.lines)), column, message, type(self)

    def _findings(self, text: str) -> list[tuple[int, int, str]]:
        try:
            return findings(self.filename, text, self.tree, self.asked)
        except KnowledgeError as error:
            _say_once(str(error))
            return []
        except Exception as error:  # whatever it is, it must not take the whole flake8 run down
            return [(1, 0, " ".join(f"TRL003 trl-lint failed: {type(error).__name__}: {error}".split()))]


@cache
def _say_once(message: str) -> None:
    """A fault of our own tables, which is none of the file: a line of its own, and not one for each file."""
    say(f"trl-lint: {message} (a fault of trl-lint and of no file here)")


def findings(
    name: str, text: str, tree: ast.AST | None = None, asked: Asked = NOTHING_ASKED
) -> list[tuple[int, int, str]]:
    """Line (from 1), column (from 0) and text of the findings in one buffer.

    `name` is what flake8 calls the file: a path, relative or absolute, or "stdin" where its client names none. `tree`
    is that of the text. Raises SettingsError, BaselineError.
    """
    path = python_path(name)
    if path is None:
        return []
    from trl_lint.editors.context import context_for

    context = context_for(path, asked.ignore_noqa)
    file = _file_on_disk(path, text)
    if file is None:
        # flake8 has decoded it already; with a byte order mark no encoding that the text declares is asked for again.
        result = context.check_text(path, b"\xef\xbb\xbf" + text.encode("utf-8", "surrogatepass"))
    else:
        # Line ends are all that the two texts may differ in, and to a parser these are one: so are the two trees.
        file.tree = tree if isinstance(tree, ast.Module) else None
        result = context.check(file)
    return [_entry(finding, result) for finding in context.shown(path, result, asked.hints)] if result.findings else []


def python_path(name: str) -> str | None:
    """The absolute path under which a buffer is checked; None for a file in another language.

    Some clients send every document to flake8, and a YAML file can pass for Python. What flake8 was told to read
    although its name ends otherwise, or has no ending, is Python: scripts, "stdin", the joined cells of a notebook.
    """
    from trl_lint.project.discovery import is_source

    path = os.path.abspath(name)
    if path.endswith((".py", ".pyi")):
        return path
    return f"{path}.py" if path.endswith(".ipynb") or not is_source(path) else None


def _file_on_disk(path: str, text: str) -> SourceFile | None:
    """The file if it is what the buffer holds, so that nothing has to be read for this buffer alone."""
    from trl_lint.sources.files import open_file
    from trl_lint.sources.text import SourceError

    try:
        file = open_file(path)
        return file if _with_plain_line_ends(file.text) == _with_plain_line_ends(text) else None
    except (OSError, SourceError):
        return None


def _with_plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _entry(finding: Finding, result: Result) -> tuple[int, int, str]:
    place = result.files.own(finding.location.path).position(finding.location.start)
    message = " ".join([finding.code, *finding.message.split(), *_explained(finding, result)])
    return place.line, place.column - 1, visible(message)  # flake8 prints it as it is


def _explained(finding: Finding, result: Result) -> list[str]:
    """`[configs/fsdp.yaml:2: this run uses FSDP]`: the places in other files that a finding rests on."""
    from trl_lint.reports import Report as Shown

    shown = Shown([], [], result.files, os.getcwd())
    others = [place for place in finding.related if place.path != finding.location.path][:_MAX_EXPLAINED]
    notes = [
        f"{shown.path(place.path)}:{shown.span(place)[0].line}" + (f": {place.message}" if place.message else "")
        for place in others
    ]
    return [f"[{'; '.join(notes)}]"] if notes else []
