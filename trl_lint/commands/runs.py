"""`trl-lint runs`: the runs of a project, with everything that decides how they train."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.commands.unread import say_unread
from trl_lint.project.overview import is_shown
from trl_lint.project.runs import Run, files_of
from trl_lint.settings_file import SettingsError


def run(args: argparse.Namespace) -> int:
    """Print the runs as text or JSON, or write them as a page.

    The exit status is 0, also where there are none, and 2 if something could not be read.
    """
    missing = [path for path in args.paths if not os.path.exists(path)]
    if missing:
        raise UsageError(f"no file or folder `{missing[0]}`")
    from trl_lint.reports.runs import describe, write_json, write_text

    tracked.pop_unread()
    try:
        found = collect_runs(args.paths or ["."], args.documentation)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    described = [describe(one, os.getcwd()) for one in found]
    if args.html:
        from trl_lint.fixes.write import put_file
        from trl_lint.reports.runs_html import page

        try:
            put_file(args.html, page(described).encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise UsageError(f"--html: {args.html}: cannot be written: {tracked.reason(error)}") from None
    elif args.output_format == "json":
        write_json(described, sys.stdout)
    else:
        from trl_lint.reports.colors import Palette, wants_color

        write_text(described, sys.stdout, Palette(wants_color(args.color, sys.stdout)))
        if not found:
            hidden = " outside of documentation; see --documentation" if not args.documentation else ""
            print(f"no command that starts training or serving was found{hidden}", file=sys.stderr)
    return 2 if say_unread(tracked.pop_unread()) else 0


def collect_runs(paths: Iterable[str], documentation: bool) -> list[Run]:
    """The runs whose command, script or config is one of the paths or lies below one. Raises SettingsError."""
    from trl_lint.project import Project, find_root
    from trl_lint.settings import settings_for
    from trl_lint.sources import Files

    found: dict[Run, None] = {}
    projects: dict[str, Project] = {}
    files = Files({})
    for path in map(os.path.abspath, paths):
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        root = find_root(folder)
        if root not in projects:
            ((settings, _),) = settings_for([root])
            projects[root] = Project(root, files, settings)
        for one in projects[root].runs:
            told = one.launch.is_documentation and not documentation
            if not told and is_shown(one) and any(_below(file, path) for file in files_of(one)):
                found[one] = None
    return sorted(found, key=lambda one: (one.launch.source.path, one.launch.location.start))


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
