"""What a class of a package refuses, warns about and changes when it is made, by release: `rules/conditions`.

The files are written by `python -m trl_lint.knowledge.refresh conditions`; their form is told in
`trl_lint.knowledge.refresher.conditions_write`, the language in `trl_lint.knowledge.condition_language`.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from functools import cache, lru_cache

from trl_lint.knowledge import read_text
from trl_lint.knowledge.condition_shared import classes_of, expanded, owner_of
from trl_lint.knowledge.ranges import spans
from trl_lint.records import NamedTuple

PACKAGES = (
    "trl",
    "transformers",
    "verl",
    "openrlhf",
    "peft",
    "accelerate",
    "vllm",
    "deepspeed",
    "axolotl",
    "llamafactory",
    "ms-swift",
)


class Condition(NamedTuple):
    """One fact of a class. `kind`: `refuse` and `warn` when the config is made, `trainer-refuse` and `trainer-warn`
    when the trainer is; `before` and `after`: what the field `sentence` is before the base from another package runs,
    and when the constructor is done; `default`: the text of the member of an enum that is the default of `sentence`.

    `condition` is an expression; `_` stands for what is not known. `sentence` is the exception and its text, with
    `{field}` for values. `holder` is the function that has the statement, without module.
    """

    kind: str
    condition: str
    sentence: str
    holder: str


def conditions_of(package: str, name: str, version: str) -> tuple[Condition, ...]:
    """The facts of a class in a release, in the order of the file; none for a release that was not read.

    `name` is that of the class without module: of two classes with one name only what both say is recorded.
    """
    position = _positions(package).get(version)
    if position is None:
        return ()
    return _at(package, name, position)


class Refusal(NamedTuple):
    """A sentence with which classes of a package refuse their arguments, in any release.

    `conditions` are those under which they do, `names` the classes, `spans` the releases [(first, last), …].
    """

    sentence: str
    conditions: tuple[str, ...]
    names: tuple[str, ...]
    spans: tuple[tuple[str, str], ...]


@cache
def refusals(package: str) -> tuple[Refusal, ...]:
    """Every sentence of a package that ends the making of a config or a trainer, in the order of the file."""
    places, parts = _positions(package), _shared(package)
    found: dict[str, tuple[dict[str, None], dict[str, None], set[int]]] = {}
    sentence = holder = ""
    for line in _text(package).split("\n"):
        if line.startswith("  "):
            if sentence:
                conditions, names, positions = found.setdefault(sentence, ({}, {}, set()))
                condition, _, told = line[2:].partition("\t")
                conditions[expanded(condition, parts)] = None
                for name, turns in classes_of(told, holder):
                    names[name] = None
                    ends = [places[turn] for turn in turns] + [len(places)] * (len(turns) % 2)
                    for start, end in zip(ends[::2], ends[1::2], strict=True):
                        positions.update(range(start, end))
        elif line.startswith(" "):
            kind, _, told = line[1:].partition(" ")
            sentence = expanded(told, parts) if kind in ("refuse", "trainer-refuse") else ""
        else:
            holder, sentence = line[len("at ") :], ""
    known = list(places)
    return tuple(
        Refusal(text, tuple(conditions), tuple(names), tuple(spans([known[at] for at in sorted(positions)], known)))
        for text, (conditions, names, positions) in found.items()
    )


def is_recorded(package: str, version: str) -> bool:
    """Whether the conditions of a release were read."""
    return version in _positions(package)


def recorded_releases(package: str) -> tuple[str, ...]:
    """The releases whose conditions were read, oldest first."""
    return tuple(_positions(package))


def recorded_classes(package: str) -> tuple[str, ...]:
    """The classes and programs of which anything is recorded in any release, by name."""
    found: set[str] = set()
    for section in _holders(package):
        holder, *lines = section.split("\n")
        told = {line.partition("\t")[2] for line in lines if line.startswith("  ")}
        found.update(name for each in told for name, _ in classes_of(each, holder))
    return tuple(sorted(found))


def has_conditions(package: str, name: str) -> bool:
    """Whether anything is recorded of a class in any release."""
    return bool(_rows(package, name))


@lru_cache(maxsize=256)
def enum_defaults(package: str, name: str, version: str) -> dict[str, str]:
    """By field of a class, the text of the member of an enum that is its default: the histories have its name alone."""
    facts = conditions_of(package, name, version)
    return {each.sentence: ast.literal_eval(each.condition) for each in facts if each.kind == "default"}


@lru_cache(maxsize=256)
def _at(package: str, name: str, position: int) -> tuple[Condition, ...]:
    return tuple(
        condition
        for condition, stretches in _rows(package, name)
        if any(start <= position < end for start, end in stretches)
    )


@lru_cache(maxsize=64)
def releases_of(package: str, name: str) -> dict[Condition, frozenset[str]]:
    """Every fact of a class in any release, with the releases that have it."""
    known = recorded_releases(package)
    return {
        condition: frozenset(version for start, end in stretches for version in known[start:end])
        for condition, stretches in _rows(package, name)
    }


@lru_cache(maxsize=256)
def _rows(package: str, name: str) -> tuple[tuple[Condition, tuple[tuple[int, int], ...]], ...]:
    """The facts of a class in any release, each with its stretches of releases as positions."""
    found = []
    kind = sentence = ""
    places, parts = _positions(package), _shared(package)
    for section in _holders(package):
        if name not in section:
            continue  # to look at every line takes much longer, for each class anew
        holder, *lines = section.split("\n")
        is_own = name == owner_of(holder)
        for line in lines:
            if not line.startswith("  "):
                kind, _, sentence = line[1:].partition(" ")
                continue
            condition, _, told = line[2:].partition("\t")
            turns = dict(classes_of(told, holder)).get(name) if is_own or name in told else None
            if turns is not None:
                ends = [places[turn] for turn in turns] + [len(places)] * (len(turns) % 2)
                row = Condition(kind, expanded(condition, parts), expanded(sentence, parts), holder)
                found.append((row, tuple(zip(ends[::2], ends[1::2], strict=True))))
    return tuple(found)


@cache
def _holders(package: str) -> list[str]:
    """What is recorded of each function, beginning with its name."""
    return _text(package).split("\nat ")[1:]


@cache
def _shared(package: str) -> dict[str, str]:
    """Texts that many lines share, by name."""
    return {line[1 : line.index(" ", 1)]: line[line.index(" ", 1) + 1 :] for line in _section(package, "shared")}


@cache
def _positions(package: str) -> dict[str, int]:
    releases = [version for line in _section(package, "releases") for version in line.split()]
    return {version: position for position, version in enumerate(releases)}


def _section(package: str, name: str) -> list[str]:
    """The lines of a section at the head of a file."""
    text = _text(package)
    found = []
    start = text.find(f"\n{name}\n") + len(name) + 2
    while start > len(name) + 1 and text.startswith(" ", start):
        end = text.find("\n", start)
        found.append(text[start:end])
        start = end + 1
    return found


@cache
def _text(package: str) -> str:
    with suppress(FileNotFoundError):
        return read_text(f"conditions/{package}.txt") if package in PACKAGES else ""
    return ""
