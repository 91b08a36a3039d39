"""Showing an earlier report again. A warm run imports this, `entry` and `stamps`, and nothing else of the tool."""

from __future__ import annotations

import os
import sys
import time

from trl_lint import __version__
from trl_lint.cache.entry import Entry
from trl_lint.cache.shelf import NAME, entry_path, own_entry, still_answered
from trl_lint.stamps import stamp_of

FOLDER_VARIABLE, OFF_VARIABLE = "TRL_LINT_CACHE_DIR", "TRL_LINT_NO_CACHE"
_UNUSED = 24 * 3600


def is_off() -> bool:
    """Whether the environment forbids the cache."""
    return os.environ.get(OFF_VARIABLE, "").lower() not in ("", "0", "false", "no", "off")


def key_of(arguments: list[str]) -> list[str]:
    """Everything besides files, variables and places that decides what a run prints."""
    return [__version__, sys.version, sys.platform, sys.getfilesystemencoding(), *_terminals(), *arguments]


def place_of(base: str = "") -> list[str]:
    """Where a run stands: the working folder, the base, and the folders that Python imports from. Raises OSError."""
    return [os.getcwd(), base, *sys.path]


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


def replay(arguments: list[str]) -> int | None:
    """Print what an earlier run printed, if nothing that it rests on has changed; its exit status.

    None where there is no such run. Raises OSError of the standard streams.
    """
    try:
        if is_off():
            return None
        key, place = key_of(arguments), place_of()
    except OSError:  # no working folder
        return None
    for folder in _folders(arguments):
        entry = entry_in(folder, key, place)
        if entry is not None:
            return show(entry, arguments)
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


def entry_in(folder: str, key: list[str], place: list[str]) -> Entry | None:
    """The entry of a key in a cache folder, if all it rests on is unchanged."""
    path = entry_path(folder, key, place)
    entry = own_entry(path, key, place)
    if entry is None:
        if not os.path.isdir(os.path.dirname(path)):
            return None
        from trl_lint.cache.brought import brought_report

        return brought_report(folder, key, place)
    if not still_answered(entry):
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


def show(entry: Entry, arguments: list[str]) -> int | None:
    """Print an entry; its exit status, None if its file cannot be written. Raises OSError of the standard streams."""
    written = [text for name, text in entry.output if name == "f"]
    if written and not _write_file(_output_file(arguments), "".join(written)):
        return None
    try:
        for name, text in entry.output:
            if name != "f":
                (sys.stdout if name == "o" else sys.stderr).write(text)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError as error:
        error.status = entry.status  # type: ignore[attr-defined]
        raise
    return entry.status


def _output_file(arguments: list[str]) -> str:
    """The file that the arguments name for the report, "" where they do it in another way than usual."""
    named = ""
    for index, argument in enumerate(arguments):
        if argument == "--output-file":
            named = "".join(arguments[index + 1 : index + 2])
        elif argument.startswith("--output-file="):
            named = argument.partition("=")[2]
        elif argument == "--":
            break
        elif argument.startswith("--output-f") and not argument.startswith("--output-format"):
            return ""  # shortened, as argparse lets people do
    return named


def _write_file(path: str, text: str) -> bool:
    from trl_lint.writing import put_file

    try:
        put_file(path, text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError):
        return False
    return True
