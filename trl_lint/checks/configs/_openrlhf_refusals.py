"""What the releases of OpenRLHF refuse of a command after their parsers: the world of its flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trl_lint.checks.configs._asserts import Problem, is_release, places
from trl_lint.checks.configs._program_refusals import Reading, Settings, broken
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.knowledge.condition_language import UNKNOWN as NOT_KNOWN
from trl_lint.knowledge.condition_language import Block
from trl_lint.knowledge.topics import topic_of
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.run.readers.openrlhf import (
    Flags,
    OpenRLHFRun,
    arguments_in,
    flags_in_release,
    flags_of,
    read_run,
)


def refused_together(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL402, TRL403 and by `topics.toml`: what the program refuses once argparse has taken its flags."""
    run = read_run(launch, project)
    if run is not None:
        yield from refusals(run, rule.code, Level(rule, launch.is_mild, of_code=False))


def refusals(run: OpenRLHFRun, code: str, level: Level) -> Iterator[Problem]:
    """What the program refuses of a command in the releases in use, as far as it belongs to a rule."""
    if "openrlhf" not in run.choices or (run.own is not None and not is_release(run.choices, "openrlhf")):
        return
    newest = run.choices["openrlhf"].newest
    arguments = arguments_in(run, newest)
    flags = flags_of(run, newest)
    if arguments is None or not flags or (run.own is not None and _is_later(run, newest, arguments.words)):
        return
    words = {setting_name(name, flags): word for name, word in arguments.words.items() if name in flags}
    for found in broken("openrlhf", run.choices, lambda version: settings_of(run, version), words, level, "OpenRLHF"):
        if code == (topic_of(frozenset(found.keys)) or ("TRL402" if len(found.keys) == 1 else "TRL403")):
            location, beside = places(found.keys, words, run.launch)
            yield Problem(location, found.message, found.verdict.severity, (*beside, *found.verdict.related))


def _is_later(run: OpenRLHFRun, version: str, given: Iterable[str]) -> bool:
    """Whether a command gives the project's own program a flag that the release by its version has not.

    The code has gone on since then, and a version that stayed behind tells nothing of what it asks for now.
    """
    released = flags_in_release(run.module, version)
    return released is None or not all(name in released for name in given)


def settings_of(run: OpenRLHFRun, version: str) -> Settings | None:
    """The settings of a command in a release, None where they are not known or argparse refuses the command."""
    flags = flags_of(run, version)
    arguments = arguments_in(run, version)
    if not flags or arguments is None or arguments.faults:
        return None
    return settings_from(run.module, flags, arguments.values, arguments.hidden, run.launch.is_mild)


def settings_from(
    module: str, flags: Flags, given: dict[str, Any], is_open: bool = False, is_part: bool = False
) -> Settings:
    """The settings of a program by its flags and what a command gives.

    Others are unknown if it may give more, and those that have no default if only a part of it `is_part` shown.
    """
    whole = Block("", {})
    for name, flag in flags.items():
        default = UNKNOWN if is_open or (is_part and flag.default is None) else flag.default
        value = given.get(name, default)
        _put(whole, setting_name(name, flags), NOT_KNOWN if value is UNKNOWN else value)
    return Settings(whole, (Reading(module, whole),))


def setting_name(name: str, flags: Flags) -> str:
    """Where argparse puts the value of a flag; one with dots is put into blocks (`hierarchize`, since 0.10.2)."""
    return flags[name].dest or name.lstrip("-").replace("-", "_")


def _put(block: Block, key: str, value: object) -> None:
    head, dot, rest = key.partition(".")
    if not dot:
        block[head] = value
        return
    inner = block.get(head)
    if not isinstance(inner, Block):
        inner = block[head] = Block(f"{block.path}.{head}".lstrip("."), {})
    _put(inner, rest, value)
