"""`trl-lint upgrade`: from the releases a project has to the releases that are wanted."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.commands.options import group_by_settings
from trl_lint.commands.output import columns
from trl_lint.commands.progress import progress
from trl_lint.finding import Location
from trl_lint.reports import Report, visible
from trl_lint.reports.colors import Palette, wants_color
from trl_lint.settings import Settings
from trl_lint.settings_file import SettingsError
from trl_lint.sources import Files, SourceFile
from trl_lint.streams import say
from trl_lint.words import counted, listed

if TYPE_CHECKING:
    from trl_lint.engine import Result
    from trl_lint.knowledge.bugs import Bug
    from trl_lint.upgrade.decision import Decision
    from trl_lint.upgrade.fitting import Fit, Used
    from trl_lint.upgrade.moving import Moved
    from trl_lint.upgrade.parts import Place
    from trl_lint.upgrade.plan import Plan

VERSION = 1


class _Work:
    """One run of the command: what is known before, and what became of it."""

    def __init__(self, args: argparse.Namespace, earlier: Plan | None) -> None:
        from trl_lint.upgrade.goals import GoalError, read_goal, read_goals

        self.args = args
        self.paths: list[str] = args.paths or ["."]
        self.earlier = earlier
        try:
            self.goals = read_goals(args.to or ())
        except GoalError as error:
            raise UsageError(f"--to: {error}") from None
        self.start = dict(earlier.old) if earlier is not None else {}
        for value in args.start or ():
            try:
                goal = read_goal(value)
            except GoalError as error:
                raise UsageError(f"--from: {error}") from None
            if not goal.is_exact:
                raise UsageError(f"--from: `{value}` names no release; write PACKAGE==VERSION")
            self.start[goal.package] = str(goal.releases[0])
        self.problems: list[tuple[str, str]] = []

    def settings(self, targets: Mapping[str, str]) -> list[tuple[Settings, list[str]]]:
        """The settings of each group of paths, at some releases. What a file suppresses as a whole is upgraded, too."""
        said: dict[str, Any] = {"target": dict(targets), "respect-file-noqa": False}
        try:
            return group_by_settings(self.paths, said, self.args)
        except SettingsError as error:
            raise UsageError(str(error)) from None

    def check(self, settings: Settings, paths: list[str]) -> Result:
        from trl_lint.engine import check

        return check(paths, settings, jobs=self.args.jobs)

    def checker(self, settings: Settings, paths: list[str]) -> Callable[[dict[str, bytes]], Result]:
        """A check of these paths with new contents of files, as often as it is asked for."""
        from trl_lint.workspace import Workspace

        workspace = Workspace(settings, record=tracked.Record())

        def checked(contents: dict[str, bytes]) -> Result:
            workspace.lay(contents)
            return workspace.check(paths, self.args.jobs)

        return checked


class _Part:
    """What one part of the tree moves to: its files, the releases there, and those that it had."""

    def __init__(self, place: Place, fit: Fit, used: Sequence[Used], start: Mapping[str, str]) -> None:
        self.place = place
        self.fit = fit
        self.new = {name: str(version) for name, version in fit.releases.items()}
        now = {one.name: str(one.releases[-1]) for one in used if one.releases} | dict(start)
        self.old = {name: now[name] for name in self.new if name in now}


class _Done:
    """What all parts of the tree came to; `new` and `old` are the releases on which they agree."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self.parts = parts
        self.new = _agreed(part.new for part in parts)
        self.old = _agreed(part.old for part in parts)
        self.changed: dict[str, bytes] = {}
        self.before: dict[str, SourceFile] = {}
        self.changes = 0
        self.decisions: list[Decision] = []
        self.lost_runs = 0
        self.mended: dict[str, Bug] = {}

    def take(self, moved: Moved) -> None:
        self.changed.update(moved.changed)
        self.before.update(moved.before)
        self.changes += len(moved.rewritten)
        self.decisions += moved.decisions
        self.lost_runs += max(0, moved.runs[0] - moved.runs[1])
        self.mended.update((row.id, row) for row in moved.mended)


