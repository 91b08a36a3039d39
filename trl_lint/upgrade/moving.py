"""The upgrade itself: settle the releases, rewrite what can be rewritten, and list what is left to a person."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from packaging.version import Version

from trl_lint.causes import entries_of
from trl_lint.engine import Result
from trl_lint.finding import Finding, Location
from trl_lint.fixes.apply import by_path, edited
from trl_lint.fixes.repair import repair
from trl_lint.fixes.verify import objection
from trl_lint.knowledge.bugs import Bug
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import installable, known_packages, newest
from trl_lint.knowledge.requirements import judged
from trl_lint.project import Project, find_root
from trl_lint.project.inventory import Facts, overviews
from trl_lint.project.launch_table import all_launches
from trl_lint.project.stack import PACKAGES
from trl_lint.records import NamedTuple
from trl_lint.run.runs import all_runs
from trl_lint.sources import Files, SourceError, SourceFile
from trl_lint.upgrade.decision import KINDS, Decision
from trl_lint.upgrade.defaults import Change, changes, decisions_on_defaults, findings_of_defaults
from trl_lint.upgrade.fitting import Fit, Used, find_fit
from trl_lint.upgrade.goals import Goal
from trl_lint.upgrade.pins import OUTSIDE, decisions_on_bounds, decisions_on_pins, edits_of_pins, is_compiled

# What these rules find is about releases; of what others find, only that is ours which the move brings.
_ABOUT_RELEASES = "TRL3"
_ABOUT_PINS = "TRL2"
# Hints that somebody who moves has to know of: a variable that the wanted releases do not read, a fault that they have.
_TOLD_HINTS = ("TRL206", "TRL506")
_BUG = "TRL206"
_GENERAL = ("TRL001", "TRL002", "TRL003", "TRL004")


class Moved(NamedTuple):
    """What became of the files of one set of settings.

    `changed`: the new content by path, `before` the files as they are on disk. `rewritten`: for each rewriting, and
    each moved pin, its file. `runs`: how many runs were understood at the wanted releases before it all, and after it.
    `mended`: the known bugs of the old releases that the files met, and meet no more.
    """

    changed: dict[str, bytes]
    before: dict[str, SourceFile]
    rewritten: list[str]
    decisions: list[Decision]
    problems: Sequence[tuple[str, str]]
    runs: tuple[int, int]
    mended: tuple[Bug, ...] = ()


Check = Callable[..., Result]


# -- which releases ---------------------------------------------------------------------------------------------------


def used_packages(projects: Iterable[Project], asked: Iterable[str]) -> list[Used]:
    """The packages that the projects pin, import or start, and the releases that their pins allow."""
    paths = set(asked)
    found: dict[str, list[Facts]] = {}
    specifiers: dict[str, set[str]] = {}
    for project in projects:
        for overview in overviews(project, (path for path in paths if _is_of(path, project))):
            for facts in overview.packages:
                found.setdefault(facts.name, []).append(facts)
        for pin in (pin for manifest in project.manifests if manifest.path in paths for pin in manifest.pins):
            if pin.kind not in OUTSIDE:
                specifiers.setdefault(pin.package, set()).add(pin.specifier)
        for launch in (one for one in all_launches(project) if one.source.path in paths):
            for name in (launch.launcher, (launch.module or "").partition(".")[0]):
                found.setdefault(name, [])
    known = set(known_packages())
    return [
        _used(name, several, specifiers.get(name, ()))
        for name, several in sorted(found.items(), key=lambda item: _rank(item[0]))
        if name in known
    ]


def _is_of(path: str, project: Project) -> bool:
    return find_root(os.path.dirname(path)) == project.root


def _rank(name: str) -> tuple[int, str]:
    """Whoever requires most decides first."""
    order = (*(one for one in judged() if one not in PACKAGES), "verl", "openrlhf", *PACKAGES)
    return (order.index(name) if name in order else len(order), name)


def _used(name: str, several: Sequence[Facts], specifiers: Iterable[str]) -> Used:
    """What all environments allow together, and all pins; where they have nothing in common, what any of them does."""
    pinned = [set(facts.releases) for facts in several if facts.source != "assumed" and facts.releases]
    last = newest(name)
    is_own = any(facts.is_own for facts in several)
    if last is not None and (is_own or any(facts.is_tip and not pinned for facts in several)):
        return Used(name, (last,), follows_main=True, is_own=is_own)
    releases = (set.intersection(*pinned) or set.union(*pinned)) if pinned else set[Version]()
    common = {version for version in releases if all(holds(specifier, version) for specifier in specifiers)}
    extras = {extra for facts in several for pin in facts.pins for extra in pin.extras}
    return Used(name, tuple(sorted(common or releases)), frozenset(extras))


def settle(goals: Mapping[str, Goal] | None, used: Sequence[Used]) -> Fit:
    """The releases to move to; without goals everything of the training stack moves. Raises NoFitError.

    A goal for what the project does not use is left out: what it requires would move pins for nothing. So is the
    project itself, if nobody names it.
    """
    used = [one for one in used if not one.is_own or one.name in (goals or ())]
    now = {one.name: one.releases for one in used}
    if goals is None:
        stack = {*PACKAGES, *judged()}
        wanted = {one.name: installable(one.name) for one in used if one.name in stack and not one.follows_main}
        free = set(wanted)
    else:
        wanted = {name: goal.releases for name, goal in goals.items() if name in now}
        free = {name for name in wanted if wanted[name] == installable(name)}
    for name in free:  # nobody who asks for the newest release wants an older one than the project has
        floor = now.get(name, ())[:1]
        wanted[name] = tuple(version for version in wanted[name] if not floor or version >= floor[0])
    return find_fit(wanted, used)


# -- rewriting --------------------------------------------------------------------------------------------------------


def move(
    check: Check,
    before: Result,
    releases: Mapping[str, Version],
    asked: Sequence[str],
    keep: bool,
    unsafe: bool,
    apart: Collection[str] = (),
) -> Moved:
    """Rewrite the asked files for the releases; nothing is written to disk.

    `check` runs the engine at these releases, `before` is what it found at the old ones. `keep`: write the old values
    of changed defaults down. `unsafe`: also with fixes that may change behaviour. `apart`: files that others move.
    """
    known = _keys(before.findings, before.files)
    earlier = {project.root: project for project in before.projects}
    pins, moved, refused = _moved_pins(before, releases, asked)
    runs: list[int] = []

    def checked(contents: dict[str, bytes]) -> Result:
        # The pins have moved before anything is judged: what rests on them is then checked once.
        result = check({**pins, **contents})
        if not runs:
            runs.append(_count_runs(result))
        return result

    def changed(result: Result) -> Iterator[Change]:
        for project in result.projects:
            if project.root in earlier:
                mine = [path for path in asked if _is_of(path, project)]
                yield from changes(project, earlier[project.root], mine)

    compiled = {m.path for project in before.projects for m in project.manifests if is_compiled(m.path, project)}

    def wanted(result: Result) -> list[Finding]:
        mine = (finding for finding in result.findings if finding.fix and _is_ours(finding, known, result.files))
        found = [f for f in mine if not (f.code.startswith(_ABOUT_PINS) and f.location.path in compiled)]
        found = [_of_the_move(finding) for finding in found]
        return found + (list(findings_of_defaults(changed(result))) if keep else [])

    done = repair(checked, wanted, unsafe)
    left = [f for f in done.result.findings if _is_to_decide(f) and _is_ours(f, known, done.result.files)]
    decisions = [*_on_code(left), *decisions_on_defaults(changed(done.result)), *refused]
    for project in done.result.projects:
        decisions += decisions_on_pins(project, asked, releases)
        if done.changed:
            decisions += decisions_on_bounds(project, [*asked, *apart], releases)
    decisions.sort(key=lambda decision: KINDS.index(decision.kind))
    files = {**pins, **done.changed}
    return Moved(
        files,
        {path: before.files.own(path) for path in files},
        [*moved, *(finding.location.path for finding in done.fixed)],
        decisions,
        done.result.problems,
        (runs[0], _count_runs(done.result)),
        _mended(before.findings, done.result.findings, asked),
    )


def _mended(before: Iterable[Finding], after: Iterable[Finding], asked: Sequence[str]) -> tuple[Bug, ...]:
    still = {told.id for finding in after if (told := _bug_in(finding))}
    found = {told.id: told for finding in before if finding.location.path in asked and (told := _bug_in(finding))}
    return tuple(told for name, told in found.items() if name not in still)


def _bug_in(finding: Finding) -> Bug | None:
    if finding.code != _BUG:
        return None
    from trl_lint.knowledge.bugs import named_in

    return named_in(finding.message)


def _moved_pins(
    before: Result, releases: Mapping[str, Version], asked: Sequence[str]
) -> tuple[dict[str, bytes], list[str], list[Decision]]:
    """The files with their pins moved, the file of each such pin, and what could not be moved."""
    edits = by_path(edit for project in before.projects for edit in edits_of_pins(project, asked, releases))
    contents: dict[str, bytes] = {}
    moved: list[str] = []
    refused: list[Decision] = []
    for path, mine in edits.items():
        file = before.files.own(path)
        text = edited(file.text, mine)
        reason = objection(file, text, mine)
        if reason is None:
            contents[path] = file.encode(text)
            moved += [path] * len(mine)
        else:
            places = tuple(Location(path, edit.start, edit.end) for edit in mine)
            refused.append(Decision("pin", f"the pins here were not moved: {reason}", places))
    return contents, moved, refused


def _is_to_decide(finding: Finding) -> bool:
    return finding.severity != "info" or finding.code in _TOLD_HINTS


def _of_the_move(finding: Finding) -> Finding:
    """A bound that is a hint elsewhere, and repaired by nobody unasked, is what a move is asked for."""
    from trl_lint.knowledge.pages import page

    if finding.fix is None or not finding.code.startswith(_ABOUT_PINS) or page(finding.code).fix_safety != "safe":
        return finding
    return finding._replace(fix=finding.fix._replace(applicability="safe"))


def _is_ours(finding: Finding, known: set[object], files: Files) -> bool:
    """Whether a finding is about the move: its rule judges releases, or it was not there before."""
    if finding.code in _GENERAL:
        return False
    return finding.code.startswith(_ABOUT_RELEASES) or _key(finding, files) not in known


def _keys(findings: Iterable[Finding], files: Files) -> set[object]:
    return {_key(finding, files) for finding in findings}


def _key(finding: Finding, files: Files) -> object:
    """What makes a finding the same before and after the move, though its line may stand elsewhere.

    Pins that do not fit together any more may not have done so before, but then for another reason.
    """
    path = finding.location.path
    said = finding.message if finding.code.startswith(_ABOUT_PINS) else ""
    if finding.code == _BUG:
        said = finding.message.rpartition("[")[2]  # the same fault, whatever release has it
    try:
        lines = files.own(path).lines
    except (OSError, SourceError):
        return finding.code, path, said, ""
    return finding.code, path, said, lines.line_text(lines.position(finding.location.start).line).strip()


def _count_runs(result: Result) -> int:
    return sum(len(all_runs(project)) for project in result.projects)


def _on_code(findings: Sequence[Finding]) -> Iterator[Decision]:
    """What is left of the findings, one entry for what is one cause."""
    for entry in entries_of(findings):
        first = entry.first
        others = entry.names()
        text = first.message + (f"; the same: {', '.join(others)}" if others else "")
        places = tuple(dict.fromkeys(finding.location for finding in entry.findings))
        is_unsafe = all(finding.fix is not None for finding in entry.findings)
        yield Decision("code", text, places, first.code, is_unsafe=is_unsafe)
