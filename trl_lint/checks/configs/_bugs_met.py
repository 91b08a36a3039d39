"""Which known faults of the releases in use a subject meets, and the words for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.configs._bug_subjects import Subject
from trl_lint.checks.configs._bugs_near import Near, near
from trl_lint.checks.configs._trainers_of_run import PACKAGES
from trl_lint.finding import Location, Severity
from trl_lint.grading import milder
from trl_lint.knowledge.bugs import Bug, bug_of
from trl_lint.knowledge.condition_language import UNKNOWN, World, parse, truth_of, value_of
from trl_lint.knowledge.condition_names import deciding
from trl_lint.knowledge.condition_sentences import filled_in
from trl_lint.knowledge.condition_things import Thing
from trl_lint.project.environment import Environment
from trl_lint.records import NamedTuple
from trl_lint.words import listed

_FACTS = {
    "num_processes": "the number of processes",
    "zero_stage": "the stage of ZeRO",
    "fsdp_version": "the version of FSDP",
    "model_type": "the kind of the model",
    "vocab_size": "the size of the vocabulary",
    "loaded_in_bits": "the number of bits that the model is loaded in",
}


class Met(NamedTuple):
    """A fault that a subject meets: where, in which words, how severe, and the other places."""

    bug: Bug
    location: Location
    message: str
    severity: Severity
    related: tuple[Location, ...]


def met_by(subject: Subject, environment: Environment) -> Iterator[Met]:
    """The faults that a subject meets with the releases in use: what nobody sees by himself first."""
    from trl_lint.knowledge.bugs import QUIET

    known = near(environment)
    rows = {id(each.entry): each for place in subject.places for each in known.get(place, ())}
    if rows:
        named = [name for each in rows.values() for name in (each.entry.package, *each.entry.beside)]
        versions = environment.choices.newest(dict.fromkeys((*PACKAGES, "accelerate", "peft", *named)))
        found = [met for each in rows.values() if (met := _met(subject, each, versions)) is not None]
        yield from sorted(found, key=lambda met: met.bug.consequence not in QUIET)


def _met(subject: Subject, one: Near, versions: dict[str, str]) -> Met | None:
    condition = one.entry.condition
    world = subject.world(one.entry, versions)
    truth = truth_of(condition, world)
    lacking = "" if truth is True else _lacking(condition, world) if truth is UNKNOWN else ""
    if truth is not True and not lacking:
        return None
    decided = deciding(_without_unknown(condition, world), world)
    names = sorted(decided, key=lambda name: condition.find(name.strip("()")))
    written = [(name, place) for name in names if (place := subject.written(name, versions)) is not None]
    if lacking and not written:
        return None
    severity = one.verdict.severity
    for is_weaker in (not one.entry.is_read, not subject.is_certain, bool(subject.leaning & set(names)), bool(lacking)):
        severity = milder(severity, is_weaker)
    bug = bug_of(one.entry)
    telling = [place for name, place in written if f"`{name.rpartition('.')[2]}`" in bug.title]
    last = (telling or [place for _, place in written] or [subject.location])[-1]
    beside = tuple(place._replace(message=f"`{name}`") for name, place in written if place != last)
    message = _worded(bug, one, names, dict(written), world, lacking)
    return Met(bug, last, message, severity, (*dict.fromkeys(beside), *one.verdict.related))


def _conjuncts(condition: str) -> list[ast.expr]:
    tree = parse(condition)
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        return tree.values
    return [] if tree is None else [tree]


def _lacking(condition: str, world: World) -> str:
    """The one fact that nobody knows where all else of a condition is true, in words; "" where it is not so."""
    parts = _conjuncts(condition)
    open_parts = [part for part in parts if truth_of(ast.unparse(part), world) is UNKNOWN]
    if len(open_parts) != 1 or len(parts) < 2:
        return ""
    asked = [
        node.func.id
        for node in ast.walk(open_parts[0])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    if truth_of(ast.unparse(open_parts[0]), _Plain()) is False:
        return ""  # only a way to start it would do that nothing here speaks of
    words = [_FACTS[name] for name in dict.fromkeys(asked) if name in _FACTS]
    return f"{listed(words)} ({ast.unparse(open_parts[0])})" if words else ""


class _Plain:
    """A world of which nobody knows more than that it is started without ZeRO and without FSDP."""

    def field(self, name: str) -> object:
        return UNKNOWN

    base = arg = field

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return 0 if name in ("zero_stage", "fsdp_version") else UNKNOWN


def _without_unknown(condition: str, world: World) -> str:
    known = [text for part in _conjuncts(condition) if truth_of(text := ast.unparse(part), world) is not UNKNOWN]
    return " and ".join(f"({text})" for text in known) or "True"


def _worded(bug: Bug, one: Near, names: list[str], written: dict[str, Location], world: World, lacking: str) -> str:
    told = [
        f"{_named(name)} is {text}" + ("" if name in written or name.endswith("()") else " by default")
        for name in names
        if (text := _shown(value_of(name, world)))
    ]
    here = f". Here {listed(told)}" if told else ""
    unless = f". It is not known here whether it matters: {lacking}" if lacking else ""
    return (
        f"{bug.title}: {filled_in(bug.message, world)}{here}{unless}. {bug.remedy(one.entry.package)} "
        f"({one.verdict.scope}) [{bug.id}]"
    )


def _named(name: str) -> str:
    return _FACTS.get(name[:-2], name) if name.endswith("()") else f"`{name.removeprefix('arg.')}`"


def _shown(value: object) -> str:
    if isinstance(value, Thing):
        return "given"
    return repr(value) if isinstance(value, (str, int, float, bool, type(None))) else ""
