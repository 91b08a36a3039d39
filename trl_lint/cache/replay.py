"""Showing an earlier report again. A warm run imports this, `entry` and `stamps`, and nothing else of the tool."""

from __future__ import annotations

import os
import sys
import time
import zlib

from trl_lint import __version__
from trl_lint.cache.entry import Entry, read_entry
from trl_lint.stamps import QUESTIONS, stamp_of

NAME = ".trl_lint_cache"
VERSION = f"trl-lint-{__version__}"
SUFFIX = ".report"
FOLDER_VARIABLE, OFF_VARIABLE = "TRL_LINT_CACHE_DIR", "TRL_LINT_NO_CACHE"
_UNUSED = 24 * 3600


def is_off() -> bool:
    """Whether the environment forbids the cache."""
    return os.environ.get(OFF_VARIABLE, "").lower() not in ("", "0", "false", "no", "off")


def key_of(arguments: list[str]) -> list[str]:
    """Everything besides files and variables that decides what a run prints."""
    return [
        __version__, sys.version, sys.platform, sys.getfilesystemencoding(), os.getcwd(), *_terminals(),
        str(len(sys.path)), *sys.path, *arguments,
    ]  # fmt: skip


def _terminals() -> list[str]:
    found = []
    for stream in (sys.stdout, sys.stderr):
        size = ""
        try:
            if stream is not None and stream.isatty():
                size = "terminal"
                size = str(os.get_terminal_size(stream.fileno()))
        except (OSError, ValueError):
            pass
        found.append(size)
    return found


def entry_path(folder: str, key: list[str]) -> str:
    """Where the entry of a key stands in a cache folder. Two keys may meet there: an entry holds its whole key."""
    number = zlib.crc32("\0".join(key).encode("utf-8", "surrogatepass"))
    return os.path.join(folder, VERSION, f"{number:08x}{SUFFIX}")


def replay(arguments: list[str]) -> int | None:
    """Print what an earlier run printed, if nothing that it rests on has changed; its exit status.

    None where there is no such run. Raises OSError of the standard streams.
    """
    try:
        key = [] if is_off() else key_of(arguments)
    except OSError:  # no working folder
        return None
    if not key:
        return None
    for folder in _folders(arguments):
        entry = entry_in(folder, key)
        if entry is not None:
            return show(entry)
    return None


def _folders(arguments: list[str]) -> list[str]:
    """The folders in which the entry may be; which of them it is, only the settings tell, and they are not read yet."""
    for index, argument in enumerate(arguments):
        if argument == "--cache-dir":
            return [os.path.abspath(path) for path in arguments[index + 1 : index + 2]]
        if argument.startswith("--cache-dir="):
            return [os.path.abspath(argument.partition("=")[2])]
    if named := os.environ.get(FOLDER_VARIABLE):
        return [os.path.abspath(named)]
    found: dict[str, None] = {}
    for start in (".", *[argument for argument in arguments if not argument.startswith("-")][:8]):
        path, last = os.path.abspath(start), ""
        while path != last:
            found[os.path.join(path, NAME)] = None
            path, last = os.path.dirname(path), path
    return list(found)


def entry_in(folder: str, key: list[str]) -> Entry | None:
    """The entry of a key in a cache folder, if all it rests on is unchanged."""
    path = entry_path(folder, key)
    if (os.path.basename(folder) == NAME and os.path.islink(folder)) or os.path.islink(os.path.dirname(path)):
        return None
    entry = read_entry(path)
    if entry is None or entry.key != key or not still_answered(entry):
        return None
    changed = restamped(entry)
    if changed:
        from trl_lint.cache.renewal import renewed

        entry = renewed(entry, changed, path)
    try:
        now = time.time()
        if now - os.stat(path).st_mtime > _UNUSED:
            os.utime(path)  # what is used stays
    except OSError:
        pass
    return entry


def still_answered(entry: Entry) -> bool:
    """Whether variables and paths give the answers that they gave."""
    for name, value in entry.variables:
        now = os.environ.get(name)
        if value != ("" if now is None else f"={now}"):
            return False
    return all(QUESTIONS[question](path) == answer for question, path, answer in entry.answers)


def restamped(entry: Entry) -> list[int]:
    """The numbers of the looks whose paths have another stamp today."""
    stat = os.stat
    changed = []
    for number, (_, path, stamp, _) in enumerate(entry.looks):
        try:
            if stamp_of(stat(path)) != stamp:
                changed.append(number)
        except (OSError, ValueError):
            changed.append(number)
    return changed


def show(entry: Entry) -> int:
    """Print an entry; its exit status. Raises OSError of the standard streams."""
    try:
        for name, text in entry.output:
            (sys.stdout if name == "o" else sys.stderr).write(text)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError as error:
        error.status = entry.status  # type: ignore[attr-defined]
        raise
    return entry.status
