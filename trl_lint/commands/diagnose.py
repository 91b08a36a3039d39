"""`trl-lint diagnose`: from the log of a run that died to its cause."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.diagnose.answers import Diagnosis
from trl_lint.diagnose.excerpt import Excerpt, excerpt_of
from trl_lint.diagnose.failures import Frame
from trl_lint.diagnose.opening import is_packed, opened
from trl_lint.diagnose.reader import Log, read_log
from trl_lint.settings_file import SettingsError, read_targets
from trl_lint.streams import say

_EACH = 1 << 24
_DEPTH = 5  # folders of a path, from its end, that may stand below the current one


def run(args: argparse.Namespace) -> int:
    """Diagnose a log; 0 if a likely cause is named, 1 if none is. Raises UsageError for what cannot be read."""
    from trl_lint.diagnose.causes import diagnose
    from trl_lint.project.roots import starting_in

    if args.project is not None and not os.path.exists(args.project):
        raise UsageError(f"no file or folder `{args.project}`")
    try:
        targets = read_targets(args.target or ())
    except SettingsError as error:
        raise UsageError(f"--target: {error}") from None
    notice = ""
    try:
        if args.follow:
            notice = _wait(args)
        with opened(args.log) as (stream, size), _Progress(size, args.quiet) as progress:
            log = read_log(stream, progress.tick)
    except OSError as error:
        raise UsageError(f"`{args.log}` cannot be read: {tracked.reason(error)}") from None
    is_here = args.project is None and _quotes_this_folder(log)
    if is_here:
        args.project = "."
    try:
        with starting_in([args.project] if args.project is not None else ()):
            found = diagnose(log, args.log, args.project, targets)
            _write(found, log, args, notice)
            if is_here and not args.quiet:
                say("The log quotes code of this folder, which was looked at as well; `--project` names another one.")
    except SettingsError as error:
        raise UsageError(str(error)) from None
    return 0 if any(cause.likelihood == "likely" for cause in found.causes) else 1


def _quotes_this_folder(log: Log) -> bool:
    """Whether a traceback of the log quotes a line of a file below the current folder, as it stands there today."""
    from trl_lint.diagnose.first import first_failure

    failure = first_failure(log)
    frames = failure.frames if failure is not None else ()
    lines: dict[str, list[str]] = {}
    return any(_stands_here(frame, lines) for frame in frames)


def _stands_here(frame: Frame, lines: dict[str, list[str]]) -> bool:
    """Whether the code of a frame is that of its line in a file here. `lines`: what was read of files so far."""
    # A drive would lead out of the folder on Windows, whatever stands before it.
    parts = [part for part in frame.path.replace("\\", "/").split("/") if part and not part.endswith(":")]
    if not frame.code.strip() or ".." in parts or "site-packages" in parts:
        return False
    paths = (os.path.join(os.getcwd(), *parts[-count:]) for count in range(1, min(len(parts), _DEPTH) + 1))
    return any(frame.code.strip() == _line(path, frame.line, lines) for path in paths)


def _line(path: str, number: int, lines: dict[str, list[str]]) -> str:
    """A line of a file without its indent, "" where there is none."""
    from trl_lint.project import CONTEXT_FILE_BYTES

    if path not in lines:
        lines[path] = []
        if tracked.is_file(path) and not tracked.is_larger(path, CONTEXT_FILE_BYTES):
            with contextlib.suppress(OSError):
                lines[path] = tracked.read_text(path).split("\n")
    return lines[path][number - 1].strip() if 0 < number <= len(lines[path]) else ""


def _write(found: Diagnosis, log: Log, args: argparse.Namespace, notice: str) -> None:
    """Write a diagnosis in the format that is asked for."""
    from trl_lint.reports.diagnosis import write_json, write_text

    if args.output_format == "json":
        write_json(found, sys.stdout, os.getcwd(), notice)
    elif args.output_format == "html":
        from trl_lint.reports.diagnosis_html import page

        sys.stdout.write(page(found, log, args.log, os.getcwd(), _excerpt(args.log, found), notice))
    else:
        from trl_lint.reports.colors import Palette, wants_color

        palette = Palette(wants_color(args.color, sys.stdout))
        write_text(found, log, args.log, sys.stdout, os.getcwd(), palette, notice)
        if args.project is None and not args.quiet:
            say("Give `--project PATH` to look for the cause in the project as well.")


def _wait(args: argparse.Namespace) -> str:
    """Wait until the log ends; what to say about it besides, "" if it has failed. Raises UsageError and OSError."""
    from trl_lint.diagnose.follow import wait_for_the_end

    if args.log == "-" or is_packed(args.log):
        raise UsageError("--follow waits beside a file that grows; a pipe is read to its end without it")
    if wait_for_the_end(args.log, args.hang_after * 60) == "failed":
        return ""
    return f"nothing was written for {args.hang_after:g} minutes: the run hangs, or has ended without a word"


def _excerpt(path: str, found: Diagnosis) -> Excerpt | None:
    """The log around the failure; None where there is none, or the log cannot be read again."""
    if found.failure is None or path == "-":
        return None
    try:
        with opened(path) as (stream, _):
            return excerpt_of(stream, found.failure)
    except OSError:
        return None


class _Progress:
    """How much of a large log has been read, on standard error where that is a terminal."""

    def __init__(self, size: int, quiet: bool) -> None:
        self._size = size
        self._shown = 0
        self._is_on = not quiet and sys.stderr.isatty()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def tick(self, done: int) -> None:
        if not self._is_on or done - self._shown < _EACH:
            return
        self._shown = done
        if self._size:
            share = min(1.0, done / self._size)
            bar = ("#" * int(share * 30)).ljust(30)
            sys.stderr.write(f"\rreading [{bar}] {share:4.0%}")
        else:
            sys.stderr.write(f"\rreading {done >> 20} MB")
        sys.stderr.flush()
