"""The recorded conditions against answers of real installations, which `benchmarks.conditions_oracle` asked."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.conditions_oracle import is_by, judge, refusals

ANSWERS = sorted((Path(__file__).parent / "oracle" / "conditions").glob("*.json"))
CASES = [
    pytest.param(case, id=f"{path.stem}-{case['class']}")
    for path in ANSWERS
    for case in json.loads(path.read_text(encoding="utf-8"))
]


def tally_of(case: dict) -> Counter[str]:
    return judge(case["class"], case["versions"], case["configs"], case["answers"])


@pytest.mark.parametrize("case", CASES)
def test_nothing_false_is_stated(case: dict) -> None:
    for config, answer in zip(case["configs"], case["answers"], strict=True):
        if answer is None:
            assert refusals(case["class"], case["versions"], config) == ([], False), config


@pytest.mark.parametrize("case", CASES)
def test_what_can_be_expressed_is_stated(case: dict) -> None:
    tally = tally_of(case)
    assert tally["expressible and stated"] >= 0.95 * tally["expressible"]
    assert tally["accepted"] > 5
    assert tally["expressible"] > 5


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
