"""The table of remedies agrees with the histories: what is gone is gone, and what to use instead is there."""

from __future__ import annotations

import re
from functools import cache

import pytest

from trl_lint.knowledge.api import config_keys, deprecation, facts, member, resolve, signature
from trl_lint.knowledge.histories import _starts, releases
from trl_lint.knowledge.names import definition, positions
from trl_lint.knowledge.remedies import (
    KINDS,
    Remedy,
    releases_of,
    remedies,
    remedy_in,
    remedy_of_argument,
    remedy_of_name,
)
from trl_lint.knowledge.renames import moves, renames
from trl_lint.missing import Missing

NEWEST = {p: releases(p)[-1] for p in ("trl", "transformers", "accelerate", "peft", "vllm", "verl", "openrlhf")}
ROWS = remedies()
SOURCE = re.compile(r"https://github\.com/[\w-]+/[\w-]+/(?:blob/v[\w.]+/[\w/.]+|pull/\d+)\Z")
TOKEN = re.compile(r"`([^`]+)`")


@cache
def symbols(package: str, name: str) -> tuple[str, ...]:
    """The definitions of a class or function of that name, wherever they stand; `Class.method` keeps its method."""
    owner, dot, method = name.partition(".")
    found = [start for start in _starts(package) if start.endswith(f":{owner}") and not start.startswith("module ")]
    return tuple(start.partition(" ")[2] + dot + method for start in found)


def with_release(row: Remedy, version: str) -> dict[str, str]:
    return {**NEWEST, row.package: version}


def exists(symbol: str, version: str) -> bool:
    package = symbol.partition(":")[0].partition(".")[0]
    owner, _, method = symbol.partition(":")[2].partition(".")
    at = positions(package)[version]
    reference = f"{symbol.partition(':')[0]}:{owner}"
    if definition(reference, at) is None:
        return False
    return not method or isinstance(member(reference, method, {**NEWEST, package: version}), str)


def is_taken(symbol: str, name: str, versions: dict[str, str]) -> bool | None:
    found = signature(symbol, versions)
    parameter = found.parameters.get(name)
    if parameter is not None:
        return not parameter.deprecated
    return None if found.open else False


def has_name(row: Remedy, home: str, name: str, version: str) -> bool:
    """Whether a module, or one inside it, has a name that it does not announce to drop."""
    versions = {row.package: version}
    for start in _starts(row.package):
        kind, _, module = start.partition(" ")
        if kind == "module" and f"{module}.".startswith(f"{home}."):
            found = resolve(f"{module}.{name}", versions)
            # What a function of that name would have below it is nobody's name.
            is_name = found and "." not in found.partition(":")[2] and not found.endswith(":")
            if is_name and not deprecation(str(found), version):
                return True
    return False


def ids(row: Remedy) -> str:
    return f"{row.package}-{row.of[0]}-{row.names[0]}-{row.releases}"


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_what_is_gone_was_there_and_is_gone(row: Remedy):
    held = releases_of(row)
    for name in row.names:
        for owner in row.of:
            if row.kind in ("argument", "attribute"):
                judge_member(row, owner, name, held)
            elif row.kind == "name":
                was = [v for v in releases(row.package) if v not in held and has_name(row, owner, name, v)]
                assert was, (owner, name)
                assert not any(has_name(row, owner, name, v) for v in (held[0], held[-1])), (owner, name)
            elif row.kind == "module":
                dotted = f"{owner}.{name}".removeprefix(row.package)
                listed = {v: facts(row.package, "modules", v) for v in releases(row.package)}
                assert any(not isinstance(found, Missing) and dotted in found for found in listed.values()), dotted
                assert not any(dotted in listed[v] for v in held), dotted
            else:
                judge_key(row, owner, name, held)


def judge_member(row: Remedy, owner: str, name: str, held: tuple[str, ...]) -> None:
    found = symbols(row.package, owner)
    assert found, owner
    having = {v: [s for s in found if exists(s, v)] for v in releases(row.package)}
    if row.kind == "attribute":
        was = [v for v in having if any(isinstance(member(s, name, with_release(row, v)), str) for s in having[v])]
        assert was, (owner, name)
        assert not set(was) & set(held), (owner, name, was)
    else:
        was = [v for v in having if any(name in signature(s, with_release(row, v)).parameters for s in having[v])]
        assert was, (owner, name)
        for version in held:
            for symbol in having[version]:
                taken = is_taken(symbol, name, with_release(row, version))
                assert taken is False or (taken is None and version not in was), (symbol, name, version, taken)
    assert any(having[v] for v in held), owner


def judge_key(row: Remedy, owner: str, name: str, held: tuple[str, ...]) -> None:
    def known(version: str) -> bool | None:
        if row.kind == "flag":
            found = facts(row.package, f"flags {owner}", version)
            return None if isinstance(found, Missing) else name in found
        keys = config_keys(row.package, owner, version)
        return None if isinstance(keys, Missing) else any(f"{key}.".startswith(f"{name}.") for key in keys)

    assert any(known(v) for v in releases(row.package)), (owner, name)
    assert not any(known(v) for v in held), (owner, name)
    assert any(known(v) is False for v in held), (owner, name)


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_what_to_use_instead_is_there(row: Remedy):
    known = [symbol for owner in row.of for symbol in symbols(row.package, owner)]
    for token in TOKEN.findall(row.do):
        for version in releases_of(row):
            if row.kind in ("argument", "attribute") and not any(exists(symbol, version) for symbol in known):
                continue  # the class itself is gone: nobody is told about its argument
            assert is_there(token, row, version), (token, version)


