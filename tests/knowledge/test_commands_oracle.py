"""The recorded conditions of commands against answers of the real code, which `benchmarks.commands_oracle` asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.commands_oracle import BY_A_CHECK, stated

ANSWERS = sorted((Path(__file__).parent.parent / "oracle" / "commands").glob("*.json"))


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.stem)
def test_nothing_false_is_stated(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    accepted = [case["config"] for case in kept["cases"] if case["answer"] is None]
    assert len(accepted) > 5
    for config in accepted:
        assert stated(kept["package"], config, kept["release"]) == [], config


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.stem)
def test_what_validators_refuse_is_stated(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    refused = [
        case["config"] for case in kept["cases"] if case["answer"] and BY_A_CHECK[kept["package"]] in case["answer"]
    ]
    found = [config for config in refused if stated(kept["package"], config, kept["release"])]
    assert len(refused) > 5
    assert len(found) >= 0.65 * len(refused)


def test_there_are_answers_of_several_releases() -> None:
    assert len(ANSWERS) >= 6
