"""Which names of a condition in `rules/bugs` the releases of its row do not have, by the API histories."""

from __future__ import annotations

import ast
from collections.abc import Callable

from trl_lint.knowledge.api import OPEN, config_keys, facts, resolve, signature
from trl_lint.knowledge.bugs import Bug
from trl_lint.knowledge.command_keys import defaults_of, keys_of
from trl_lint.knowledge.condition_language import UNKNOWN, Block, parse, truth_of
from trl_lint.knowledge.condition_names import dotted_names, names_of_node
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.programs import config_of_program, programs
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import ABSENT, Missing

Has = Callable[[str], "bool | None"]  # a dotted name, `arg.x` -> whether a release has it, None if nobody knows

_HF = ("trl", "transformers", "peft", "accelerate")


def lacking(package: str, row: Bug) -> list[tuple[str, str]]:
    """(release, name) for the releases of a row whose condition names what is not there, so that it never holds."""
    tree = parse(row.condition)
    found = []
    for version in releases(package):
        if tree is None or not row.releases or not holds(row.releases, version):
            continue
        missing = [_lacking(tree, has) for place in places_of(row) if (has := _names_at(package, place, version))]
        if missing and all(missing):
            found.append((version, missing[0]))
    return found


def places_of(row: Bug) -> tuple[str, ...]:
    """The places of `where`, each program for those of a package together."""
    found: list[str] = []
    for place in row.where:
        package = place.partition(".")[0]
        is_open = place.endswith(".*") and package in ("openrlhf", "verl")
        found += sorted(name for name in programs(package) if name.startswith(place[:-1])) if is_open else [place]
    return tuple(found)


def _lacking(node: ast.expr, has: Has) -> str:
    """A name without which an expression is never true, "" if there is none."""
    if isinstance(node, ast.BoolOp):
        parts = [_lacking(part, has) for part in node.values]
        is_and = isinstance(node.op, ast.And)
        return next((part for part in parts if part), "") if is_and or all(parts) else ""
    return next((name for name in names_of_node(node) if has(name) is False), "")


def needed_words(package: str, row: Bug) -> tuple[str, ...]:
    """Names of which a project writes one where the condition is true, without blocks; none where none has to be."""
    tree = parse(row.condition)
    if tree is None:
        return ()
    versions = [version for version in releases(package) if row.releases and holds(row.releases, version)]
    is_and = isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And)
    best: tuple[str, ...] = ()
    for part in tree.values if isinstance(tree, ast.BoolOp) and is_and else [tree]:
        text = ast.unparse(part)
        words = tuple(dict.fromkeys(name.rpartition(".")[2] for name in dotted_names(text)))
        if not versions or "arg." in text or not words or (best and len(words) >= len(best)):
            continue
        worlds = (
            _Defaults(package, place, version, row)
            for place in places_of(row)
            for version in versions
            if (has := _names_at(package, place, version)) is None or not _lacking(part, has)
        )
        if all(truth_of(text, world) is False for world in worlds):
            best = words
    return best


class _Defaults:
    """A world in which nobody sets anything."""

    def __init__(self, package: str, place: str, version: str, row: Bug) -> None:
        self._texts = _defaults_at(package, place, version)
        self._known = row.defaults

    def _value(self, name: str) -> object:
        if name in self._known:
            return self._known[name]
        text = self._texts.get(name) if self._texts is not None else None
        if text is None:
            below = {key.removeprefix(f"{name}.") for key in self._texts or () if key.startswith(f"{name}.")}
            return _Inner(name, self) if below else UNKNOWN
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return UNKNOWN

    def field(self, name: str) -> object:
        return self._value(name)

    def base(self, name: str) -> object:
        return UNKNOWN

    def arg(self, name: str) -> object:
        return UNKNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return UNKNOWN


class _Inner(Block):
    """A block of settings, each asked for by its dotted name."""

    def __init__(self, path: str, world: _Defaults) -> None:
        super().__init__(path, {})
        self._world = world

    def get(self, key: object, default: object = None) -> object:
        return self._world._value(f"{self.path}.{key}")


def _defaults_at(package: str, place: str, version: str) -> dict[str, str] | None:
    """The texts of the defaults at a place of `where`; None where they are not recorded."""
    if place.endswith(" config"):
        return None
    if " " in place:
        name, command = place.split()
        found = defaults_of(name, command, version) if name == package else {}
        return {key: text for key, text in found.items() if text is not None}
    if place.startswith("verl."):
        known = config_keys("verl", config_of_program(place, version), version)
        return None if isinstance(known, Missing) else known
    if place.startswith("openrlhf."):
        flags = facts("openrlhf", f"flags {place}", version)
        told = {} if isinstance(flags, Missing) else flags
        return {name.lstrip("-").replace("-", "_"): text.partition(" ")[0] for name, text in told.items()}
    versions = {name: releases(name)[-1] for name in _HF if releases(name)}
    versions[package] = version
    target = resolve(config_of(place), versions)
    known_of = signature(target, versions).parameters if isinstance(target, str) else {}
    return {name: one.default for name, one in known_of.items() if one.default is not None}


def _names_at(package: str, place: str, version: str) -> Has | None:
    """What a place of `where` takes in a release; None where that is not recorded."""
    if place.endswith(" config"):
        return None
    if " " in place:
        keys = keys_of(place.partition(" ")[0], place.partition(" ")[2], version)
        return None if keys is None else lambda name: keys.takes(name.partition(".")[0], ())
    if place.startswith("verl."):
        known = config_keys("verl", config_of_program(place, version), version)
        return None if isinstance(known, Missing) else lambda name: _has_key(name, known)
    if place.startswith("openrlhf."):
        flags = facts("openrlhf", f"flags {place}", version)
        if isinstance(flags, Missing):
            return (lambda name: False) if flags is ABSENT else None
        names = {flag.lstrip("-").replace("-", "_") for flag in flags}
        return lambda name: name in names
    return _of_class(package, place, version)


def _has_key(name: str, known: dict[str, str]) -> bool:
    return name in known or any(key.startswith(f"{name}.") or name.startswith(f"{key}.") for key in known)


def _of_class(package: str, place: str, version: str) -> Has | None:
    versions = {name: releases(name)[-1] for name in _HF if releases(name)}
    versions[package] = version
    if resolve(place, versions) is ABSENT:
        return lambda name: False
    config = config_of(place)
    known = signature(found, versions) if isinstance(found := resolve(config, versions), str) else OPEN
    trainer = signature(own, versions) if isinstance(own := resolve(place, versions), str) else OPEN

    def has(name: str) -> bool | None:
        owner = trainer if name.startswith("arg.") else known
        return True if name.removeprefix("arg.") in owner.parameters else None if owner.open else False

    return has


def config_of(place: str) -> str:
    """The class whose arguments a condition names: of a trainer that of its config."""
    if not place.endswith("Trainer"):
        return place
    if place.startswith("transformers."):
        return "transformers.Seq2SeqTrainingArguments" if "Seq2Seq" in place else "transformers.TrainingArguments"
    return f"{place.removesuffix('Trainer')}Config"
