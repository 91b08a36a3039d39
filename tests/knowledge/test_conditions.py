"""The recorded conditions: their form, their size, and what they say of known releases."""

from __future__ import annotations

import os
import zlib

import pytest

from benchmarks.oracle_worlds import Given
from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.condition_language import CRASH, UNKNOWN, parse, truth_of
from trl_lint.knowledge.condition_shared import expanded
from trl_lint.knowledge.conditions import PACKAGES, conditions_of, has_conditions, is_recorded, recorded_releases
from trl_lint.knowledge.conditions_join import statements
from trl_lint.knowledge.histories import positions
from trl_lint.knowledge.refresher import conditions_coverage
from trl_lint.knowledge.refresher.conditions import Condition
from trl_lint.knowledge.refresher.conditions_shared import share
from trl_lint.knowledge.refresher.conditions_write import History, add_release, render
from trl_lint.knowledge.refresher.conditions_write import parse as parse_file
from trl_lint.knowledge.refresher.tables import read_table

FRAMEWORKS = ("axolotl", "llamafactory", "ms-swift")


def text_of(package: str) -> str:
    with open(os.path.join(rules_dir(), "conditions", f"{package}.txt"), encoding="utf-8") as stream:
        return stream.read()


def test_all_files_are_small() -> None:
    texts = {package: text_of(package).encode() for package in PACKAGES}
    # Of the libraries alone: axolotl, LLaMA-Factory and ms-swift came later.
    libraries = [text for package, text in texts.items() if package not in FRAMEWORKS]
    for shipped, most, most_zipped in ((libraries, 480_000, 90_000), (texts.values(), 640_000, 120_000)):
        assert sum(map(len, shipped)) < most
        assert sum(len(zlib.compress(text, 9)) for text in shipped) < most_zipped


@pytest.mark.parametrize("package", PACKAGES)
def test_a_file_is_what_is_written_again(package: str) -> None:
    text = text_of(package)
    history = parse_file(text)
    assert render(package, history) == text
    assert all(parse(key.condition) is not None for key in history.facts)
    assert set(history.releases) <= set(positions(package))
    counts = read_table("coverage", package)
    coverage = conditions_coverage.parse(counts, history.releases)
    assert conditions_coverage.render(package, coverage, history.releases) == counts


def _condition(text: str, owner: str = "MyConfig", home: str = "pkg.config") -> Condition:
    return Condition(owner, "refuse", "construct", text, "ValueError: no", f"{owner}.__post_init__", 1, "", home)


def test_a_release_is_added() -> None:
    history = History([], {}, {})
    for version, conditions in {"1.0": ["a < 1"], "1.1": [], "1.2": ["a < 1", "b"]}.items():
        history.releases.append(version)
        add_release(history, version, [_condition(each) for each in conditions])
    text = render("pkg", history)
    assert "  a < 1\t~ 1.0 1.1 1.2\n  b\t~ 1.2\n" in text
    assert render("pkg", parse_file(text)) == text
    counts = conditions_coverage.render("pkg", history.coverage, history.releases)
    assert "construct refuse | 1.0 1 1 0 | 1.1 - | 1.2 1 1 0\n" in counts
    assert conditions_coverage.parse(counts, history.releases) == {k: v for k, v in history.coverage.items() if v}


def test_classes_that_say_the_same_in_the_same_releases_stand_together() -> None:
    history = History(["1.0"], {}, {})
    found = [_condition("a < 1", owner, f"pkg.{owner}")._replace(holder="B.check") for owner in "ABCD"]
    add_release(history, "1.0", found)
    history.releases.append("1.1")
    add_release(history, "1.1", found[:3])
    text = render("pkg", history)
    assert "\n  a < 1\tA+~+C 1.0, D 1.0 1.1\n" in text
    assert parse_file(text).facts == history.facts


def test_what_repeats_is_written_once() -> None:
    long = "isinstance(loss_type, (str, list, tuple)) and len(loss_type) == 1 and loss_type[0] in ('sigmoid', 'hinge')"
    conditions = [f"{long} and {name} > 0" for name in "abcd"] + ["label == '$aaaa'", f"not ({long})"]
    sentences = ["ValueError: it costs $k3f, which is more than there is in the whole world of prices"] * 6
    written, told, parts = share(conditions, sentences)
    assert all(len(text) < 40 for text in written)
    assert written[4] == "label == '$$aaaa'" and "$$k3f" in told[0]
    assert [expanded(text, parts) for text in (*written, *told)] == conditions + sentences


