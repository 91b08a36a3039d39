"""TRL402 and TRL403: what the releases in use refuse of the config that a command of axolotl or LLaMA-Factory reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from trl_lint.checks._runs import naming_launches
from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.configs._command_beside import OfRelease, is_ill_typed, is_zero3, quantised_on_hub
from trl_lint.checks.configs._command_keys import flag_name, is_left_alone, plugins_of
from trl_lint.checks.configs._command_world import block_of
from trl_lint.checks.configs._program_refusals import Broken, Reading, Settings, broken
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.finding import Location
from trl_lint.grading import milder
from trl_lint.knowledge.condition_language import UNKNOWN, Block
from trl_lint.knowledge.conditions import has_conditions
from trl_lint.knowledge.families import Arguments, arguments_of_kind
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.records import NamedTuple
from trl_lint.sources.nodes import find_entry
from trl_lint.sources.shell import Word


def refused_in_document(document: Document, rule: Rule, project: Project) -> Iterator[Problem]:
    """What the command that reads a document refuses of it, as far as it belongs to the rule."""
    for found in _refused(document, project):
        if rule.code == ("TRL402" if len(found.broken.keys) == 1 or found.broken.is_declared else "TRL403"):
            yield found.problem


class _Refused(NamedTuple):
    broken: Broken
    problem: Problem


@per_project
def _refused(document: Document, project: Project) -> list[_Refused]:
    """All that is refused of a document, for both rules."""
    return list(_read(document, project))


def _read(document: Document, project: Project) -> Iterator[_Refused]:
    arguments = arguments_of_kind(document.kind)
    command = document.definition.command
    if arguments is None or not has_conditions(arguments.package, command):
        return
    choices = project.environment(document.path).choices
    if arguments.package not in choices or choices[arguments.package].package.is_own:
        return  # a working tree may be ahead of the version it states
    launches = naming_launches(document, project)
    whole = _settings_of(document, arguments, launches, project)
    if whole is None:
        return
    given = _written(whole)
    level = Level("error", bool(launches) and all(launch.is_mild for launch in launches), of_code=False)
    neighbour = choices.get("transformers")
    asked = neighbour.newest if neighbour is not None and not neighbour.assumed else ""
    facts = {
        "zero3": is_zero3(document, whole, launches, project),
        "quantised": quantised_on_hub(document, whole, project),
    }
    settings_in = partial(_in_release, whole, arguments.package, command, asked, facts)
    crashes = is_ill_typed(arguments.package, command, choices[arguments.package].newest)
    for found in broken(arguments.package, choices, settings_in, given, level, arguments.shown, crashes):
        keys = [key for key in found.keys if key in given]
        if not (keys or launches) or is_left_alone(arguments, project):
            continue
        location, beside = _places(document, keys)
        severity = found.verdict.severity
        if not launches and len(keys) < len(found.keys) and not found.is_declared:
            severity = milder(severity)  # what is not there may be added by whoever uses the file
        yield _Refused(found, Problem(location, found.message, severity, (*beside, *found.verdict.related)))


def _in_release(
    whole: Block, package: str, command: str, asked: str, facts: dict[str, object], version: str
) -> Settings:
    beside = OfRelease(whole, package, command, version, asked, facts)
    return Settings(whole, (Reading(command, whole),), absent=None, beside=beside)


def _settings_of(document: Document, arguments: Arguments, launches: list[Launch], project: Project) -> Block | None:
    """What stands in the document; unknown what a command gives besides. None where the whole is not known."""
    whole = block_of(document.mapping) if document.mapping is not None else None
    if whole is None or any(not each.startswith(f"{arguments.package}.") for each in plugins_of(document, arguments)):
        return None  # a plugin from elsewhere may change every setting
    given = frozenset(arguments.sets).union(*(_given_by(launch, project) for launch in launches))
    return Block("", {**whole, **dict.fromkeys(given, UNKNOWN)})


@per_project
def _given_by(launch: Launch, project: Project) -> frozenset[str]:
    """The keys at the top that a command may give besides: one command may name many files."""
    names = (name for word in launch.args for name in (flag_name(word), _override(word)) if name)
    return frozenset(name.partition("__")[0].partition(".")[0] for name in names)


def _override(word: Word) -> str:
    """The key of `key=value`, "" for another word."""
    name, equal, _ = (word.text or "").partition("=")
    return name if equal and name.replace(".", "_").isidentifier() else ""


def _written(whole: Block) -> frozenset[str]:
    """The dotted names of all settings that are known."""
    found = set()
    waiting = [whole]
    seen = {id(whole)}
    while waiting:
        block = waiting.pop()
        for name, value in block.items():
            if isinstance(value, Block) and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)
            if value is not UNKNOWN:
                found.add(f"{block.path}.{name}".lstrip("."))
    return frozenset(found)


def _places(document: Document, keys: list[str]) -> tuple[Location, tuple[Location, ...]]:
    """Where a finding about several settings stands: at the last one in the text, the others beside it."""
    entries = [entry for key in keys if (entry := find_entry(document.root, key)) is not None]
    if not entries:
        root = document.mapping
        assert root is not None
        return document.source.location(root.entries[0].key.start, root.entries[0].key.end), ()
    entries.sort(key=lambda entry: entry.key.start)
    places = [document.source.location(entry.key.start, entry.value.end) for entry in entries]
    return places[-1], tuple(place._replace(message="together with this") for place in places[:-1])
