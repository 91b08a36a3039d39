"""The overrides of a command of verl, or of another Hydra program, that Hydra refuses (TRL401)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from trl_lint.words import counted

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
    remedies: dict[int, str] = {}
    for count, (index, fault) in enumerate(faults):
        remedies[index] = other if fault == "override" else ""
        if fault == "override" and not other and count < _MOST_ADVISED:
            remedies[index] = own_remedy(own.overrides[index].key, own, project)
    remedies = _one_misplaced(own.overrides, remedies)
    yield from ((index, fault, remedies[index]) for index, fault in faults if index in remedies)


def _one_misplaced(overrides: Sequence[Override], remedies: Mapping[int, str]) -> dict[int, str]:
    """What to write for the refused overrides, by position, without those that one misplaced override leaves undone.

    `a.b.model_engine=megatron` chooses nothing, and all keys that `model_engine=megatron` has are refused with it.
    """
    left = dict(remedies)
    for index in remedies:
        override = overrides[index]
        choice = f"`{override.key.rpartition('.')[2]}={override.value}`"
        waiting = [other for other in left if other != index and remedies[other] == f"{choice} has it"]
        if waiting and "." in override.key:
            number = counted(len(waiting), "other key")
            left[index] = f"write {choice}, which has {number} that this command sets"
            for other in waiting:
                del left[other]
    return left


def _refused_in_releases(run: VerlRun, level: Level) -> Iterator[UnknownKey]:
    if "verl" not in run.choices:
        return
    newest = run.choices["verl"].newest
    faults_in = lru_cache(maxsize=None)(partial(_faults, run))
    now = faults_in(newest) or {}
    verdicts = {index: found for index in sorted(now) if (found := _judged(run, faults_in, index, level)) is not None}
    if not verdicts:
        return
    from trl_lint.checks.configs._verl_advice import release_remedy, word_release
    from trl_lint.checks.configs._verl_fixes import edit_renamed

    tree = tree_in_release(config_name(run, newest), newest)
    assert tree is not None
    advised = {
        index: release_remedy(run, run.overrides[index].key, tree, verdict.version) if now[index] == "override" else ""
        for index, verdict in verdicts.items()
    }
    for index, remedy in _one_misplaced(run.overrides, advised).items():
        override, verdict = run.overrides[index], verdicts[index]
        message = word_release(run, override, now[index], remedy, verdict)
        place = place_of(override, run.launch)
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
