"""What is recorded of the flags of ms-swift against answers of its real classes, asked by `benchmarks.flags_oracle`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.flags_oracle import stated

ANSWERS = sorted((Path(__file__).parent.parent / "oracle" / "flags").glob("*.json"))


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.stem)
def test_what_the_classes_refuse_is_stated_and_nothing_else(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    said = {bool(case["answer"]): 0 for case in kept["cases"]}
    for case in kept["cases"]:
        assert bool(stated(case["command"], kept["release"])) is bool(case["answer"]), case
        said[bool(case["answer"])] += 1
    assert said[True] > 10 and said[False] > 10


def test_there_are_answers_of_several_releases() -> None:
    assert len(ANSWERS) >= 3
