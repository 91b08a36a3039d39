"""Counting the faults of a sealed sample that have a row: what makes a row one of a fault."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.bug_rows import is_of, rows

FAULT: dict[str, Any] = {"threads": ["0123456789abcdef", "4321"], "accept": ["top_entropy"], "last": "0.24.0"}


def row(**changes: object) -> dict[str, Any]:
    known: dict[str, Any] = {
        "where": ["trl.GRPOTrainer"],
        "condition": "True",
        "releases": ">=0.20.0,<0.25.0",
        "evidence": [],
    }
    return {**known, **changes}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (row(evidence=["https://github.com/huggingface/trl/pull/4321"]), True),
        (row(evidence=["https://github.com/huggingface/trl/issues/4321"]), True),
        (row(evidence=["https://github.com/huggingface/trl/commit/0123456789abcdef"]), True),
        (row(evidence=["https://github.com/huggingface/trl/pull/432"]), False),
        (row(condition="top_entropy_quantile < 1"), True),
        (row(condition="top_entropy_quantile < 1", releases=">=0.20.0,<0.24.0"), False),
        (row(condition="top_entropy_quantile < 1", releases=">=0.20.0,<1.1.0"), False),
        (row(condition="top_entropy_quantile < 1", releases=">=0.20.0"), False),
        (row(condition="use_vllm"), False),
    ],
)
def test_a_row_is_of_a_fault_by_its_thread_or_by_its_words_and_last_release(given: dict[str, Any], expected: bool):
    assert is_of(given, FAULT) is expected


def test_every_row_can_be_compared():
    assert all(is_of(one, FAULT) in (True, False) for _, one in rows())
