"""TRL402 and TRL403: what the releases in use refuse of the flags of a command of LLaMA-Factory or ms-swift.

The flags are those that HfArgumentParser makes of the argument classes: their types and defaults are recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from trl_lint.checks._phrases import with_scope
from trl_lint.checks.configs._asserts import Problem, places
from trl_lint.checks.configs._command_beside import OfRelease
from trl_lint.checks.configs._command_keys import is_left_alone
from trl_lint.checks.configs._program_refusals import Reading, Settings, broken
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_config
from trl_lint.grading import milder
from trl_lint.knowledge.command_keys import choices_of, defaults_of, keys_of, types_of
from trl_lint.knowledge.condition_language import UNKNOWN as NOT_KNOWN
from trl_lint.knowledge.condition_language import Block
from trl_lint.knowledge.conditions import has_conditions
from trl_lint.knowledge.families import Arguments as Family
from trl_lint.knowledge.families import arguments_of
from trl_lint.memos import per_project
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.stack import Choices
from trl_lint.python.values import literal_of
from trl_lint.records import NamedTuple
from trl_lint.run.effective import as_bool, as_number
from trl_lint.run.readers.argparse_flags import NUMBER, TRUTH, Arguments, Flag, is_readable, read_arguments
from trl_lint.run.readers.command_words import Given, words_of
from trl_lint.run.runs import run_of
from trl_lint.sources.shell import Word
from trl_lint.words import read_count

_PROCESSES, _GPUS = "NPROC_PER_NODE", "visible GPUs"
_TRANSPARENT = frozenset({"bash", "env", "nohup", "time"})  # behind these it is one command on this machine
_TAKES = {"int": "a whole number", "float": "a number", NUMBER: "a number", TRUTH: "true or false"}
_TYPES = frozenset({"bool", "int", "float", "str"})
_NOTHING = frozenset({"", "none", "null"})


class CommandFlags(NamedTuple):
    """A command of a framework with its flags: whose it is, under which name its keys are recorded, the releases."""

    launch: Launch
    family: Family
    command: str
    choices: Choices
    given: Given

    @property
    def words(self) -> tuple[Word, ...]:
        return self.given.words


@per_project
def read_command(launch: Launch, project: Project) -> CommandFlags | None:
    """The flags of a command; None where it has none, or a file gives settings that are not known."""
    if launch.program is None or launch.subcommand is None or launch.command.errors:
        return None
    family = arguments_of(run_of(launch, project).framework)
    if family is None or family.surplus == "ignored":
        return None
    given = words_of(launch, project)
    first = given.words[0].text if given is not None and given.words else None
    if given is None or first is None or not first.startswith("--"):
        return None
    choices = project.environment(launch.source.path).choices
    if family.package not in choices or choices[family.package].package.is_own:
        return None  # a working tree may be ahead of the version it states
    return CommandFlags(launch, family, family.keys_for(launch.subcommand), choices, given)


def refused_flags(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """What the command refuses once its flags are read, as far as it belongs to the rule."""
    found = read_command(launch, project)
    if found is None or not has_conditions(found.family.package, found.command):
        return
    package, newest = found.family.package, found.choices[found.family.package].newest
    flags = flags_of(package, found.command, newest)
    given = frozenset(name for name, value in values_in(found, newest).items() if value is not NOT_KNOWN)
    given |= _seen(found).shown.keys()
    words = {flags[name].dest: word for name, word in arguments_in(found, newest).words.items()}
    level = Level("error", launch.is_mild, of_code=False)
    of_release = partial(settings_in, found)
    for one in broken(
        package, found.choices, of_release, given, level, found.family.shown, crashes=lambda refused: False
    ):
        if rule.code != ("TRL402" if len(one.keys) == 1 or one.is_declared else "TRL403"):
            continue
        if is_left_alone(found.family, project):
            return
        if given.isdisjoint(one.keys):
            continue  # nothing that the command says: an excerpt leaves out what everybody knows to add
        location, beside = places(one.keys, words, launch, found.given.place)
        severity = one.verdict.severity
        if _PROCESSES in one.keys:
            severity = milder(severity)  # it may be set by whoever starts the script
        yield Problem(location, one.message, severity, (*beside, *one.verdict.related))


def wrong_types(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """The flags whose value argparse cannot read: a text where a number is asked for."""
    found = read_command(launch, project)
    if found is None:
        return
    package = found.family.package
    for fault in arguments_in(found, found.choices[package].newest).faults:
        if fault.kind != "type" or fault.flags is None:
            continue
        name, text = fault.flag, fault.word.text or ""
        takes = partial(_takes, package, found.command, name, text)
        verdict = judge_config(found.choices, package, takes, Level(rule, launch.is_mild, of_code=False))
        if verdict is None or is_left_alone(found.family, project):
            continue
        kind = _TAKES[fault.flags.type]
        message = f"{found.family.shown} stops at start: `{name}` cannot be `{text}`: it takes {kind}"
        place = found.given.place(fault.word)
        yield Problem(place, with_scope(message, verdict.scope), verdict.severity, verdict.related)


@lru_cache(maxsize=4096)
def _takes(package: str, command: str, name: str, text: str, version: str) -> bool:
    flag = flags_of(package, command, version).get(name)
    return flag is None or is_readable(flag, text)


def arguments_in(found: CommandFlags, version: str) -> Arguments:
    """What argparse makes of the command in a release."""
    return _arguments(found.family.package, found.command, version, found.words)


@lru_cache(maxsize=64)
def _arguments(package: str, command: str, version: str, words: tuple[Word, ...]) -> Arguments:
    return read_arguments(words, flags_of(package, command, version))


def values_in(found: CommandFlags, version: str) -> dict[str, object]:
    """What the flags give, by the names of the fields."""
    flags = flags_of(found.family.package, found.command, version)
    values = arguments_in(found, version).values
    return {flags[name].dest: _value(flags[name], value) for name, value in values.items()}


def settings_in(found: CommandFlags, version: str) -> Settings | None:
    arguments = arguments_in(found, version)
    package = found.family.package
    flags = {flag.dest: flag for flag in flags_of(package, found.command, version).values()}
    if not flags or any(fault.kind != "unknown" for fault in arguments.faults):
        return None  # it stops before
    whole = Block("", values_in(found, version))
    absent: object = None
    if found.family.fills:
        absent = NOT_KNOWN
        for name, flag in flags.items():
            is_known = not arguments.hidden and flag.default is not UNKNOWN
            whole.setdefault(name, flag.default if is_known else NOT_KNOWN)
    elif arguments.hidden:
        return None
    if any(whole.get(name, False) is not False for name in found.family.unless_on):
        return None
    facts = _seen(found)
    whole.update(facts.shown)
    beside = OfRelease(whole, package, found.command, version, "", {"device_map": facts.device_map})
    return Settings(whole, (Reading(found.command, whole),), absent=absent, beside=beside)


class Seen(NamedTuple):
    """Whether one process of a command takes several GPUs (`is_mp` of ms-swift: it spreads the model over them), and
    what decides that, by variable.
    """

    device_map: object
    shown: dict[str, str]


def _seen(found: CommandFlags) -> Seen:
    """As `seen_by_process`; a config file may set the number of processes."""
    return Seen(NOT_KNOWN, {}) if found.given.sets else seen_by_process(found.launch, found.family)


def seen_by_process(launch: Launch, family: Family) -> Seen:
    """The GPUs of one process; unknown where the texts do not tell, or a variable says something else."""
    program, gpus = launch.program, launch.visible_gpus
    if program is None or program.ranks is None or launch.launcher != program.command or not gpus:
        return Seen(NOT_KNOWN, {})
    if not _TRANSPARENT.issuperset(launch.wrappers) or any(name in launch.env for name in family.unless_set):
        return Seen(NOT_KNOWN, {})
    word = launch.env.get(program.ranks.processes)
    processes = 1 if word is None else read_count(word.text or "")
    if not processes or len(gpus) % processes:
        return Seen(NOT_KNOWN, {})
    shown = "not set" if word is None else str(processes)
    return Seen(len(gpus) // processes >= 2, {_GPUS: str(len(gpus)), _PROCESSES: shown})


def _value(flag: Flag, value: Any) -> object:
    """The value of a field; unknown where the type of a text is not known, and it may be read as something else."""
    if value is UNKNOWN:
        return NOT_KNOWN
    if flag.action == "store_false":
        return False
    if flag.type == TRUTH:
        return value[0] if value else True
    texts = value if isinstance(value, list) else [value]
    if flag.choices and value == "None":
        return None
    if flag.type == "" and any(_may_be_other(text) for text in texts):
        return NOT_KNOWN
    return value


def _may_be_other(text: str) -> bool:
    """Whether a text may be read as something else than a text."""
    is_other = as_number(text) is not None or as_bool(text) is not None
    return is_other or text.lower() in _NOTHING or text[:1] in ("{", "[")


@lru_cache(maxsize=512)
def flags_of(package: str, command: str, version: str) -> Mapping[str, Flag]:
    """The flags of a command in a release by their names, in both spellings: the same object for releases alike."""
    types, choices = types_of(package, command, version), choices_of(package, command, version)
    keys = keys_of(package, command, version)
    own = keys.own if keys is not None else frozenset()
    return _flags(
        tuple(
            (name, text, types.get(name), name in own, tuple(sorted(choices.get(name, ()))))
            for name, text in defaults_of(package, command, version).items()
        )
    )


@lru_cache(maxsize=64)
def _flags(fields: tuple[tuple[str, str | None, str | None, bool, tuple[str, ...]], ...]) -> Mapping[str, Flag]:
    """Of each field: its name, its default as it is recorded, its type if that is recorded, whether the package
    declares it itself, and the texts that it takes.
    """
    found: dict[str, Flag] = {}
    for name, text, declared, is_own, choices in fields:
        default = _literal(text)
        of_default = type(default).__name__
        kind = of_default if declared is None else declared
        if kind == "int" and not is_own:
            kind = NUMBER  # transformers declares `save_steps: float = 500`
        if kind in ("bool", "int") and of_default in _TYPES and of_default != kind:
            kind = ""  # a class that was derived declares it anew
        flag = _flag(name, default, kind, choices)
        for spelling in dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}")):
            found[spelling] = flag._replace(name=spelling)
            if default is True:
                off = f"--no_{name}" if "_" in spelling else f"--no-{name.replace('_', '-')}"
                found[off] = Flag(off, True, "", (), 0, 0, "store_false", name)
    return found


def _flag(name: str, default: Any, kind: str, choices: tuple[str, ...]) -> Flag:
    is_list = kind.endswith("+") or kind == "list"
    kind = kind.removesuffix("+")
    if kind == "bool":
        return Flag(f"--{name}", default, TRUTH, (), 0, 1, "store", name)
    kind = "" if choices or kind not in ("int", "float", "str", NUMBER) else kind
    return Flag(f"--{name}", default, kind, () if is_list else choices, 1, None if is_list else 1, "store", name)


def _literal(text: str | None) -> Any:
    if text is None or text.startswith("`"):
        return UNKNOWN
    try:
        return literal_of(text)
    except (ValueError, SyntaxError):
        return UNKNOWN
