"""Where a run of `trl-lint check` says what it has to say: the two streams, or the file that is to get the report."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.reports import Report
from trl_lint.sources.files import Files
from trl_lint.streams import said

if TYPE_CHECKING:
    import argparse

    from trl_lint.cache.store import Memory

# As wide as the excerpts get where no terminal says otherwise.
_WIDTH = 160


class Output:
    """The streams of one run; `memory` hears what is written, if the report is to be kept."""

    def __init__(self, args: argparse.Namespace, memory: Memory | None) -> None:
        self.args = args
        self.memory = memory
        self.out = memory.heard("o", sys.stdout) if memory else sys.stdout
        self.err = memory.heard("e", sys.stderr) if memory else sys.stderr
        self._file = io.StringIO()  # what goes into `--output-file`

    def say(self, message: str, prefix: str = "trl-lint: ") -> None:
        """A line on standard error, unless the user wants silence."""
        if not (self.args.silent or self.args.quiet):
            self.err.write(said(*f"{prefix}{message}".split("\n")))

    def say_problems(self, problems: Iterable[tuple[str, str]], shown_as: Mapping[str, str]) -> None:
        """A line for each file that could not be checked, with why; `shown_as` as in `Report`."""
        report = Report([], [], Files(), os.getcwd(), shown_as=shown_as)
        for path, message in problems:
            if not self.args.silent:
                self.err.write(said(f"trl-lint: {report.path(path)}: {message}"))

    def stream(self, is_taken: bool) -> TextIO:
        """The stream for the report; `put` writes what is meant for a file.

        `is_taken`: the repaired text of standard input goes to standard output, so nothing else may.
        """
        if self.args.output_file is not None:
            return self.memory.heard("f", self._file) if self.memory else self._file
        return self.err if is_taken else self.out

    def put(self) -> None:
        """Write a report that is complete into its file: till then the old one stays. Raises UsageError."""
        from trl_lint.writing import put_file

        path: str = self.args.output_file
        try:
            put_file(path, self._file.getvalue().encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {tracked.reason(error)}") from None


def columns(is_terminal: bool) -> int:
    """How wide a report may be, told by COLUMNS or the terminal as for `shutil`, which takes longer to import."""
    told = tracked.variable("COLUMNS")
    if not (told or is_terminal):
        return _WIDTH
    with suppress(ValueError):
        if int(told) > 0:
            return int(told)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _WIDTH  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # no standard output, a closed one, or no terminal
        return _WIDTH


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output as they are."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(data.decode("utf-8", "backslashreplace"))
    else:
        sys.stdout.flush()
        buffer.write(data)
