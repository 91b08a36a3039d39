"""`trl-lint why CODE PATH[:LINE]`: how a finding came about, or why there is none.

The file is checked once more with those that start something with it, by this rule alone, and what the rule asks on the
way is written down (`asked.py`).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from trl_lint import asked, budget, tracked
from trl_lint.asked import Answer
from trl_lint.checks.rule import Rule
from trl_lint.commands import UsageError
from trl_lint.commands.options import group_by_settings
from trl_lint.commands.rule import find_page
from trl_lint.commands.unread import say_unread
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.pages import Page
from trl_lint.project import Project
from trl_lint.records import NamedTuple
from trl_lint.reports import Report, visible
from trl_lint.run.runs import Run, runs_with
from trl_lint.settings import Settings
from trl_lint.settings_file import SettingsError, read_targets
from trl_lint.sources import Files
from trl_lint.streams import say
from trl_lint.words import counted

VERSION = 1
_MOST_LOOKS = 8
_MOST_ANSWERS = 12
_MOST_NAMES = 6
_MOST_STARTS = 20


class Look(NamedTuple):
    """One thing that the rule looked at, and what it was told meanwhile."""

    what: Answer
    answers: tuple[Answer, ...]

    @property
    def first_unknown(self) -> Answer | None:
        return next((answer for answer in self.answers if not answer.is_known), None)


class Story(NamedTuple):
    """How a rule came to what it says of a line (0: of a file).

    `told` is what it finds there, before anything is left out; `hidden` says why that is not shown, "" if it is.
    `looks` is what it looked at there, `reason` in words why it finds nothing, "" if it does.
    """

    page: Page
    path: str
    line: int
    told: tuple[Finding, ...]
    hidden: str
    looks: tuple[Look, ...]
    reason: str
    remedy: str


def run(args: argparse.Namespace) -> int:
    """Tell the story of a rule at a place; 0 whatever it is, 2 if something could not be read. Raises UsageError."""
    from trl_lint.project.roots import starting_in

    page = find_page(args.code)
    path, line = _place(args.place)
    tracked.pop_unread()
    files = Files({})
    try:
        targets = read_targets(args.target or ())
        with starting_in([path]):
            settings = group_by_settings([path], {"target": targets}, args)[0][0]
            asking = group_by_settings([path], {"target": targets, "select": (page.code,)}, args)[0][0]
            story = tell(page, path, line, settings, asking, files)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    report = Report(list(story.told), (), files, os.getcwd())
    if args.output_format == "json":
        from trl_lint.reports.log_safe import dump_json

        dump_json(_facts(story, report), sys.stdout)
    else:
        say(*_text(story, report), to="stdout")
    return 2 if say_unread(tracked.pop_unread()) else 0


def _place(text: str) -> tuple[str, int]:
    """The absolute path and the line of `train.py:12` or `train.py:12:3`; 0 without a line."""
    name, numbers = text, list[int]()
    while len(numbers) < 2 and not os.path.lexists(name):
        head, colon, number = name.rpartition(":")
        if not colon or not number.isdecimal():
            break
        name, numbers = head, [int(number[:9]), *numbers]
    if not os.path.isfile(name):
        what = "is a folder; name a file" if os.path.isdir(name) else "no such file"
        raise UsageError(f"`{visible(text)}`: {what}, as in `trl-lint why TRL301 train.py:12`")
    return os.path.abspath(name), numbers[0] if numbers else 0


def tell(page: Page, path: str, line: int, settings: Settings, asking: Settings, files: Files) -> Story:
    """What a rule says of a file, and what it asked for that.

    `settings` are those of the project; `asking` the same with this rule on, and no other.
    """
    from trl_lint.checks.registry import all_rules
    from trl_lint.engine import check_state

    rules = [rule for rule in all_rules() if rule.code == page.code]
    projects: dict[str, Project] = {}
    with asked.written_down() as log:
        paths = [path, *_starting(path, asking, files, projects)]
        result = check_state(paths, asking, files, projects, 1, rules=rules)
    told = tuple(one for one in result.findings if one.code == page.code and _is_at(one.location, path, line, files))
    before = _unsuppressed(page.code, paths, asking, rules)
    was_told = tuple(one for one in before if _is_at(one.location, path, line, files))
    looks = _looks(log, path, line, files)
    hidden = _hidden(page.code, path, told, was_told, settings)
    is_here = not line or any(_stands(look.what.place, path, line, files) for look in looks)
    reason, remedy = ("", "") if was_told else _why_not(page, rules, looks, line, is_here)
    return Story(page, path, line, told or was_told, hidden, looks, reason, remedy)


def _starting(path: str, settings: Settings, files: Files, projects: dict[str, Project]) -> list[str]:
    """What uses a file: what is wrong in a config is found where its run starts, and in a pin by the code that it holds
    for.
    """
    from trl_lint.project.pins import is_manifest
    from trl_lint.project.roots import find_root

    root = find_root(os.path.dirname(path))
    project = projects[root] = Project(root, files, settings)
    found = dict.fromkeys(used for run in runs_with(path, project) for used in _parts(run))
    if is_manifest(path):
        from trl_lint.project.callers import python_files

        found |= dict.fromkeys(python_files(project))
    found.pop(path, None)
    if len(found) > _MOST_STARTS:
        budget.note(path, f"more than {_MOST_STARTS} files start something with it; the others were not asked")
    return list(found)[:_MOST_STARTS]


def _parts(run: Run) -> Iterator[str]:
    yield run.launch.source.path
    script = run.link("script")
    yield from script.paths if script is not None else ()


def _unsuppressed(code: str, paths: list[str], settings: Settings, rules: list[Rule]) -> list[Finding]:
    """What the rule finds in some files, whatever their comments and the settings for single files say."""
    from trl_lint.checker import Checker

    checker = Checker(settings, Files({}), {}, rules)
    checker.settings.per_file_ignores = ()
    for path in paths:
        checker.asked.add(path)
        checker.check_path(path, True)
    return [one for there in checker.found_in.values() for one in there if one.code == code]


def _is_at(place: Location, path: str, line: int, files: Files) -> bool:
    if place.path != path:
        return False
    if not line:
        return True
    file = files.own(path)
    return file.position(place.start).line <= line <= file.position(max(place.start, place.end)).line


def _stands(place: Location | None, path: str, line: int, files: Files) -> bool:
    return place is not None and place.end > place.start and _is_at(place, path, line, files)


def _looks(log: list[Answer], path: str, line: int, files: Files) -> tuple[Look, ...]:
    """What the rule looked at: of that what stands at the line, else what rests on it, else what is in the file."""
    looks: list[tuple[Answer, list[Answer]]] = []
    for answer in log:
        if answer.kind == "looks at":
            looks.append((answer, []))
        elif looks and answer not in looks[-1][1]:
            looks[-1][1].append(answer)
    everything = [Look(what, tuple(answers)) for what, answers in looks]

    stands = partial(_stands, path=path, line=line, files=files)
    here = [look for look in everything if stands(look.what.place)]
    here = here or [look for look in everything if any(stands(answer.place) for answer in look.answers)]
    mine = [look for look in everything if look.what.place is not None and look.what.place.path == path]
    whole = [look for look in mine if look.what.place is not None and look.what.place.end <= look.what.place.start]
    using = [look for look in everything if any(one.place and one.place.path == path for one in look.answers)]
    return tuple(here or whole or using or (everything if not line else ()))


def _hidden(code: str, path: str, told: tuple[Finding, ...], was_told: tuple[Finding, ...], settings: Settings) -> str:
    """Why what the rule finds is not shown, "" if it is or if there is nothing."""
    from trl_lint.project.discovery import is_left_out

    if not was_told:
        return ""
    if is_left_out(path, settings):
        return "the file is left out (see --show-files) unless it is named on the command line"
    if not settings.is_selected(code):
        return f"the rule is off here: --extend-select {code}"
    if not settings.is_enabled(code, path):
        return "`per-file-ignores` turns the rule off for this file"
    if not told:
        return "a comment on the line suppresses it"
    if all(one.severity == "info" for one in told) and not settings.hints:
        return "it is a hint: --hints shows it"
    if settings.baseline is not None and _is_in_baseline(told, settings):
        return f"the baseline {os.path.basename(settings.baseline)} has it"
    return ""


def _is_in_baseline(told: tuple[Finding, ...], settings: Settings) -> bool:
    from trl_lint.baseline import BaselineError, read_baseline

    try:
        return settings.baseline is not None and not read_baseline(settings.baseline).new(told, Files({}))
    except BaselineError:
        return False


def _why_not(page: Page, rules: list[Rule], looks: tuple[Look, ...], line: int, is_here: bool) -> tuple[str, str]:
    """Why a rule finds nothing at a place, and what would change that."""
    if not looks:
        where = "at this line" if line else "in this file"
        return f"there is nothing {where} that {page.code} looks at ({_wanted(rules)})", ""
    for look in looks:
        unknown = look.first_unknown
        if unknown is not None:
            return f"{unknown.subject}: {unknown.answer}", unknown.remedy
    if not is_here:
        return f"nothing that {page.code} finds where it looks is at this line", ""
    answers = [answer for look in looks for answer in look.answers]
    if any(answer.kind == "releases" and answer.answer.startswith("wrong") for answer in answers):
        return (
            f"a release in use has what {page.code} tells of, and the values here do not meet its condition, or "
            "something around withholds it (a `try`, a test of a version, a copy in the project): "
            f"trl-lint rule {page.code}"
        ), ""
    return "all that was asked is known, and nothing is wrong with it", ""


def _wanted(rules: list[Rule]) -> str:
    """What a rule looks at, in words."""
    found = []
    for rule in rules:
        names = [*rule.triggers, *(f"a module that imports {name}" for name in rule.imports)]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        found += [f"calls such as {', '.join(names[:_MOST_NAMES])}{more}"] if names else []
        kinds = (*rule.documents, *rule.holding)
        found += [f"configs: {', '.join(kinds[:_MOST_NAMES])}"] if kinds else []
        found += ["commands that start training or serving"] if rule.launches or rule.runs else []
        found += ["shell scripts that do"] if rule.scripts else []
        found += ["files that pin packages"] if rule.manifests else []
    return "; ".join(found) or "nothing of its own"


# -- text and JSON ----------------------------------------------------------------------------------------------------


def _text(story: Story, report: Report) -> Iterator[str]:
    place = report.path(story.path) + (f":{story.line}" if story.line else "")
    yield f"{story.page.code} ({story.page.name}) at {place}: {_verdict(story)}"
    for finding in story.told:
        yield f"  {report.place(finding.location)}: {finding.severity}: {finding.message}"
        for related in finding.related:
            yield f"    {report.place(related)}: {related.message}"
    if story.told and story.hidden:
        yield f"  not shown: {story.hidden}"
    if story.reason:
        yield f"  {story.reason}"
    if story.remedy:
        yield f"  to make it known: {story.remedy}"
    for look in story.looks[:_MOST_LOOKS]:
        at = f" at {report.place(look.what.place)}" if look.what.place is not None else ""
        yield ""
        yield f"Looked at {look.what.answer}{at}"
        if not look.answers:
            yield "  asked for no release and no value"
        yield from _answers(look, report)
    if len(story.looks) > _MOST_LOOKS:
        yield f"... and at {counted(len(story.looks) - _MOST_LOOKS, 'other thing')}; name a line"


def _answers(look: Look, report: Report) -> Iterator[str]:
    """What the rule was told, in its order: what is not known in any case, options that are not set as a number."""
    answers = [one for one in look.answers if one.kind != "unset"]
    shown = [one for place, one in enumerate(answers) if place < _MOST_ANSWERS or not one.is_known]
    width = min(40, max((len(answer.subject) for answer in shown), default=0))
    for answer in shown:
        where = f"  {report.place(answer.place)}" if answer.place is not None else ""
        yield f"  {' ' if answer.is_known else '?'} {answer.subject:<{width}}  {answer.answer}{where}"
    if len(shown) < len(answers):
        yield f"    and {len(answers) - len(shown)} more, which --output-format json shows"
    unset = len(look.answers) - len(answers)
    if unset:
        yield f"    {counted(unset, 'option')} that nothing here sets"


def _verdict(story: Story) -> str:
    if story.told:
        return "told, but not shown" if story.hidden else "told"
    return "not told"


def _facts(story: Story, report: Report) -> dict[str, Any]:
    def place(location: Location | None) -> dict[str, Any]:
        if location is None:
            return {}
        start, _ = report.span(location)
        return {"path": report.path(location.path), "line": start.line, "column": start.column}

    def answer(one: Answer) -> dict[str, Any]:
        facts = {"kind": one.kind, "subject": one.subject, "answer": one.answer, "known": one.is_known}
        return facts | ({"remedy": one.remedy} if one.remedy else {}) | place(one.place)

    return {
        "version": VERSION,
        "code": story.page.code,
        "path": report.path(story.path),
        "line": story.line or None,
        "told": [{"severity": one.severity, "message": one.message, **place(one.location)} for one in story.told],
        "hidden": story.hidden,
        "reason": story.reason,
        "remedy": story.remedy,
        "looked_at": [
            {"what": look.what.answer, **place(look.what.place), "answers": [answer(one) for one in look.answers]}
            for look in story.looks
        ],
    }
