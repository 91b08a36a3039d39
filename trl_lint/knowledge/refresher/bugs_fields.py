"""Which names of a condition in `rules/bugs` the releases of its row do not have, by the API histories."""

from __future__ import annotations

import ast
from collections.abc import Callable

from trl_lint.knowledge.api import OPEN, config_keys, facts, resolve, signature
from trl_lint.knowledge.bugs import Bug
from trl_lint.knowledge.command_keys import keys_of
from trl_lint.knowledge.condition_language import parse
from trl_lint.knowledge.condition_names import names_of_node
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.programs import config_of_program
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import Missing

Has = Callable[[str], "bool | None"]  # a dotted name, `arg.x` -> whether a release has it, None if nobody knows

_HF = ("trl", "transformers", "peft", "accelerate")


def lacking(package: str, row: Bug) -> list[tuple[str, str]]:
    """(release, name) for the releases of a row whose condition names what is not there, so that it never holds."""
    tree = parse(row.condition)
    found = []
    for version in releases(package):
        if tree is None or not row.releases or not holds(row.releases, version):
            continue
        missing = [_lacking(tree, has) for place in row.where if (has := _names_at(package, place, version))]
        if missing and all(missing):
            found.append((version, missing[0]))
    return found


def _lacking(node: ast.expr, has: Has) -> str:
    """A name without which an expression is never true, "" if there is none."""
    if isinstance(node, ast.BoolOp):
        parts = [_lacking(part, has) for part in node.values]
        is_and = isinstance(node.op, ast.And)
        return next((part for part in parts if part), "") if is_and or all(parts) else ""
    return next((name for name in names_of_node(node) if has(name) is False), "")


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
            return None
        names = {flag.lstrip("-").replace("-", "_") for flag in flags}
        return lambda name: name in names
    return _of_class(package, place, version)


def _has_key(name: str, known: dict[str, str]) -> bool:
    return name in known or any(key.startswith(f"{name}.") or name.startswith(f"{key}.") for key in known)


def _of_class(package: str, place: str, version: str) -> Has | None:
    versions = {name: releases(name)[-1] for name in _HF if releases(name)}
    versions[package] = version
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
