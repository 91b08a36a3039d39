"""The flags of a command of OpenRLHF, in the releases in use or in the project's own copy of the program."""

from __future__ import annotations

import ast
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

from trl_lint import budget, tracked
from trl_lint.checks._own_copy import has_own_copy
from trl_lint.checks._phrases import either
from trl_lint.checks.configs._argparse import Arguments, Fault, FaultKind, Flag, read_arguments, read_flag
from trl_lint.checks.configs._asserts import (
    Problem,
)
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, Verdict, judge
from trl_lint.finding import Location
from trl_lint.knowledge.api import facts
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.programs import programs, successors
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT, Missing
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.modules import holds_module
from trl_lint.project.stack import Choices
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError
from trl_lint.sources.shell import Word

Flags = Mapping[str, Flag]


class OpenRLHFRun(NamedTuple):
    """A launch of OpenRLHF.

    `own`: the flags of the project's own file at `path`, none where it has no such file; None where releases are
    judged.
    """

    launch: Launch
    module: str
    own: Flags | None
    path: str
    choices: Choices


def read_run(launch: Launch, project: Project) -> OpenRLHFRun | None:
    """A launch of OpenRLHF whose flags are known; None for all else."""
    if launch.command.errors:
        return None
    path = launch.script_path
    module = launch.module or ""
    if module not in programs("openrlhf"):
        module = _module_at(path) if path is not None and launch.module is None else ""
    if not module:
        return None
    environment = project.environment(launch.source.path)
    choices = environment.choices
    if environment.package("openrlhf").source != "target":
        if path is not None:
            own = read_own_flags(path, project)
            return OpenRLHFRun(launch, module, own, path, choices) if own is not None else None
        if launch.candidates or has_own_copy("openrlhf", launch.source.path, project):
            is_checkout = not launch.candidates and environment.package("openrlhf").is_own
            return OpenRLHFRun(launch, module, {}, "", choices) if is_checkout else None
    elif launch.module is None:
        return None
    return OpenRLHFRun(launch, module, None, "", choices)


def _module_at(path: str) -> str:
    """`openrlhf.cli.train_sft` for `…/openrlhf/cli/train_sft.py`, "" for other files."""
    parts = os.path.splitext(path)[0].split(os.sep)[-3:]
    name = ".".join(parts)
    if path.endswith(".py") and "cli" in parts:
        tracked.note_name("openrlhf")
    return name if path.endswith(".py") and name in programs("openrlhf") else ""


@per_project
def read_own_flags(path: str, project: Project) -> Flags | None:
    """The flags a program of the project declares; None where some of them cannot be read in its file.

    Three rules ask for those of the same script, for each of its launches.
    """
    from trl_lint.python.flags import read_flags

    try:
        tree = project.module_in(path).tree
    except (OSError, SourceError):
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in ("parse_known_args", "set_defaults", "add_subparsers"):
            return None
        if name == "add_argument" and not all(isinstance(a, (ast.Constant, ast.JoinedStr)) for a in node.args):
            return None
        if any(isinstance(a, ast.Name) and "parser" in a.id.lower() for a in node.args):
            return None  # somebody else adds flags
    flags = read_flags(tree)
    if flags is None:
        budget.note(path, "loops repeat its flags so often that they were not read")
        return None
    found = {flag.name: read_flag(flag.name, flag.text) for flag in flags}
    return {**found, "--help": read_flag("--help", "False action=store_true")} if found else None


@lru_cache(maxsize=256)
def flags_in_release(module: str, version: str) -> Flags | None:
    """The flags of a program in a release; None if they are not recorded, empty if there is no such program."""
    found = facts("openrlhf", f"flags {module}", version)
    if isinstance(found, Missing):
        return {} if found is ABSENT else None
    flags = {name: read_flag(name, text) for name, text in found.items() if name.startswith("--")}
    return {**flags, "--help": read_flag("--help", "False action=store_true")}


