"""`trl-lint clean`: remove cache folders, and nothing that the tool did not make."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from trl_lint.cache.folder import cache_folder, clean
from trl_lint.cache.shelf import NAME
from trl_lint.commands import UsageError
from trl_lint.paths import relative_to
from trl_lint.settings import settings_for
from trl_lint.settings_file import SettingsError
from trl_lint.streams import say


def run(args: argparse.Namespace) -> int:
    """Clean what the command line names; the exit status. Raises UsageError."""
    paths = args.paths or ["."]
    for path in paths:
        if not os.path.isdir(path):
            raise UsageError(f"no such folder: `{path}`")
    try:
        if args.cache_dir:
            found = [os.path.abspath(args.cache_dir)]
        else:
            found = [cache_folder(settings, None) for settings, _ in settings_for(paths)]
            found += [folder for path in paths for folder in _below(os.path.abspath(path))]
    except SettingsError as error:
        raise UsageError(str(error)) from None
    left = False
    for folder in dict.fromkeys(found):
        if not os.path.isdir(folder):
            continue
        clean(folder)
        kept = os.path.lexists(folder)
        left = left or kept
        if kept:
            say(f"trl-lint: {_shown(folder)}: not removed: it holds what trl-lint did not put there")
        elif not args.quiet:
            say(f"Removed {_shown(folder)}", to="stdout")
    return 2 if left else 0


def _shown(folder: str) -> str:
    return relative_to(folder, os.getcwd())


def _below(folder: str) -> Iterator[str]:
    """The cache folders in and below a folder. Links are not followed."""
    for here, below, _ in os.walk(folder):
        if NAME in below:
            yield os.path.join(here, NAME)
        below[:] = sorted(name for name in below if name not in (NAME, ".git"))
