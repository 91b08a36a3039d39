"""Flags and values of a command of OpenRLHF that the releases in use refuse, or the project's own copy of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial

from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.configs._own_flags import is_blank, starts_of, word_value
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, Verdict, judge
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.programs import successors
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.modules import holds_module
from trl_lint.run.readers.argparse_flags import Fault, FaultKind
from trl_lint.run.readers.openrlhf import (
    Flags,
    OpenRLHFRun,
    arguments_in,
    flags_in_release,
    place_of,
    read_run,
)
from trl_lint.sources.shell import Word


def unknown_flags(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL401: flags that the program does not declare, and programs that are gone."""
    run = read_run(launch, project)
    if run is None:
        return
    level = Level(rule, launch.is_mild, of_code=False)
    gone = _program_gone(run, level, project)
    if gone is not None:
        yield gone
        return
    yield from _refused(run, ("unknown",), level, project)


def wrong_values(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL402: values that argparse refuses."""
    run = read_run(launch, project)
    if run is not None:
        yield from _refused(
            run, ("surplus", "missing", "type", "choice"), Level(rule, launch.is_mild, of_code=False), project
        )


def _refused(run: OpenRLHFRun, kinds: tuple[FaultKind, ...], level: Level, project: Project) -> Iterator[Problem]:
    if run.own is not None or "openrlhf" not in run.choices:
        return  # the project's own file: `_own_flags`
    newest = run.choices["openrlhf"].newest
    starts = starts_of(run.launch)
    faults_in = lru_cache(maxsize=None)(partial(_places_of_faults, run))
    arguments = arguments_in(run, newest)
    for fault in arguments.faults if arguments is not None else ():
        is_asked = fault.kind in kinds and not is_blank(fault, run.launch, starts)
        verdict = _judged(fault, run, faults_in, level) if is_asked else None
        if verdict is not None:
            message = _word(fault, run, flags_in_release(run.module, newest) or {}, verdict)
            fix = None
            if fault.kind == "unknown":
                from trl_lint.checks.configs._openrlhf_fixes import edit_renamed

                fix = edit_renamed(fault, run)
            yield Problem(place_of(fault, run.launch), message, verdict.severity, verdict.related, fix)


def _places_of_faults(run: OpenRLHFRun, version: str) -> frozenset[tuple[Word, FaultKind]] | None:
    """Where and how a release refuses a command; None if its flags are not known."""
    arguments = arguments_in(run, version)
    return None if arguments is None else frozenset((fault.word, fault.kind) for fault in arguments.faults)


def _judged(
    fault: Fault,
    run: OpenRLHFRun,
    faults_in: Callable[[str], frozenset[tuple[Word, FaultKind]] | None],
    level: Level,
) -> Verdict | None:
    def ask(versions: dict[str, str]) -> bool | None:
        found = faults_in(versions["openrlhf"])
        return None if found is None else (fault.word, fault.kind) not in found

    points = {"openrlhf": frozenset(range(len(releases("openrlhf"))))}
    return judge(run.choices, points, ask, level, "openrlhf")


def _program_gone(run: OpenRLHFRun, level: Level, project: Project) -> Problem | None:
    """`python -m openrlhf.cli.train_ppo` where the release has no such program."""

    def ask(versions: dict[str, str]) -> bool | None:
        flags = flags_in_release(run.module, versions["openrlhf"])
        return None if flags is None else bool(flags)

    if run.own is not None:
        if run.own:
            return None
        if holds_module(run.module, project):
            return None  # in a folder that the command may be run in, or that is installed
        return Problem(run.launch.location, f"there is no program `{run.module}` in this project", level.severity, ())
    if "openrlhf" not in run.choices:
        return None
    if ask({"openrlhf": run.choices["openrlhf"].newest}) is not False:
        return None
    points = {"openrlhf": frozenset(range(len(releases("openrlhf"))))}
    verdict = judge(run.choices, points, ask, level, "openrlhf")
    if verdict is None or holds_module(run.module, project):
        return None
    having = [version for version in releases("openrlhf") if ask({"openrlhf": version})]
    message = _word_lost(f"program `{run.module}`", having, verdict, "")
    return Problem(run.launch.location, message, verdict.severity, verdict.related)


# -- words ----------------------------------------------------------------------------------------------------------


def _word(fault: Fault, run: OpenRLHFRun, flags: Flags, verdict: Verdict) -> str:
    """Say what argparse refuses, and since when."""
    if fault.kind == "unknown":
        return _word_unknown(fault.flag, run, flags, verdict)
    return word_value(fault, verdict.scope)


def _word_unknown(name: str, run: OpenRLHFRun, flags: Flags, verdict: Verdict) -> str:
    from trl_lint.checks.drift._wording import did_you_mean, sentence
    from trl_lint.knowledge.remedies import remedy_in, with_own_in

    found = [f"`{new}`" for new in successors("openrlhf", name) if new in flags]
    versions = {"openrlhf": verdict.version}
    remedy = f"use {' and '.join(found)}" if found else remedy_in("flag", run.module, name, versions)
    remedy = with_own_in(remedy, "flag", run.module, name, versions)
    program = run.module.rpartition(".")[2]
    having = [version for version in releases("openrlhf") if name in (flags_in_release(run.module, version) or {})]
    if not having:
        return sentence(f"`{program}` has no flag `{name}`", remedy or did_you_mean(name, flags), verdict.basis)
    return _word_lost(f"flag `{name}` of `{program}`", having, verdict, remedy)


def _word_lost(what: str, having: Sequence[str], verdict: Verdict, remedy: str) -> str:
    """Say since when releases lack something that others have."""
    from trl_lint.checks.drift._wording import next_release, sentence

    known = positions("openrlhf")
    older = [version for version in having if known[version] < known[verdict.version]]
    if older:
        gone = next_release("openrlhf", older[-1])
        return sentence(f"OpenRLHF {gone} removed the {what}", remedy, verdict.basis)
    if not having:
        return sentence(f"there is no {what}", remedy, verdict.basis)
    needed = f"it needs openrlhf>={having[0]}"
    return sentence(f"there is no {what} before OpenRLHF {having[0]}", remedy or needed, verdict.basis)
