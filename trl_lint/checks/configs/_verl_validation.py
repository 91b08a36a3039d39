"""The assertions of verl that a command fails: what stops it at start, and what goes on with a group of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

from trl_lint.checks.configs._asserts import (
    AbsentSettingError,
    Assertion,
    Broken,
    Problem,
    UnknownValueError,
    Values,
    broken,
    evaluate,
    is_release,
    places,
)
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.finding import Location
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.programs import followed
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.records import NamedTuple
from trl_lint.run.readers.hydra import Tree, find
from trl_lint.run.readers.verl import VerlRun, read_run

# The programs that call verl's `validate_config` (or the method that it was) before they do anything.
_VALIDATED = ("verl.trainer.main_ppo", "verl.trainer.main_ppo_sync")


class Groups(NamedTuple):
    """Assertions about the size of a group, and the keys that say all about it."""

    assertions: tuple[Assertion, ...]
    keys: tuple[str, ...]


def contradictions(launch: Launch, rows: Sequence[Assertion], rule: Rule, project: Project) -> Iterator[Problem]:
    """What a command cannot pass in the releases in use: what they refuse, and `rows` that no release states so."""
    from trl_lint.checks.configs._verl_refusals import refusals

    run = _validated(launch, project)
    if run is None or (run.own is not None and not is_release(run.choices, "verl")):
        return
    level = Level(rule, _is_mild(run), of_code=False)
    yield from refusals(run, rule.code, level, _is_mild(run))
    for location, found, related in _failing(run, rows, level):
        message = f"{'verl stops at start: ' if found.stops else ''}{found.message} ({found.verdict.scope})"
        yield Problem(location, message, found.verdict.severity, related)


def groups_of_one(launch: Launch, groups: Groups, rule: Rule, project: Project) -> Iterator[Problem]:
    """What the releases do in the same way, so that verl's own development versions are judged too.

    Arguments from outside often bring what a command leaves to its default, so that is told more mildly.
    """
    run = _validated(launch, project)
    if run is None:
        return
    words = {override.key: override.word for override in run.overrides}
    is_mild = _is_mild(run) and (launch.is_documentation or not all(key in words for key in groups.keys))
    level, assertions = Level(rule, is_mild, of_code=False, stops=False), groups.assertions
    if run.own is None or is_release(run.choices, "verl"):
        for location, found, related in _failing(run, assertions, level):
            message = f"{found.message} ({found.verdict.scope})"
            yield Problem(location, message, found.verdict.severity, related)
        return
    version = _development_version(run, project)
    values = _values(run, version, run.composed(version)) if version else None
    for assertion in assertions if values is not None else ():
        said, _ = evaluate(assertion, version, values)
        if said is not None and values is not None:
            location, beside = places(tuple(values.asked), words, launch, message=said)
            yield Problem(location, said, level.severity, beside)


class Left(NamedTuple):
    """An assertion about what happens while nobody sets a key, of commands that set the `given` ones."""

    key: str
    given: tuple[str, ...]
    assertion: Assertion


def left_alone(launch: Launch, rows: Sequence[Left], rule: Rule, project: Project) -> Iterator[Problem]:
    """What comes of keys that neither a command nor a config of the project sets; where there may be more, nothing."""
    run = _validated(launch, project)
    if run is None or run.own is not None or _is_mild(run):
        return
    left = [
        row.assertion
        for row in rows
        if row.key not in run.over_keys and not _is_set(run, row.key) and all(_is_set(run, key) for key in row.given)
    ]
    for location, found, related in _failing(run, left, Level(rule, of_code=False)):
        yield Problem(location, f"{found.message} ({found.verdict.scope})", found.verdict.severity, related)


def _development_version(run: VerlRun, project: Project) -> str:
    """The version of a project that is verl itself, between two releases whose sources were read; else ""."""
    from trl_lint.knowledge.releases import parse_version

    package = project.environment(run.launch.source.path).package("verl")
    newest = parse_version(releases("verl")[-1])
    if not package.is_own or package.resolved is None or newest is None or package.resolved > newest:
        return ""
    return str(package.resolved)


def _validated(launch: Launch, project: Project) -> VerlRun | None:
    run = read_run(launch, project)
    return run if run is not None and run.module in _VALIDATED else None


def _is_mild(run: VerlRun) -> bool:
    # A cut command lacks what stands below the cut, which TRL505 tells.
    return run.line.takes_more or run.launch.is_documentation or run.launch.command.cut is not None


def _failing(
    run: VerlRun, assertions: Sequence[Assertion], level: Level
) -> Iterator[tuple[Location, Broken, tuple[Location, ...]]]:
    """The assertions that fail, each with its place and those it rests on."""
    words = {override.key: override.word for override in run.overrides}
    tree_in = cache(run.composed)

    def values_in(version: str) -> Values | None:
        return _values(run, version, tree_in(version))

    for found in broken(assertions, "verl", run.choices, values_in, level):
        location, beside = places(found.keys, words, run.launch, message=found.message)
        yield location, found, (*beside, *found.verdict.related)


def _values(run: VerlRun, version: str, tree: Tree | None) -> Values | None:
    """The settings of a run as they are asked for."""
    # A command in a document often shows only what the text is about.
    return None if tree is None else Values(partial(_value, tree, run, version), _is_mild(run))


def _value(tree: Tree, run: VerlRun, version: str, key: str) -> Any:
    value = find(tree, key)
    if value is ABSENT:
        raise AbsentSettingError
    if value is UNKNOWN and (other := followed(key, version)) and not _is_set(run, key):
        return _value(tree, run, version, other)
    if value is UNKNOWN or isinstance(value, (dict, list)):
        raise UnknownValueError
    return value


def _is_set(run: VerlRun, key: str) -> bool:
    """Whether the command sets a key, or a block that it is in."""
    return any(f"{key}.".startswith(f"{override.key}.") for override in run.overrides)
