"""The command lines of every day, paths and switches, read without `argparse`: building its parser would take longer
than many a file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from trl_lint.options import OPTIONS

if TYPE_CHECKING:
    import argparse


def plain_arguments(arguments: list[str]) -> argparse.Namespace | None:
    """What `check_parser` makes of paths and switches; None for a command line that holds anything else."""
    values = {option.attribute: option.unsaid for option in OPTIONS}
    switches = {}
    for option in OPTIONS:
        if option.kind in ("switch", "either"):
            switches[f"--{option.name}"] = switches[f"-{option.letter}"] = option.attribute
    switches.pop("-", None)  # of those without a letter
    paths = []
    for argument in arguments:
        if argument in switches:
            values[switches[argument]] = True
        elif argument == "-" or not argument.startswith("-"):
            paths.append(argument)
        else:
            return None
    return cast("argparse.Namespace", SimpleNamespace(paths=paths, **values))