def _agreed(releases: Iterable[Mapping[str, str]]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for one in releases:
        for name, version in one.items():
            found.setdefault(name, set()).add(version)
    return {name: versions.pop() for name, versions in found.items() if len(versions) == 1}


def run(args: argparse.Namespace) -> int:
    """Print or make the changes, and say what is left to a person. Raises UsageError."""
    from trl_lint.project.roots import starting_in

    with starting_in(args.paths):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from trl_lint.upgrade.plan import open_decisions

    earlier = _read_plan(args.plan)
    work = _Work(args, earlier)
    with progress(args.quiet):
        done = _moved(work)
    if done.lost_runs:
        raise UsageError(f"nothing was changed: {counted(done.lost_runs, 'run')} would not be understood any more")
    if args.write:
        _write(done)
    left = open_decisions(done.decisions, earlier)
    report = _report(args, done)
    summary = _summary(done, left, args.write)
    _show(args, done, report, summary, earlier)
    if args.plan is not None:
        from trl_lint.upgrade.plan import markdown
        from trl_lint.writing import put_file

        text = markdown(done.old, done.new, done.decisions, summary, report, earlier)
        _put(args.plan, text, put_file)
    for path, reason in work.problems:
        say(f"trl-lint: {report.path(path)}: {reason}")
    if work.problems:
        return 2
    return 1 if left or (done.changed and not args.write) else 0


def _moved(work: _Work) -> _Done:
    from trl_lint.project.discovery import collect
    from trl_lint.upgrade.fitting import NoFitError
    from trl_lint.upgrade.moving import move, settle, used_packages
    from trl_lint.upgrade.parts import parts_of

    groups = work.settings(work.start)
    befores = [work.check(settings, paths) for settings, paths in groups]
    asked = []
    for settings, paths in groups:
        found, missing = collect(paths, settings)
        for path, reason in missing:
            raise UsageError(f"{visible(path)}: {reason}")
        asked.append([path for path, _ in found])
    everything = [path for paths in asked for path in paths]
    projects = [project for before in befores for project in before.projects]
    places = parts_of(projects, everything)
    used_in = [used_packages(projects, place.files) for place in places]
    used = {one.name for found in used_in for one in found}
    unused = sorted(set(work.goals or ()) - used)
    if not used or len(unused) == len(work.goals or ()) > 0:
        raise UsageError(f"nothing here pins, imports or starts {listed(unused) or 'a package of the training stack'}")
    for name in unused:
        say(f"trl-lint: nothing here pins, imports or starts {name}, so it was left out")
    parts = []
    for place, mine in zip(places, used_in, strict=True):
        if mine and (work.goals is None or any(one.name in work.goals for one in mine)):
            try:
                parts.append(_Part(place, settle(work.goals, mine), mine, work.start))
            except NoFitError as error:
                raise UsageError(str(error)) from None
    done = _Done(parts)
    for part in parts:
        inside = set(part.place.files)
        for (settings, paths), before, group in zip(work.settings(part.new), befores, asked, strict=True):
            ours = [path for path in group if path in inside]
            if ours:
                moved = move(
                    work.checker(settings, paths if len(places) == 1 else ours),
                    before,
                    part.fit.releases,
                    ours,
                    work.args.keep_behaviour,
                    work.args.unsafe_fixes,
                    everything,
                )
                work.problems += moved.problems
                done.take(moved)
    return done


# -- files ------------------------------------------------------------------------------------------------------------


def _read_plan(path: str | None) -> Plan | None:
    """An earlier plan. Raises UsageError for a file that is none: it would be overwritten."""
    if path is None or not os.path.lexists(path):
        return None
    from trl_lint.upgrade.plan import read_plan

    try:
        with open(path, encoding="utf-8") as stream:
            plan = read_plan(stream.read())
    except (OSError, UnicodeError) as error:
        reason = tracked.reason(error) if isinstance(error, OSError) else "is no text"
        raise UsageError(f"--plan: {visible(path)}: cannot be read: {reason}") from None
    if plan is None:
        raise UsageError(f"--plan: {visible(path)} is no plan of an upgrade, so it was left as it is")
    return plan


def _put(path: str, text: str, put: Any) -> None:
    try:
        put(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"--plan: {visible(path)}: cannot be written: {tracked.reason(error)}") from None


def _write(done: _Done) -> None:
    """Write all files, or none. Raises UsageError."""
    from trl_lint.writing import unwritable, write_together

    closed = {path: reason for path in sorted(done.changed) if (reason := unwritable(path)) is not None}
    before = {path: done.before[path].data for path in done.changed}
    failed = closed or write_together(done.changed, before, [set(done.changed)])
    if failed:
        path, reason = next(iter(failed.items()))
        raise UsageError(f"nothing was changed: {visible(path)} {reason}")


# -- what is shown ----------------------------------------------------------------------------------------------------


def _report(args: argparse.Namespace, done: _Done) -> Report:
    files = Files(done.changed)
    color = wants_color(args.color, sys.stdout)
    return Report([], [], files, os.getcwd(), color=color, width=columns(sys.stdout.isatty()))


def _summary(done: _Done, left: Sequence[Decision], is_written: bool) -> str:
    changes = f"{counted(done.changes, 'change')} in {counted(len(done.changed), 'file')}"
    made = changes if done.changes else "nothing to change"
    prefix = "made " if is_written and done.changes else ""
    said = f"{prefix}{made}, {counted(len(left), 'decision')} left"
    return said[0].upper() + said[1:] + "."


def _next_step(args: argparse.Namespace, done: _Done) -> list[str]:
    """What to type next: a later run finds less to decide, since what it compares with is upgraded already."""
    plan = "" if args.plan is not None or not done.decisions else " --plan UPGRADE.md"
    if args.write or not done.changed:
        return []
    kept = ", and keep the decisions" if plan else ""
    return [f"Make the changes{kept} with `--write{plan}`."]


def _show(args: argparse.Namespace, done: _Done, report: Report, summary: str, earlier: Plan | None) -> None:
    if args.output_format == "json":
        _print_json(done, report)
        return
    if args.output_format == "markdown":
        from trl_lint.upgrade.plan import markdown

        sys.stdout.write(markdown(done.old, done.new, done.decisions, summary, report, earlier))
        return
    if not args.write:
        from trl_lint.commands.fixes import write_diff

        write_diff(done.changed, done.before, report, sys.stdout)
        sys.stdout.flush()
    if not args.quiet:
        sys.stderr.writelines(f"{line}\n" for line in _text(done, report, Palette(wants_color(args.color, sys.stderr))))
        say(summary, *_next_step(args, done))


def _text(done: _Done, report: Report, palette: Palette) -> Iterable[str]:
    from trl_lint.upgrade.plan import MOST_PLACES, TITLES

    yield palette.bold("Releases")
    yield from _releases(done, report)
    if done.mended:
        yield from ("", palette.bold(f"Mends {_counted_bugs(done)}"))
        yield from (f"  {visible(row.title)} [{row.id}]" for row in done.mended.values())
    for kind, title in TITLES.items():
        mine = [decision for decision in done.decisions if decision.kind == kind]
        if mine:
            yield from ("", palette.bold(title))
        for decision in mine:
            code = f"{decision.code} " if decision.code else ""
            unsafe = " (`--unsafe-fixes` rewrites it)" if decision.is_unsafe else ""
            yield f"  {code}{visible(decision.text)}{unsafe}"
            yield from (f"    {report.place(place)}" for place in decision.places[:MOST_PLACES])
            if len(decision.places) > MOST_PLACES:
                yield f"    and {len(decision.places) - MOST_PLACES} more"
    yield ""


def _counted_bugs(done: _Done) -> str:
    silent = sum(row.consequence == "silent" for row in done.mended.values())
    return counted(len(done.mended), "known bug") + (f" ({silent} silent)" if silent else "")


def _releases(done: _Done, report: Report) -> Iterable[str]:
    width = max((len(name) for part in done.parts for name in part.new), default=0)
    for part in done.parts:
        if len(done.parts) > 1:
            yield f"  in {visible(report.path(part.place.folder))}"
        for name, version in part.new.items():
            old = part.old.get(name, "")
            step = version if old in ("", version) else f"{old} -> {version}"
            reason = f" ({part.fit.reasons[name]})" if name in part.fit.reasons else ""
            yield f"  {name:<{width}}  {step}{reason}"


def _print_json(done: _Done, report: Report) -> None:
    from trl_lint.reports.log_safe import dump_json

    document = {
        "version": VERSION,
        "releases": {name: told for part in reversed(done.parts) for name, told in _told(part).items()},
        **({"parts": [_part(part, report) for part in done.parts]} if len(done.parts) > 1 else {}),
        "mends": [{"id": row.id, "title": row.title, "consequence": row.consequence} for row in done.mended.values()],
        "changes": done.changes,
        "files": [
            {"path": report.path(path), "content": data.decode(done.before[path].encoding)}
            for path, data in sorted(done.changed.items())
        ],
        "decisions": [
            {
                "kind": decision.kind,
                "code": decision.code or None,
                "message": decision.text,
                "places": [_place(place, report) for place in decision.places],
            }
            for decision in done.decisions
        ],
    }
    dump_json(document, sys.stdout)


def _part(part: _Part, report: Report) -> dict[str, Any]:
    return {"path": report.path(part.place.folder), "releases": _told(part)}


def _told(part: _Part) -> dict[str, Any]:
    from trl_lint.upgrade.plan import releases_url

    return {
        name: {
            "from": part.old.get(name),
            "to": version,
            "reason": str(part.fit.reasons[name]) if name in part.fit.reasons else None,
            "url": releases_url(name, version) or None,
        }
        for name, version in part.new.items()
    }


def _place(location: Location, report: Report) -> dict[str, Any]:
    start, _ = report.span(location)
    cell = {} if start.cell is None else {"cell": start.cell}
    return {"path": report.path(location.path), **cell, "line": start.line, "column": start.column}
