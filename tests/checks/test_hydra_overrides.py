"""Overrides of real verl scripts: what is said about them is what Hydra said (tests/oracle/hydra_overrides.py)."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from trl_lint.knowledge.api import config_keys
from trl_lint.knowledge.programs import config_of_engine, config_of_program, programs, successors
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project.launches import read_launches
from trl_lint.run.readers.hydra import (
    MISSING,
    Override,
    apply_all,
    copied,
    find,
    put,
    read_command_line,
    read_value,
    tree_of,
)
from trl_lint.run.readers.hydra import _read_override as read_override
from trl_lint.run.readers.verl import tree_in_release
from trl_lint.sources.files import open_file
from trl_lint.sources.shell import Word

ORACLE = json.loads((Path(__file__).parents[1] / "oracle" / "hydra_overrides.json").read_text(encoding="utf-8"))


def override(text: str) -> Override:
    found = read_override(Word(text, text, 0, len(text)))
    assert found is not None
    return found


def test_the_oracle_has_seen_both_verdicts() -> None:
    assert len(ORACLE["cases"]) > 400
    assert sum(bool(case["refused"]) for case in ORACLE["cases"]) > 150


def test_verdicts_of_hydra() -> None:
    """Every key that Hydra refuses, and no other, in every command on every release."""
    for case in ORACLE["cases"]:
        words = [ORACLE["words"][number] for number in case["words"]]
        overrides = [override(word) for word in words]
        tree = tree_in_release(config(case, overrides), case["on"])
        assert tree is not None
        refused = Counter(overrides[index].word.text for index, _ in apply_all(copy.deepcopy(tree), overrides))
        expected = Counter(ORACLE["words"][number] for number in case["refused"])
        assert refused == expected, (case["from"], case["on"])


def config(case: dict[str, Any], overrides: list[Override]) -> str:
    engines = [each.value for each in overrides if each.key == "model_engine"]
    has_engines = bool(config_of_engine("dp", case["on"]))
    return config_of_engine(str(engines[0]), case["on"]) if engines and has_engines else str(case["config"])


TREE = {"a": {"b": 1, "none": None, "empty": {}, "list": [], "unknown": UNKNOWN, "must": MISSING}}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a.b=2", None),
        ("a.c=2", "override"),
        ("a.b.c=2", "override"),
        ("a.none=2", None),
        ("a.none.x=2", "override"),
        ("a.empty.x=2", "override"),
        ("+a.empty.x=2", None),
        ("+a.b=2", "append"),
        ("+a.b={x: 1}", None),
        ("+a.empty=2", "append"),
        ("+a.none=2", None),
        ("+a.must=2", None),
        ("+a.b.c=2", None),
        ("++a.b=2", None),
        ("++x.y=2", None),
        ("~a.b", None),
        ("~a.c", "delete"),
        ("~a.none", "delete"),
        ("a.list.0=1", None),
        ("+a.unknown=1", None),
        ("a.unknown.x=1", None),
    ],
)
def test_one_override(text: str, fault: str | None) -> None:
    """Each verdict was asked of hydra-core 1.3.2, but for those about unknown values, which are never faults."""
    found = dict(apply_all(copy.deepcopy(TREE), [override(text)]))
    assert found.get(0) == fault


def test_overrides_build_on_each_other() -> None:
    lines = ["+x.y=1", "x.y=2", "x.z=3", "~x", "x.y=4"]
    assert dict(apply_all({}, [override(line) for line in lines])) == {2: "override", 4: "override"}


def test_what_may_be_given_is_no_fault() -> None:
    maybe = override("+a.c=1")._replace(is_certain=False)
    tree = copy.deepcopy(TREE)
    assert not list(apply_all(tree, [maybe, override("a.c=2")]))
    assert find(tree, "a.c") == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1e-6", 1e-6), ("true", True), ("null", None), ("'x'", "x"), ("vllm", "vllm"), (None, UNKNOWN)],
)
def test_values(text: str | None, value: object) -> None:
    assert read_value(text) == value


def test_lists_and_interpolations_are_unknown() -> None:
    assert all(read_value(text) is UNKNOWN for text in ("[1,2]", "{a:1}", "${x}", "1,2"))


def test_a_tree_of_a_history() -> None:
    tree = tree_of({"a": "{}", "a.b": "'???'", "c": "`${…}`", "d": "None", "e": "[1]"})
    assert (find(tree, "a.b"), find(tree, "c"), find(tree, "d"), find(tree, "e")) == (MISSING, UNKNOWN, None, [])
    put(tree, "d.x", 1)
    assert find(tree, "d.x") == 1
    assert find(tree, "f") is ABSENT


def test_programs_have_the_configs_that_are_recorded() -> None:
    assert "verl.trainer.main_ppo" in programs("verl")
    assert config_of_program("verl.trainer.main_ppo", "0.9.1") == "ppo_trainer"
    assert config_of_program("verl.trainer.main_generation", "0.9.1") == ""
    assert config_of_engine("megatron", "0.7.1") == ""  # 0.7.1 has no such file, whatever is told
    for name in ("dp", "veomni", "torchtitan", "megatron"):
        assert config_keys("verl", config_of_engine(name, "0.9.1"), "0.9.1")


def test_successors_came_when_their_keys_went() -> None:
    """A row is true if some release had the old key and a later one has the new key and not the old."""
    import tomli

    table = tomli.loads((Path(__file__).parents[2] / "rules/commands/verl.toml").read_text(encoding="utf-8"))
    from trl_lint.knowledge.histories import releases

    for row in table["rename"]:
        old = [find(tree, row["old"]) is not ABSENT for tree in trees(releases("verl"))]
        new = [all(find(tree, each) is not ABSENT for each in row["new"]) for tree in trees(releases("verl"))]
        went = next(n for n in range(1, len(old)) if old[n - 1] and not old[n])
        assert new[went], row
        assert successors("verl", row["old"])[: len(row["new"])] == tuple(row["new"])


def trees(versions: tuple[str, ...]) -> list[dict[str, Any]]:
    return [tree_in_release("ppo_trainer", version) or {} for version in versions]


HEAD = "python3 -m verl.trainer.main_ppo a.b=1 $EXTRA c=2\n"


@pytest.mark.parametrize(
    ("assignments", "expected"),
    [
        ("EXTRA=\nif x; then EXTRA='+d=1 ~e'; fi\n", None),  # a deletion has no `=`
        ("EXTRA=\nif x; then EXTRA='+d=1 f=$F'; fi\n", ["a.b", "+d", "f", "c"]),
        ('EXTRA=()\nif x; then EXTRA+=(+d=1 "f=$F"); fi # EXTRA\n', ["a.b", "+d", "f", "c"]),
        ("EXTRA=''\nif x; then EXTRA=$1; fi\n", None),
        ("EXTRA=''\nif x; then EXTRA=\"$EXTRA +d=1\"; fi\n", None),
        ("EXTRA=''\nread EXTRA\n", None),
        ("for EXTRA in +d=1 +e=1; do\n", None),
        ("", None),
    ],
)
def test_what_a_variable_may_hold(assignments: str, expected: list[str] | None) -> None:
    end = "done\n" if assignments.startswith("for") else ""
    (launch,) = read_launches(open_file("/nowhere/run.sh", (assignments + HEAD + end).encode()))
    line = read_command_line(launch)
    assert (None if line is None else [each.head for each in line.overrides]) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a=1 --config-name=x.yaml", ("x", "", False)),
        ("--config-name x -cp conf a=1", ("x", "conf", False)),
        ('a=1 "$@"', ("", "", True)),
        ('"$@" a=1', None),
        ('a=1 "$@" b=2', ("", "", True)),
        ("a=1 $@ b=<path> c=$X", ("", "", True)),
        ("a=1 $* --config-name x", ("x", "", True)),
        ("a=1 --config-name x $@ $MORE", None),
        ("a=1 --multirun", None),
        ("a=1 ...", None),
        ("hydra.searchpath=[file://x] a=1", None),
        ("hydra.run.dir=x a=1", ("", "", False)),
        ("a=$A $B", None),
    ],
)
def test_command_lines(words: str, expected: tuple[str, str, bool] | None) -> None:
    (launch,) = read_launches(open_file("/nowhere/run.sh", f"python3 -m verl.trainer.main_ppo {words}\n".encode()))
    line = read_command_line(launch)
    assert (None if line is None else (line.config_name, line.config_path, line.takes_more)) == expected


def test_a_copy_of_a_tree_shares_nothing_that_a_command_changes():
    tree = tree_of({"data.names": "[]", "data.seed": "1", "trainer.logger.name": "'x'"})
    other = copied(tree)
    assert other == tree
    list(apply_all(other, [Override("+", "trainer.logger.kind", "y", Word("", "", 0, 0), True)]))
    other["data"]["names"].append(1)
    assert tree == tree_of({"data.names": "[]", "data.seed": "1", "trainer.logger.name": "'x'"})
    assert find(other, "trainer.logger.kind") == "y"