def arguments_in(run: OpenRLHFRun, version: str) -> Arguments | None:
    """What a release makes of the command line; None if its flags are not known."""
    flags = flags_of(run, version)
    return read_arguments(run.launch.args, flags) if flags else None


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
    if run.own is not None and not run.own:
        return
    if run.own is not None:
        shown = os.path.relpath(run.path, project.root).replace(os.sep, "/")
        related = (Location(run.path, 0, 0, "the flags are declared here"),)
        starts = _starts(run.launch)
        for fault in read_arguments(run.launch.args, run.own).faults:
            if fault.kind in kinds and not _is_blank(fault, run.launch, starts):
                yield Problem(
                    place_of(fault, run.launch), _word(fault, run, run.own, shown=shown), level.severity, related
                )
        return
    if "openrlhf" not in run.choices:
        return
    newest = run.choices["openrlhf"].newest
    starts = _starts(run.launch)
    faults_in = lru_cache(maxsize=None)(partial(_places_of_faults, run))
    arguments = arguments_in(run, newest)
    for fault in arguments.faults if arguments is not None else ():
        is_asked = fault.kind in kinds and not _is_blank(fault, run.launch, starts)
        verdict = _judged(fault, run, faults_in, level) if is_asked else None
        if verdict is not None:
            message = _word(fault, run, flags_in_release(run.module, newest) or {}, verdict)
            yield Problem(place_of(fault, run.launch), message, verdict.severity, verdict.related)


def _starts(launch: Launch) -> list[int]:
    return sorted(word.start for word in launch.args)


def _places_of_faults(run: OpenRLHFRun, version: str) -> frozenset[tuple[Word, FaultKind]] | None:
    """Where and how a release refuses a command; None if its flags are not known."""
    arguments = arguments_in(run, version)
    return None if arguments is None else frozenset((fault.word, fault.kind) for fault in arguments.faults)


def _is_blank(fault: Fault, launch: Launch, starts: list[int]) -> bool:
    """Whether the value that a flag lacks is a variable that is empty here: `KEY=""` is a blank to fill in."""
    if fault.kind != "missing":
        return False
    next_one = bisect_left(starts, fault.word.end)
    behind = starts[next_one] if next_one < len(starts) else launch.command.end
    return "$" in launch.source.text[fault.word.end : behind]


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


def flags_of(run: OpenRLHFRun, version: str) -> Flags | None:
    """The flags of the project's own file, or those of a release."""
    return run.own if run.own is not None else flags_in_release(run.module, version)


# -- words ----------------------------------------------------------------------------------------------------------


def _word(fault: Fault, run: OpenRLHFRun, flags: Flags, verdict: Verdict | None = None, shown: str = "") -> str:
    """Say what argparse refuses; of releases since when, of the project's own file (`shown`) which one it is."""
    why = verdict.scope if verdict is not None else shown
    if fault.kind == "unknown":
        return _word_unknown(fault.flag, run, flags, verdict, shown)
    text = fault.word.text or ""
    flag = fault.flags
    assert flag is not None
    if fault.kind == "surplus":
        return f"`{flag.name}` takes no value ({why})"
    if fault.kind == "missing":
        wanted = f"{flag.least} values" if flag.least > 1 else "a value"
        return f"`{flag.name}` needs {wanted} ({why})"
    if fault.kind == "type":
        wanted = {"int": "a whole number", "float": "a number"}[flag.type]
        return f"`{flag.name}` cannot be `{text}`: it needs {wanted} ({why})"
    choices = either(f"`{choice}`" for choice in flag.choices)
    return f"`{flag.name}` cannot be `{text}`: choose {choices} ({why})"


def _word_unknown(name: str, run: OpenRLHFRun, flags: Flags, verdict: Verdict | None, shown: str) -> str:
    from trl_lint.checks.drift._wording import did_you_mean, sentence
    from trl_lint.knowledge.remedies import remedy_in

    found = [f"`{new}`" for new in successors("openrlhf", name) if new in flags]
    remedy = f"use {' and '.join(found)}" if found else ""
    if verdict is not None and not remedy:
        remedy = remedy_in("flag", run.module, name, {"openrlhf": verdict.version})
    if verdict is None:
        return sentence(f"`{shown}` has no flag `{name}`", remedy or did_you_mean(name, flags), "")
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


def place_of(fault: Fault, launch: Launch) -> Location:
    """The flag where it is written as it is, else the whole word."""
    word = fault.word
    if fault.kind == "unknown" and word.raw.startswith(fault.flag):
        return launch.source.location(word.start, word.start + len(fault.flag))
    return launch.source.location(word.start, word.end)
