"""`trl-lint environment`: which releases the files of a project run with, where that is written, and what conflicts."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from packaging.version import Version

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.commands.options import group_by_settings
from trl_lint.commands.unread import say_unread
from trl_lint.engine import Result
from trl_lint.finding import Finding, Location, levels
from trl_lint.project import Project
from trl_lint.project.inventory import Facts, Overview
from trl_lint.project.pins import Pin
from trl_lint.reports import Report, visible
from trl_lint.settings import Settings
from trl_lint.settings_file import SettingsError, read_targets
from trl_lint.sources import Files, SourceError
from trl_lint.streams import say
from trl_lint.words import counted, listed

VERSION = 1
CONFLICTS = ("TRL202", "TRL204")
_MOST_PLACES = 8


def run(args: argparse.Namespace) -> int:
    """Print the environments of a folder or a file; 1 if a conflict above a hint was found. Raises UsageError.

    If something could not be read, the exit status is 2.
    """
    from trl_lint.project.roots import starting_in
    from trl_lint.project.unjudged import unjudged_targets

    try:
        targets = read_targets(args.target or ())
    except SettingsError as error:
        raise UsageError(f"--target: {error}") from None
    try:
        options = {"select": CONFLICTS, "target": targets}
        settings, paths = group_by_settings([args.path], options, args)[0]
    except SettingsError as error:
        raise UsageError(str(error)) from None
    for notice in unjudged_targets(targets):
        say(f"trl-lint: {notice.message}")
    tracked.pop_unread()
    with starting_in(paths):
        found = read_environments(paths, settings)
        conflicts = find_conflicts(found, settings)
    unread = tracked.pop_unread()
    report = Report(conflicts, (), found[0].project.files if found else Files(), os.getcwd())
    if args.output_format == "json":
        _print_json(found, report)
    else:
        sys.stdout.writelines(f"{line}\n" for line in _text(found, report))
    if say_unread(unread):
        return 2
    return int(any(finding.severity != "info" for finding in conflicts))


def read_environments(paths: list[str], settings: Settings) -> list[Overview]:
    """The environments of the files below some paths. Raises UsageError for a path that is not there."""
    from trl_lint.project import Project, find_root
    from trl_lint.project.discovery import collect
    from trl_lint.project.inventory import overviews

    found, missing = collect(paths, settings)
    for path, reason in missing:
        raise UsageError(f"{visible(path)}: {reason}")
    files = Files()
    by_root: dict[str, list[str]] = {}
    for path, _ in found:
        by_root.setdefault(find_root(os.path.dirname(path)), []).append(path)
    projects: dict[str, Project] = {root: Project(root, files, settings) for root in by_root}
    return [overview for root, project in projects.items() for overview in overviews(project, by_root[root])]


def find_conflicts(found: Iterable[Overview], settings: Settings) -> list[Finding]:
    """What the rules say about the files that the pins of these environments stand in."""
    from trl_lint.engine import check

    manifests = {pin.location.path for overview in found for facts in overview.packages for pin in facts.pins}
    findings = check(sorted(manifests), settings).findings if manifests else []
    return [finding for finding in findings if finding.code in CONFLICTS]


# -- text ---------------------------------------------------------------------------------------------------------


def _text(found: list[Overview], report: Report) -> Iterator[str]:
    for number, overview in enumerate(found):
        yield from [""] if number else []
        yield f"Environment of {_governed(overview, found, report)}"
        if not overview.packages:
            yield "  nothing pins a package that trl-lint knows"
        width = max((len(facts.name) for facts in overview.packages), default=0)
        for facts in overview.packages:
            yield from _lines(facts, width, report)
    if report.findings:
        yield ""
        yield f"Conflicts: {levels(report.findings)}"
        for finding in report.findings:
            yield f"  {report.place(finding.location)}: {finding.code} {finding.severity}: {visible(finding.message)}"
            for place in finding.related:
                yield f"    {report.place(place)}: {visible(place.message)}"


def _governed(overview: Overview, found: list[Overview], report: Report) -> str:
    """The files of an environment, folders for all that is in them."""
    from trl_lint.project.inventory import covered

    root = overview.project.root
    if not overview.files:
        return f"{visible(report.path(root))} (no code)"
    everything = [path for other in found if other.project is overview.project for path in other.files]
    places = [_relative(path, report) for path in covered(overview.files, everything, root)]
    shown = ", ".join(places[:_MOST_PLACES]) + (", …" if len(places) > _MOST_PLACES else "")
    return f"{shown} ({counted(len(overview.files), 'file')})"


def _relative(path: str, report: Report) -> str:
    folder = path.endswith(os.sep)
    return visible(report.path(path.rstrip(os.sep) or os.sep)) + ("/" if folder else "")


def _lines(facts: Facts, width: int, report: Report) -> Iterator[str]:
    from trl_lint.knowledge.releases import newer_than_known, newest

    newer = newer_than_known(facts.name, facts.specifier) if facts.resolved is None else ""
    resolved = newer or ("unknown" if facts.resolved is None else str(facts.resolved))
    source = "this project" if facts.is_own else f"newer than the known ones (to {newest(facts.name)})" if newer else ""
    line = f"  {facts.name:<{width}}  {resolved}  {source or facts.source}"
    if facts.releases is not None and len(facts.releases) > 1:
        line += f", any of {_ranges(facts.name, facts.releases)}"
    elif facts.is_tip:
        from trl_lint.knowledge.releases import newest

        line += f": the tip of its repository, at least {newest(facts.name)}"
    elif facts.because:
        beside = (f"{pin.package}{pin.specifier} ({report.place(pin.location)})" for pin in facts.because)
        line += f": what pip takes beside {visible(listed(list(beside)))}"
    elif facts.source == "assumed":
        why = "a later command replaces its pin" if facts.specifier else "its pin allows any release"
        line += f": {why}" if facts.pins else ": the code imports it, nothing pins it"
    yield line
    places: dict[Location, str] = {pin.location: _written(pin) for pin in facts.pins}
    for place, text in list(places.items())[:_MOST_PLACES]:
        yield f"  {'':<{width}}    {report.place(place)}: {visible(text)}"
    if len(places) > _MOST_PLACES:
        yield f"  {'':<{width}}    and {len(places) - _MOST_PLACES} more"


def _written(pin: Pin) -> str:
    text = pin.text or f"{pin.package}{pin.specifier}"
    return (
        f"{text} ({pin.kind} {pin.group})"
        if pin.group
        else f"{text} ({pin.kind})"
        if pin.kind in ("constraint", "override")
        else text
    )


def _ranges(package: str, releases: tuple[Version, ...]) -> str:
    from trl_lint.knowledge.ranges import in_words, spans
    from trl_lint.knowledge.releases import installable

    found = in_words(spans(releases, installable(package)))
    return f"{found} ({counted(len(releases), 'release')})"


# -- json ---------------------------------------------------------------------------------------------------------


def _print_json(found: list[Overview], report: Report) -> None:
    from trl_lint.reports.log_safe import dump_json

    document = {
        "version": VERSION,
        "environments": [
            {
                "root": report.path(overview.project.root),
                "files": [report.path(path) for path in overview.files],
                "packages": {facts.name: _package(facts, report) for facts in overview.packages},
            }
            for overview in found
        ],
        "conflicts": [_conflict(finding, report) for finding in report.findings],
    }
    dump_json(document, sys.stdout)


def _package(facts: Facts, report: Report) -> dict[str, Any]:
    from trl_lint.knowledge.ranges import spans
    from trl_lint.knowledge.releases import installable

    ranges = spans(facts.releases, installable(facts.name)) if facts.releases is not None else None
    pins = [
        {**_place(pin.location, report), "text": pin.text, "kind": pin.kind, "group": pin.group, "marker": pin.marker}
        for pin in facts.pins
    ]
    return {
        "specifier": facts.specifier,
        "allowed": None if ranges is None else [[str(first), str(last)] for first, last in ranges],
        "resolved": None if facts.resolved is None else str(facts.resolved),
        "source": facts.source,
        "own": facts.is_own,
        "tip": facts.is_tip,
        "pins": pins,
    }


def _conflict(finding: Finding, report: Report) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        **_place(finding.location, report),
        "related": [{**_place(place, report), "message": place.message} for place in finding.related],
    }


def _place(location: Location, report: Report) -> dict[str, Any]:
    start, _ = report.span(location)
    cell = {} if start.cell is None else {"cell": start.cell}
    return {"path": report.path(location.path), **cell, "line": start.line, "column": start.column}


def pinned_packages(results: Iterable[Result]) -> dict[str, Mapping[str, str | None]]:
    """What the projects pin of the packages anything is known about, as their root folders see it."""
    from trl_lint.knowledge.releases import known_packages

    found: dict[str, Mapping[str, str | None]] = {}
    for result in results:
        for project in result.projects:
            try:
                environment = project.environment(os.path.join(project.root, "_"))
                packages = [environment.package(name) for name in known_packages()]
            except (OSError, SourceError):
                continue
            for package in packages:
                if package.source not in ("assumed", "unknown") or package.pins:
                    resolved = None if package.resolved is None else str(package.resolved)
                    facts = {"specifier": package.specifier, "resolved": resolved, "source": package.source}
                    found.setdefault(package.name, facts)
    return found
