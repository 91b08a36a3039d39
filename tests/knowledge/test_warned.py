"""What the warnings of releases say, and that no release is told of for its own defaults."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from benchmarks.oracle_worlds import Given
from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.api import signature
from trl_lint.knowledge.condition_language import UNKNOWN, truth_of
from trl_lint.knowledge.conditions import _positions, conditions_of, recorded_classes
from trl_lint.knowledge.conditions_join import Statement, statements, trainer_statements
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.refresher.conditions_write import parse
from trl_lint.knowledge.warned import warned, warned_of

SILENT = ("none", "elsewhere")
# Beside which transformers a trl of a range is asked: one that it takes.
BESIDE = {"<0.9.6": "4.40.2", "<0.16": "4.46.3", "<0.22": "4.52.4", "<1.5": "4.57.6", ">=1.5": "5.23.0"}
# These refuse their own defaults: a server must be named.
WITHOUT_DEFAULTS = {"ServerDistillationConfig"}


def text_of(package: str) -> str:
    return (Path(rules_dir()) / "conditions" / f"{package}.txt").read_text(encoding="utf-8")


def sentences() -> set[str]:
    keys = (key for package in ("trl", "transformers") for key in parse(text_of(package)).facts)
    return {key.sentence for key in keys if key.kind in ("warn", "trainer-warn")}


def test_every_warning_of_every_release_is_judged() -> None:
    found = sentences()
    assert len(found) > 250
    assert [each for each in found if warned_of(each) is None] == []


@pytest.mark.parametrize("row", warned(), ids=lambda row: row.effect)
def test_the_evidence_of_a_row_says_such_a_sentence(row) -> None:
    for evidence in row.evidence:
        name, version = evidence.split()
        package = "transformers" if version in _positions("transformers") else "trl"
        told = [each.sentence for each in conditions_of(package, name, version) if each.kind.endswith("warn")]
        assert any(warned_of(each) is row for each in told), evidence


@pytest.mark.parametrize(
    ("sentence", "effect"),
    [
        ("warning: The `label_smoothing` parameter will be ignored. Set", "ignored"),
        (
            "FutureWarning: `tools` is deprecated and will be removed. In 0.29 this argument will be ignored",
            "elsewhere",
        ),
        ("FutureWarning: The `'keep_end'` truncation mode is deprecated and will be removed in v2.0.0.", "deprecated"),
        ("warning: something new", None),
    ],
)
def test_a_sentence_is_judged_by_its_words(sentence: str, effect: str | None) -> None:
    found = warned_of(sentence)
    assert (found.effect if found is not None else None) == effect


class Defaults(Given):
    """A world in which nobody wrote anything, and little is known of the machine."""

    def __init__(self, name: str, versions: dict[str, str]) -> None:
        super().__init__(f"trl.{name}", versions, {})
        for home in homes().get(name, ()):
            if self.signature is None or not self.signature.parameters:
                self.signature = signature(home, versions)

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        if name == "installed":
            return arguments[0] in ("torch", "accelerate") or UNKNOWN
        if name == "version":
            return self.versions.get(str(arguments[0]), UNKNOWN)
        return 1 if name == "num_processes" else UNKNOWN


@cache
def homes() -> dict[str, list[str]]:
    """Where the config classes of trl are defined, by name: `module:Name`."""
    text = (Path(rules_dir()) / "api" / "trl.txt").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for reference, name in re.findall(r"^class (trl[\w.]*:(\w+Config))", text, re.MULTILINE):
        found.setdefault(name, []).append(reference)
    return found


def spoken(name: str, versions: dict[str, str]) -> list[Statement]:
    if not name.endswith("Trainer"):
        return list(statements("trl", name, versions, Defaults(name, versions)))
    config = name.removesuffix("Trainer") + "Config"
    return list(trainer_statements("trl", name, f"trl.{config}", versions, Defaults(config, versions)))


@pytest.mark.parametrize("version", list(_positions("trl")))
def test_nothing_is_told_of_defaults(version: str) -> None:
    """Of every class and trainer of every release: not one refusal, and no warning that would be told."""
    versions = {"trl": version, "transformers": next(new for old, new in BESIDE.items() if holds(old, version))}
    asked = 0
    for name in recorded_classes("trl"):
        for statement in spoken(name, versions):
            told = statement.condition
            asked += 1
            found = warned_of(told.sentence) if told.kind.endswith("warn") else None
            if (found is not None and found.effect in SILENT) or name in WITHOUT_DEFAULTS:
                continue
            assert truth_of(told.condition, statement.world) is not True, (name, told)
    assert asked > 30


@pytest.mark.parametrize("version", list(_positions("transformers")))
def test_nothing_is_told_of_the_defaults_of_transformers(version: str) -> None:
    versions = {"transformers": version}
    for name in ("TrainingArguments", "Seq2SeqTrainingArguments"):
        world = Defaults(name, versions)
        world.signature = signature(f"transformers.training_args:{name}", versions)
        for statement in statements("transformers", name, versions, world):
            found = warned_of(statement.condition.sentence) if statement.condition.kind == "warn" else None
            if found is None or found.effect not in SILENT:
                assert truth_of(statement.condition.condition, statement.world) is not True, statement.condition
