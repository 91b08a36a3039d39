"""The recorded conditions against answers of real installations, which `benchmarks.conditions_oracle` asked."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.conditions_oracle import is_by, refusals, tally_of
from trl_lint.knowledge import conditions, conditions_join

ANSWERS = sorted((Path(__file__).parent / "oracle" / "conditions").glob("*.json"))
COUNTED = [path for path in ANSWERS if path.stem.startswith("arithmetic-")]
CASES = [
    pytest.param(case, id=f"{path.stem}-{case['class']}")
    for path in ANSWERS
    for case in json.loads(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("case", CASES)
def test_nothing_false_is_stated(case: dict) -> None:
    for config, answer in zip(case["configs"], case["answers"], strict=True):
        if answer is None:
            assert refusals(case["class"], case["versions"], config, case.get("fields")) == ([], False), config


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.stem)
def test_what_can_be_expressed_is_stated(path: Path) -> None:
    tally: Counter[str] = Counter()
    for case in json.loads(path.read_text(encoding="utf-8")):
        tally += tally_of(case)
    assert tally["expressible and stated"] >= 0.95 * tally["expressible"]
    assert tally["accepted"] > 5
    assert tally["expressible"] > 5


@pytest.mark.parametrize("path", COUNTED, ids=lambda path: path.stem)
def test_arithmetic_agrees_with_the_checks_of_the_program(path: Path) -> None:
    for case in json.loads(path.read_text(encoding="utf-8")):
        for config, answer in zip(case["configs"], case["answers"], strict=True):
            stated, crashes = refusals(case["class"], case["versions"], config)
            assert bool(stated or crashes) is (answer is not None), (config, answer)


def test_who_ignores_assignments_states_false_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant that `benchmarks.conditions_oracle` writes down is found out by the answers that are kept."""
    mutant = json.loads((Path(__file__).parent / "oracle" / "conditions_mutant.json").read_text(encoding="utf-8"))
    cases = json.loads((Path(__file__).parent / "oracle" / "conditions" / "trl-1.16.0.json").read_text("utf-8"))
    case = next(each for each in cases if each["class"] == "trl:GRPOConfig")
    assert {name: case["versions"][name] for name in ("trl", "transformers")} == mutant["versions"]
    assert tally_of(case)["false"] == 0
    forget()
    monkeypatch.setattr(conditions, "_text", mutant["texts"].get)
    try:
        assert tally_of(case)["false"] >= 0.5 * tally_of(case)["accepted"]
    finally:
        monkeypatch.undo()
        forget()


def forget() -> None:
    """Let go of what was read of the conditions."""
    for module in (conditions, conditions_join):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def test_there_are_answers_of_several_pairs_of_releases() -> None:
    assert len(ANSWERS) >= 4


@pytest.mark.parametrize(
    ("sentence", "answer", "expected"),
    [
        ("ValueError: a ({a}) must be 1", ["ValueError", "a (3) must be 1"], True),
        ("ValueError: a ({a}) must be 1", ["TypeError", "a (3) must be 1"], False),
        ("ValueError: a ({a}) must be 1", ["ValueError", "b (3) must be 1"], False),
        ("ValueError: {} is not a valid Kind", ["ValueError", "x is not a valid Kind, please select one of"], True),
        ("ValueError: {{'a': 1}} is wrong", ["ValueError", "{'a': 1} is wrong"], True),
    ],
)
def test_a_message_is_recognised(sentence: str, answer: list[str], expected: bool) -> None:
    assert is_by(sentence, answer) is expected
