"""`trl-lint runs`: the runs of a project, with everything that decides how they train."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.commands.unread import say_unread
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.reports import Report
from trl_lint.run.overview import is_shown
from trl_lint.run.runs import Run, all_runs, files_of
from trl_lint.settings_file import SettingsError
from trl_lint.sources.files import Files
from trl_lint.streams import say


def run(args: argparse.Namespace) -> int:
    """Print the runs as text or JSON, or write them as a page.

    The exit status is 0, also where there are none, and 2 if something could not be read.
    """
    missing = [path for path in args.paths if not os.path.exists(path)]
    if missing:
        raise UsageError(f"no file or folder `{missing[0]}`")
    from trl_lint.project.roots import starting_in

    with starting_in(args.paths):
        return _show_coverage(args) if args.coverage else _run(args)


def _show_coverage(args: argparse.Namespace) -> int:
    """Print what of training stands in the files, and how much of it is understood."""
    from trl_lint.checks.registry import declared_rules
    from trl_lint.coverage import merged
    from trl_lint.engine import check_state
    from trl_lint.reports.coverage import described, write_table
    from trl_lint.reports.log_safe import dump_json
    from trl_lint.settings import settings_for

    counting = [rule for rule in declared_rules() if rule.counts]
    files, projects = Files({}), dict[str, Project]()
    try:
        results = [
            check_state(paths, settings, files, projects, None, rules=counting)
            for settings, paths in settings_for(args.paths or ["."])
        ]
    except SettingsError as error:
        raise UsageError(str(error)) from None
    coverage = merged(sum(result.checked for result in results), (result.coverage for result in results))
    report = Report([], [], files, os.getcwd(), coverage=coverage)
    if args.output_format == "json":
        dump_json({"version": 1, "coverage": described(report)}, sys.stdout)
    else:
        write_table(report, sys.stdout)
    problems = [problem for result in results for problem in result.problems]
    for path, message in problems:
        say(f"trl-lint: {report.path(path)}: {message}")
    return 2 if problems else 0


def _run(args: argparse.Namespace) -> int:
    from trl_lint.reports.runs import describe, write_json, write_text

    tracked.pop_unread()
    try:
        projects: dict[str, Project] = {}
        found = collect_runs(args.paths or ["."], args.documentation, projects)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    described = [describe(one, os.getcwd(), args.all) for one in found]
    if args.html:
        from trl_lint.reports.run_places import places_of
        from trl_lint.reports.runs_html import page
        from trl_lint.writing import put_file

        try:
            put_file(
                args.html,
                page(described, _checked(projects), [places_of(one) for one in found]).encode(
                    "utf-8", "backslashreplace"
                ),
            )
        except OSError as error:
            raise UsageError(f"--html: {args.html}: cannot be written: {tracked.reason(error)}") from None
    elif args.output_format == "json":
        write_json(described, sys.stdout)
    else:
        from trl_lint.reports.colors import Palette, wants_color

        write_text(described, sys.stdout, Palette(wants_color(args.color, sys.stdout)))
        if not found:
            hidden = " outside of documentation; see --documentation" if not args.documentation else ""
            say(f"no command that starts training or serving was found{hidden}")
    return 2 if say_unread(tracked.pop_unread()) else 0


def collect_runs(paths: Iterable[str], documentation: bool, projects: dict[str, Project] | None = None) -> list[Run]:
    """The runs whose command, script or config is one of the paths or lies below one. Raises SettingsError.

    The projects that are looked into are put among `projects`, by their root.
    """
    from trl_lint.project import find_root
    from trl_lint.settings import settings_for

    found: dict[Run, None] = {}
    projects = {} if projects is None else projects
    files = Files({})
    for path in map(os.path.abspath, paths):
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        root = find_root(folder)
        if root not in projects:
            ((settings, _),) = settings_for([root])
            projects[root] = Project(root, files, settings)
        for one in runs_of(projects[root], documentation):
            if any(_below(file, path) for file in files_of(one)):
                found[one] = None
    return list(found)


def _checked(projects: dict[str, Project]) -> Report:
    """What the rules find in the projects of the runs."""
    from trl_lint.engine import check_state

    findings: dict[Finding, None] = {}
    files = next((project.files for project in projects.values()), Files({}))
    for root, project in [*projects.items()]:
        project.settings.wants_edits = False
        findings.update(dict.fromkeys(check_state([root], project.settings, files, projects, None).findings))
    return Report([*findings], [], files, os.getcwd())


def runs_of(project: Project, documentation: bool = False) -> list[Run]:
    """The runs of a project that are worth showing, by their places."""
    shown = [one for one in all_runs(project) if is_shown(one) and (documentation or not one.launch.is_documentation)]
    return sorted(shown, key=lambda one: (one.launch.source.path, one.launch.location.start))


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
