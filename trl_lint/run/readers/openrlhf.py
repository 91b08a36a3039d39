"""A command of OpenRLHF, and the flags of its program in a release or in the project's own copy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

from trl_lint import tracked
from trl_lint.coverage import COPY, CUT, HIDDEN, NO_DEFAULT, NO_RELEASE, NOT_KNOWN, PARSER, Reason
from trl_lint.finding import Location
from trl_lint.knowledge.api import facts
from trl_lint.knowledge.programs import programs
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.own_copy import has_own_copy
from trl_lint.project.stack import Choices
from trl_lint.records import NamedTuple
from trl_lint.run.config import Config, Layer, Read, Versions, nothing_known
from trl_lint.run.effective import Said, Setting, Unknown
from trl_lint.run.inputs import Inputs
from trl_lint.run.readers.argparse_flags import Arguments, Fault, Flag, read_arguments, read_flag
from trl_lint.run.readers.own_argparse import OwnParser, parser_of

Flags = Mapping[str, Flag]
_PACKAGE = "openrlhf"


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
    found = run_or_reason(launch, project)
    return found if isinstance(found, OpenRLHFRun) else None


@per_project
def run_or_reason(launch: Launch, project: Project) -> OpenRLHFRun | Reason | None:
    """As `read_run`, with the reason why the flags of a launch of OpenRLHF are not known."""
    path = launch.script_path
    module = launch.module or ""
    if module not in programs("openrlhf"):
        module = _module_at(path) if path is not None and launch.module is None else ""
    if not module:
        return None
    if launch.command.errors:
        return CUT
    environment = project.environment(launch.source.path)
    choices = environment.choices
    if environment.package("openrlhf").source != "target":
        if path is not None:
            own = parser_of(path, project)
            return OpenRLHFRun(launch, module, own.flags, path, choices) if isinstance(own, OwnParser) else PARSER
        if launch.candidates or has_own_copy("openrlhf", launch.source.path, project):
            is_checkout = not launch.candidates and environment.package("openrlhf").is_own
            return OpenRLHFRun(launch, module, {}, "", choices) if is_checkout else COPY
    elif launch.module is None:
        return COPY
    return OpenRLHFRun(launch, module, None, "", choices)


def _module_at(path: str) -> str:
    """`openrlhf.cli.train_sft` for `…/openrlhf/cli/train_sft.py`, "" for other files."""
    parts = os.path.splitext(path)[0].split(os.sep)[-3:]
    name = ".".join(parts)
    if path.endswith(".py") and "cli" in parts:
        tracked.note_name("openrlhf")
    return name if path.endswith(".py") and name in programs("openrlhf") else ""


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


def flags_of(run: OpenRLHFRun, version: str) -> Flags | None:
    """The flags of the project's own file, or those of a release."""
    return run.own if run.own is not None else flags_in_release(run.module, version)


def read_config(inputs: Inputs) -> Config:
    """The options of OpenRLHF: what its parser makes of the command line."""
    found, here = run_or_reason(inputs.launch, inputs.project), inputs.launch.location
    if not isinstance(found, OpenRLHFRun):
        return nothing_known(inputs.framework, found or NOT_KNOWN, here)
    versions = found.choices.newest((_PACKAGE,))
    if found.own is None and not versions:
        return nothing_known(inputs.framework, NO_RELEASE, here)
    arguments = arguments_in(found, versions.get(_PACKAGE, ""))
    if arguments is None:
        return nothing_known(inputs.framework, NO_RELEASE, here)
    source = inputs.launch.source

    def given(name: str) -> Said:
        word = arguments.words.get(f"--{name}")
        if word is not None:
            value = arguments.values.get(f"--{name}", UNKNOWN)
            return Setting(value, "flag", source.location(word.start, word.end))
        return Unknown(HIDDEN, here) if arguments.hidden else ABSENT

    def defaults(versions: Versions) -> Read:
        flags = flags_of(found, versions.get(_PACKAGE, "")) or {}

        def default(name: str) -> Said:
            known = flags.get(f"--{name}")
            if known is None:
                return ABSENT if flags else Unknown(NO_RELEASE, here)
            return (
                Unknown(NO_DEFAULT) if isinstance(known.default, Missing) else Setting(known.default, "default", None)
            )

        return default

    layer = Layer(given, lambda: (flag[2:] for flag in arguments.words))
    return Config(inputs.framework, (layer,), defaults, versions, _PACKAGE)


def place_of(fault: Fault, launch: Launch) -> Location:
    """The flag where it is written as it is, else the whole word."""
    word = fault.word
    if fault.kind == "unknown":
        return launch.place_of(word, fault.flag)
    return launch.source.location(word.start, word.end)
