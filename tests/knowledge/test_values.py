"""The texts that trainers know of a field: read from small sources, and the hand-written rows against what was read."""

from __future__ import annotations

import ast
import re

import pytest

from trl_lint.knowledge.conditions import conditions_of
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.refresher.choices import Choice, choices_of
from trl_lint.knowledge.refresher.choices_build import facts_of, render
from trl_lint.knowledge.values import Listed, Spelling, by_hand, facts, releases_of, value_rules

CONFIGS = ("GRPOConfig", "RLOOConfig", "DPOConfig", "SFTConfig", "CPOConfig", "OnlineDPOConfig", "XPOConfig")
SOURCE = """
class T:
    def __init__(self, args):
        if args.use_vllm:
            if self.mode == "server":
                pass
            elif self.mode == "colocate":
                pass
            else:
                raise ValueError("mode")

    def step(self, loss_type="a"):
        for loss in self.losses:
            if loss in ["a", "b"]:
                x = 1
            elif loss == "c" or loss == "d":
                x = 2
            else:
                raise ValueError(f"Unknown {loss}")
        if self.kind == "a" and self.other:
            pass
        else:
            raise ValueError("not a list of values")
        if self.kind == "a":
            pass
        elif self.size > 3:
            pass
        else:
            raise ValueError("neither is this")
        if self.kind == "a":
            pass
        elif self.kind == "b":
            pass


def pack(strategy):
    if strategy == "bfd":
        return 1
    elif strategy == "wrapped":
        return 2
    else:
        raise ValueError(strategy)
"""


def test_chains_that_end_in_a_raise_are_read_and_no_others():
    assert choices_of({"m.py": ast.parse(SOURCE)}) == [
        Choice("T", "mode", ("server", "colocate"), "__init__", ("use_vllm",)),
        Choice("T", "loss", ("a", "b", "c", "d"), "step", ()),
        Choice("pack", "strategy", ("bfd", "wrapped"), "pack", ()),
    ]


def test_what_one_of_two_chains_does_not_know_is_refused():
    first, second = Choice("T", "x", ("a", "b", "c"), "step", ()), Choice("T", "x", ("c", "a"), "step", ())
    assert facts_of([first, second]) == {("T", "x", "step", ()): ("a", "c")}


def test_a_line_tells_the_releases_of_a_fact():
    key = ("T", "x", "step", ("use_vllm",))
    text = render([("1.0", {key: ("a",)}), ("1.1", {key: ("a", "b")}), ("1.2", {key: ("a", "b")})])
    assert text == "releases 1.0 1.1 1.2\nT.x step use_vllm a | 1.0 1.1\nT.x step use_vllm a,b | 1.1\n"


@pytest.mark.parametrize("row", by_hand().listed, ids=lambda row: f"{row.config}.{row.field}")
def test_no_release_says_otherwise_than_a_row_by_hand(row: Listed):
    trainer = row.config.removeprefix("trl.").removesuffix("Config") + "Trainer"
    for fact in facts("trl"):
        is_same = (fact.holder, fact.name) == (trainer, row.field)
        if is_same and any(holds(row.releases, version) for version in fact.releases):
            assert set(fact.values) == set(row.allowed), fact


def test_the_functions_that_ask_by_another_name_are_recorded():
    asked = {f"{fact.holder}.{fact.name}" for fact in facts("trl")}
    assert {row.asks for row in by_hand().elsewhere} <= asked


@pytest.mark.parametrize("row", by_hand().spelling, ids=lambda row: f"{row.config}.{row.field} {row.releases}")
def test_a_spelling_stands_in_the_code_of_its_config(row: Spelling):
    name = row.config.removeprefix("trl.")
    for version in (one for one in releases_of("trl") if holds(row.releases, one)):
        text = " ".join(f"{one.condition} {one.sentence}" for one in conditions_of("trl", name, version))
        for value in row.values:
            assert row.read_in or value in text, (version, value)


def test_a_value_that_a_config_turns_into_another_is_allowed():
    for name in CONFIGS:
        for rule in value_rules(f"trl.{name}"):
            for version in rule.releases:
                for one in conditions_of("trl", name, version):
                    if one.kind in ("before", "after") and one.sentence == rule.field:
                        turned = re.findall(rf"\b{rule.field} == '([^']+)'", one.condition)
                        assert set(turned) <= set(rule.allowed), (name, rule.field, version)


def test_no_value_is_allowed_that_a_release_refuses():
    for name in CONFIGS:
        trainer = name.replace("Config", "Trainer")
        for rule in value_rules(f"trl.{name}"):
            for version in rule.releases:
                said = [*conditions_of("trl", name, version), *conditions_of("trl", trainer, version)]
                for one in said:
                    refused = re.fullmatch(rf"{rule.field} == '([^']+)'", one.condition)
                    if "refuse" in one.kind and refused:
                        assert refused[1] not in rule.allowed, (name, version, refused[1])


@pytest.mark.parametrize(
    ("config", "field", "version", "known", "unknown"),
    [
        ("trl.DPOConfig", "loss_type", "0.14.0", "sigmoid", "kto_pair"),
        ("trl.DPOConfig", "loss_type", "0.28.0", "aot_pair", "sigmoid_norm"),
        ("trl.DPOConfig", "loss_type", "1.3.0", "aot_unpaired", "aot_pair"),
        ("trl.GRPOConfig", "loss_type", "1.16.0", "vespo", "gspo"),
        ("trl.GRPOConfig", "multi_objective_aggregation", "1.0.0", "normalize_then_sum", "sum"),
        ("trl.SFTConfig", "packing_strategy", "1.16.0", "bfd-requeue", "ffd"),
        ("trl.RLOOConfig", "vllm_mode", "0.29.0", "server", "local"),
    ],
)
def test_what_a_release_knows(config: str, field: str, version: str, known: str, unknown: str):
    (rule,) = (rule for rule in value_rules(config) if rule.field == field and version in rule.releases)
    assert known in rule.allowed and unknown not in rule.allowed