def is_there(token: str, row: Remedy, version: str) -> bool:
    versions = with_release(row, version)
    name = token.partition("=")[0]
    if name.startswith("."):
        method = name.strip(".()")
        return any(isinstance(member(s, method, versions), str) for s in owners(row, version))
    if row.kind in ("key", "flag"):
        return is_in_config(name, row, version)
    # An argument of what the row is about, or of a class that its sentence names.
    if name.isidentifier() and any(takes(s, name, versions) for s in owners(row, version)):
        return True
    return bool(named(name, row, version))


def is_in_config(name: str, row: Remedy, version: str) -> bool:
    for owner in row.of:
        is_flag = row.kind == "flag"
        found = facts(row.package, f"flags {owner}", version) if is_flag else config_keys(row.package, owner, version)
        if not isinstance(found, Missing) and any(f"{key}.".startswith(f"{name}.") for key in found):
            return True
    return False


def takes(symbol: str, name: str, versions: dict[str, str]) -> bool:
    return name in signature(symbol, versions).parameters


def owners(row: Remedy, version: str) -> list[str]:
    """The classes that a sentence may speak of: the row's own, the trainer of a config, and those it names."""
    names = list(row.of) if row.kind in ("argument", "attribute") else []
    names += [name.replace("Config", "Trainer") for name in names if name.endswith("Config")]
    found = [s for name in names for s in symbols(row.package, name) if exists(s, version)]
    for token in TOKEN.findall(row.do):
        if token.replace(".", "").isidentifier() and not token.startswith("."):
            found += named(token, row, version)
    return found


def named(name: str, row: Remedy, version: str) -> list[str]:
    """What a name or a dotted name means in a release; a bare name may be any public one of the package."""
    versions = with_release(row, version)
    beside = (f"{row.package}.{home}.{name}" for home in HOMES.get(row.package, ()))
    for dotted in (name, f"{row.package}.{name}", *beside):
        found = resolve(dotted, versions) if dotted.partition(".")[0] in versions else ""
        if found and not isinstance(found, Missing):
            return [str(found)]
    listed = facts(row.package, "modules", version)
    is_module = not isinstance(listed, Missing) and name.removeprefix(row.package) in listed
    return [f"{name}:"] if is_module else []


# Where a class is found once its name at the top is gone.
HOMES = {"trl": tuple(f"experimental.{home}" for home in ("ppo", "bco", "cpo", "kto", "nash_md"))}


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_a_remedy_is_no_rename_that_is_fixed(row: Remedy):
    """Where a fix writes the new name, the message says so, and a row would say it otherwise."""
    fixed = {(r.package, owner, r.old): (owner, (r.new,)) for r in renames() if r.same for owner in r.of}
    fixed |= {(m.package, m.trainer, name): (m.config, new) for m in moves() for name, new in m.arguments.items()}
    for key in [(row.package, owner, name) for owner in row.of for name in row.names]:
        owner, new = fixed.get(key, ("", ()))
        for version in releases_of(row) if row.kind == "argument" else ():
            having = [s for s in symbols(row.package, owner) if exists(s, version)]
            assert not any(takes(s, name, with_release(row, version)) for s in having for name in new), (key, version)


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_a_row_reads_well_and_says_where_from(row: Remedy):
    assert row.do[0].islower() and not row.do.endswith(".") and len(row.do) <= 140
    assert row.do.count("`") % 2 == 0 and row.do.count('"') % 2 == 0
    assert all(SOURCE.match(one) for one in row.evidence)


def test_no_two_rows_are_for_the_same():
    seen: dict[tuple[str, str, str, str, str], Remedy] = {}
    for row in ROWS:
        for owner in row.of:
            for name in row.names:
                for version in releases_of(row):
                    key = (row.package, row.kind, owner, name, version)
                    assert key not in seen, (row, seen[key])
                    seen[key] = row
    assert len(ROWS) >= 60
    assert {row.kind for row in ROWS} <= set(KINDS)


def test_a_row_for_a_base_counts_below_it_and_only_in_its_releases():
    assert remedy_of_argument("trl.GRPOConfig", "adafactor", NEWEST) == 'set `optim="adafactor"`'
    assert remedy_of_argument("trl.SFTConfig", "max_prompt_length", NEWEST) == ""
    assert "dataset" in remedy_of_argument("trl.GRPOConfig", "max_prompt_length", NEWEST)
    assert remedy_of_argument("trl.GRPOConfig", "max_prompt_length", {**NEWEST, "trl": "0.25.0"}) == ""
    assert remedy_of_argument("trl.GRPOConfig", "max_prompt_length", NEWEST, "attribute")
    assert remedy_of_argument("vllm.LLM.generate", "prompt_token_ids", NEWEST)
    assert remedy_of_argument("vllm.LLM", "prompt_token_ids", NEWEST) == ""


def test_a_row_for_a_module_counts_inside_it():
    assert remedy_of_name("trl.trainer.utils", "DataCollatorForCompletionOnlyLM", NEWEST)
    assert remedy_of_name("trl", "DataCollatorForCompletionOnlyLM", {"trl": "0.16.0"}) == ""
    assert remedy_of_name("trlx", "DataCollatorForCompletionOnlyLM", NEWEST) == ""
    assert remedy_in("module", "transformers", "deepspeed", NEWEST)
    assert remedy_in("module", "transformers.integrations", "deepspeed", NEWEST) == ""
