"""`trl-lint diagnose`: from the log of a run that died to its cause."""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.settings_file import SettingsError, read_targets

_EACH = 1 << 24


def run(args: argparse.Namespace) -> int:
    """Diagnose a log; 0 if a cause is named, 1 if none is. Raises UsageError for what cannot be read."""
    from trl_lint.diagnose.causes import diagnose
    from trl_lint.diagnose.reader import read_log

    if args.project is not None and not os.path.exists(args.project):
        raise UsageError(f"no file or folder `{args.project}`")
    try:
        targets = read_targets(args.target or ())
    except SettingsError as error:
        raise UsageError(f"--target: {error}") from None
    try:
        with _opened(args.log) as (stream, size), _Progress(size, args.quiet) as progress:
            log = read_log(stream, progress.tick)
    except zlib.error:
        raise UsageError(f"`{args.log}` cannot be read: it is no whole gzip file; unpack it first") from None
    except (OSError, EOFError) as error:
        raise UsageError(f"`{args.log}` cannot be read: {tracked.reason(error)}") from None
    try:
        found = diagnose(log, args.log, args.project, targets)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    from trl_lint.reports.diagnosis import write_json, write_text

    if args.output_format == "json":
        write_json(found, sys.stdout, os.getcwd())
    else:
        from trl_lint.reports.colors import Palette, wants_color

        write_text(found, log, args.log, sys.stdout, os.getcwd(), Palette(wants_color(args.color, sys.stdout)))
        if args.project is None and not args.quiet:
            print("Give `--project PATH` to look for the cause in the project as well.", file=sys.stderr)
    return 0 if found.causes else 1


@contextmanager
def _opened(path: str) -> Iterator[tuple[BinaryIO, int]]:
    """The log and its size in bytes, 0 where that is not known. Raises OSError."""
    if path == "-":
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise OSError("there is no standard input")
        yield stream, 0
    elif path.endswith(".gz"):
        with gzip.open(path, "rb") as packed:
            yield cast("BinaryIO", packed), 0
    else:
        with open(path, "rb") as stream:
            yield stream, os.fstat(stream.fileno()).st_size


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