def test_two_classes_of_one_name_say_what_both_say() -> None:
    history = History(["1.0"], {}, {})
    found = [_condition("a < 1"), _condition("a < 1", home="pkg.old"), _condition("b", home="pkg.old")]
    add_release(history, "1.0", found)
    assert [key.condition for key in history.facts] == ["a < 1"]


class Defaults(Given):
    """A world in which nobody wrote anything but what is given, and little is known of the machine."""

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        if name == "installed":
            return arguments[0] in ("torch", "accelerate") or UNKNOWN
        return {"num_processes": 1}.get(name, UNKNOWN)


def refused(config: str, versions: dict[str, str], **given: object) -> list[str]:
    """The sentences by which these releases refuse a config with these values, as far as that is known."""
    package, _, name = config.rpartition(".")
    world = Defaults(config, versions, given)
    return [
        each.condition.sentence
        for each in statements(package, name, versions, world)
        if each.condition.kind == "refuse" and truth_of(each.condition.condition, each.world) is True
    ]


NEWEST = {"trl": "1.16.0", "transformers": "5.23.0"}
OLD = {"trl": "0.19.1", "transformers": "4.52.4"}


@pytest.mark.parametrize(
    ("config", "versions", "given", "begins"),
    [
        ("trl.GRPOConfig", NEWEST, {"num_generations": 1}, "ValueError: GRPO requires at least 2 generations"),
        ("trl.GRPOConfig", NEWEST, {"num_generations": 3}, "ValueError: generation_batch_size ({}) must be divisible"),
        ("trl.GRPOConfig", NEWEST, {"generation_batch_size": 8, "steps_per_generation": 2},
         "ValueError: 'generation_batch_size' and 'steps_per_generation' can not be both"),
        ("trl.GRPOConfig", OLD, {"num_generations": 3}, "ValueError: The effective train batch size"),
        ("trl.SFTConfig", NEWEST, {"eval_strategy": "sometimes"}, "ValueError: {eval_strategy} is not a valid"),
        ("trl.SFTConfig", NEWEST, {"fp16": True, "bf16": True}, "ValueError: At most one of fp16 and bf16"),
        ("transformers.TrainingArguments", OLD, {"eval_strategy": "steps", "eval_steps": 0, "logging_steps": 0},
         "ValueError: evaluation strategy"),
    ],
)  # fmt: skip
def test_known_refusals(config: str, versions: dict[str, str], given: dict[str, object], begins: str) -> None:
    found = refused(config, versions, **given)
    assert any(each.startswith(begins.split("{")[0]) for each in found), found


@pytest.mark.parametrize(
    ("config", "versions", "given"),
    [
        ("trl.GRPOConfig", NEWEST, {"num_generations": 4}),
        ("trl.GRPOConfig", NEWEST, {"generation_batch_size": 16}),
        ("trl.GRPOConfig", NEWEST, {"steps_per_generation": 2}),
        ("trl.SFTConfig", NEWEST, {"eval_strategy": "steps", "eval_steps": 10, "loss_type": "nll"}),
        ("trl.SFTConfig", NEWEST, {"fp16": True}),
        ("trl.SFTConfig", OLD, {"bf16": False}),
        ("trl.NoSuchConfig", NEWEST, {"a": 1}),
        ("trl.GRPOConfig", {"trl": "99.0"}, {"num_generations": 1}),
    ],
)
def test_what_is_accepted(config: str, versions: dict[str, str], given: dict[str, object]) -> None:
    assert refused(config, versions, **given) == []


def test_the_configs_of_the_newest_trl_are_expressed_in_full() -> None:
    counts = conditions_coverage.statements("trl", "1.16.0", recorded_releases("trl"))
    every, full, _ = counts["construct refuse"]
    assert full == every >= 75
    every, full, _ = counts["construct warn"]
    assert full == every >= 16


def test_the_reader() -> None:
    assert is_recorded("trl", "1.16.0")
    assert not is_recorded("trl", "99.0")
    assert not is_recorded("../trl", "1.16.0")
    assert has_conditions("trl", "GRPOConfig")
    assert not has_conditions("trl", "GRPO")
    assert conditions_of("trl", "GRPOConfig", "99.0") == ()
    (base,) = [each for each in conditions_of("trl", "GRPOConfig", "1.16.0") if each.kind == "base"]
    assert base.sentence == "transformers:TrainingArguments"


def test_a_crash_is_no_refusal_but_told_apart() -> None:
    world = Defaults("trl.GRPOConfig", NEWEST, {"num_generations": "8"})
    found = [truth_of(each.condition.condition, each.world) for each in statements("trl", "GRPOConfig", NEWEST, world)]
    assert any(each is CRASH for each in found)
