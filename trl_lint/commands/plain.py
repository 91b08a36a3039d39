"""The command lines of every day, paths and switches, read without `argparse`: building its parser would take longer
than many a file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import argparse

# What the parser of `check` gives where nothing is said, and what each switch sets. The tests hold both against it.
_DEFAULTS: dict[str, Any] = {
    "add_noqa": None, "baseline": None, "cache_dir": None, "color": "auto", "config": None, "diff": False,
    "exclude": None, "exit_non_zero_on_fix": False, "exit_zero": False, "extend_exclude": None, "extend_select": None,
    "fail_on": None, "fix": None, "force_exclude": False, "hints": None, "ignore": None, "isolated": False,
    "jobs": None, "no_cache": False, "output_file": None, "output_format": None, "per_file_ignores": None,
    "quiet": False, "respect_file_noqa": None, "respect_gitignore": None, "select": None, "show_fixes": None,
    "silent": False, "statistics": False, "stdin_filename": None, "target": None, "unsafe_fixes": None,
    "verbose": False, "write_baseline": False,
}  # fmt: skip
_SWITCHES = {
    "--diff": "diff", "--exit-zero": "exit_zero", "--fix": "fix", "--hints": "hints", "--isolated": "isolated",
    "--no-cache": "no_cache", "--quiet": "quiet", "--silent": "silent", "--statistics": "statistics",
    "--unsafe-fixes": "unsafe_fixes", "--verbose": "verbose", "-n": "no_cache", "-q": "quiet", "-s": "silent",
    "-v": "verbose",
}  # fmt: skip


def plain_arguments(arguments: list[str]) -> argparse.Namespace | None:
    """What `check_parser` makes of paths and switches; None for a command line that holds anything else."""
    values = dict(_DEFAULTS)
    paths = []
    for argument in arguments:
        if argument == "-" or not argument.startswith("-"):
            paths.append(argument)
        elif argument in _SWITCHES:
            values[_SWITCHES[argument]] = True
        else:
            return None
    return cast("argparse.Namespace", SimpleNamespace(paths=paths, **values))
