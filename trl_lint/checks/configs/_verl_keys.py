"""The overrides of a command of verl, or of another Hydra program, that Hydra refuses (TRL401)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, Verdict, judge
from trl_lint.finding import Fix, Location, Severity
from trl_lint.knowledge.api import facts
from trl_lint.knowledge.histories import block, releases
from trl_lint.missing import Missing
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.modules import holds_module
from trl_lint.records import NamedTuple
from trl_lint.run.readers.hydra import Fault, Override, Tree, apply_all, copied
from trl_lint.run.readers.verl import Own, VerlRun, config_name, place_of, read_run, tree_in_release

# How many refused keys of a command are compared with all others: who misspells more has another configuration.
_MOST_ADVISED = 40


class UnknownKey(NamedTuple):
    """An override that Hydra refuses, or a module that is gone (`override` None)."""

    location: Location
    message: str
    severity: Severity
    related: tuple[Location, ...]
    override: Override | None = None
    fault: Fault | None = None
    fix: Fix | None = None


def unknown_keys(launch: Launch, rule: Rule, project: Project) -> Iterator[UnknownKey]:
    """The overrides of a launch that Hydra refuses in the releases in use."""
    run = read_run(launch, project)
    if run is None:
        return
    level = Level(rule, run.line.takes_more or launch.is_mild, of_code=False)
    if run.own is not None:
        tree = copied(run.own.tree)
        shown = os.path.relpath(run.own.path, project.root).replace(os.sep, "/")
        related = (Location(run.own.path, 0, 0, "the configuration begins here"),)
        for index, fault, remedy in _refused_by_own(run.own, tree, project):
            from trl_lint.checks.configs._verl_advice import word_refused

            override = run.overrides[index]
            message = word_refused(override, fault, f"`{shown}`", remedy)
            yield UnknownKey(place_of(override, launch), message, level.severity, related, override, fault)
        return
    gone = _module_gone(run, level, project)
    if gone is not None:
        yield gone
        return
    yield from _refused_in_releases(run, level)


def _refused_by_own(own: Own, tree: Tree, project: Project) -> Iterator[tuple[int, Fault, str]]:
    """What the project's own configuration refuses, by the position of the override, and what to write instead."""
    faults = list(apply_all(tree, own.overrides))
    if not faults:
        return
    from trl_lint.checks.configs._verl_advice import other_own_config, own_remedy

    other = other_own_config(own, dict(faults), project) if any(fault == "override" for _, fault in faults) else ""
    for count, (index, fault) in enumerate(faults):
        remedy = other if fault == "override" else ""
        if fault == "override" and not other and count < _MOST_ADVISED:
            remedy = own_remedy(own.overrides[index].key, own, project)
        yield index, fault, remedy


def _refused_in_releases(run: VerlRun, level: Level) -> Iterator[UnknownKey]:
    if "verl" not in run.choices:
        return
    newest = run.choices["verl"].newest
    faults_in = lru_cache(maxsize=None)(partial(_faults, run))
    now = faults_in(newest) or {}
    for index, override in enumerate(run.overrides):
        if index not in now:
            continue
        verdict = _judged(run, faults_in, index, level)
        if verdict is None:
            continue
        tree = tree_in_release(config_name(run, newest), newest)
        assert tree is not None
        from trl_lint.checks.configs._verl_advice import word_release
        from trl_lint.checks.configs._verl_fixes import edit_renamed

        message, place = word_release(run, override, now[index], tree, verdict), place_of(override, run.launch)
        fix = edit_renamed(override, run) if now[index] == "override" else None
        yield UnknownKey(place, message, verdict.severity, verdict.related, override, now[index], fix)


def _judged(
    run: VerlRun, faults_in: Callable[[str], dict[int, Fault] | None], index: int, level: Level
) -> Verdict | None:
    def ask(versions: dict[str, str]) -> bool | None:
        found = faults_in(versions["verl"])
        return None if found is None else index not in found

    points = {"verl": frozenset(range(len(releases("verl"))))}
    return judge(run.choices, points, ask, level, "verl")


def _faults(run: VerlRun, version: str) -> dict[int, Fault] | None:
    tree = run.tree(version)
    return None if tree is None else dict(apply_all(tree, run.overrides))


def _module_gone(run: VerlRun, level: Level, project: Project) -> UnknownKey | None:
    """`python -m verl.trainer.main_generation` where the release has no such module."""
    dotted = run.module.removeprefix("verl")
    ever = block("verl", "modules")
    if ever is None or dotted not in ever.names():
        return None

    def ask(versions: dict[str, str]) -> bool | None:
        found = facts("verl", "modules", versions["verl"])
        return None if isinstance(found, Missing) else dotted in found

    if "verl" not in run.choices or ask({"verl": run.choices["verl"].newest}) is not False:
        return None
    points = {"verl": frozenset(at for at, _ in ever.changes(dotted))}
    verdict = judge(run.choices, points, ask, level, "verl")
    if verdict is None or holds_module(run.module, project):
        return None
    having = [version for version in releases("verl") if ask({"verl": version})]
    from trl_lint.checks.configs._verl_advice import word_module

    message = word_module(run.module, having, verdict)
    return UnknownKey(run.launch.location, message, verdict.severity, verdict.related)
