"""Where something is missing, and how few releases have to be asked."""

from __future__ import annotations

from trl_lint.checks.drift._calls import accepts
from trl_lint.knowledge.api import resolve
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.presence import absences, homes, intervals, points_of_name, points_of_parameter

TRL = releases("trl")


def between(first: str, last: str) -> tuple[str, ...]:
    return TRL[TRL.index(first) : TRL.index(last) + 1]


def has_name(dotted: str):
    return lambda versions: bool(resolve(dotted, versions))


def test_missing_in_some_releases():
    allowed = between("0.27.0", "1.1.0")
    (found,) = absences({"trl": allowed}, points_of_name("trl.ORPOTrainer"), has_name("trl.ORPOTrainer"))
    assert found.releases == between("0.29.0", "1.1.0")
    assert not found.every


def test_missing_everywhere():
    allowed = between("1.0.0", "1.2.0")
    (found,) = absences({"trl": allowed}, points_of_name("trl.ORPOTrainer"), has_name("trl.ORPOTrainer"))
    assert found.every and found.releases == allowed


def test_nothing_is_said_if_the_newest_release_is_not_known():
    assert absences({"trl": TRL}, {}, lambda versions: None) == []


def test_unknown_older_releases_keep_it_from_being_missing_everywhere():
    def ask(versions: dict[str, str]) -> bool | None:
        return None if versions["trl"] == TRL[0] else False

    (found,) = absences({"trl": TRL}, {"trl": frozenset({1})}, ask)
    assert found.releases == TRL[1:] and not found.every


def test_one_question_for_each_stretch():
    asked = []

    def ask(versions: dict[str, str]) -> bool:
        asked.append(versions["trl"])
        return True

    points = points_of_name("trl.ORPOTrainer")
    absences({"trl": TRL}, points, ask)
    assert 1 < len(asked) <= len(points["trl"]) + 2 < len(TRL) / 2


def test_gaps_are_seen():
    """`RewardTrainer(tokenizer=)`: there up to 0.11.4, gone in 0.12.0, back from 0.12.1 to 0.14.0."""
    dotted = "trl.RewardTrainer"
    points = points_of_parameter(dotted, "tokenizer")
    newest = releases("transformers")[-1]
    found = [
        version
        for interval in intervals("trl", between("0.11.0", "0.15.0"), points["trl"])
        for version in interval
        if accepts(dotted, "tokenizer", {"trl": interval[-1], "transformers": newest}) is False
    ]
    assert found == ["0.12.0", "0.15.0"]


def test_fields_of_a_base_in_another_package():
    points = points_of_parameter("trl.GRPOConfig", "evaluation_strategy")
    at = releases("transformers").index("4.51.0")
    assert at in points["transformers"]
    for version, there in (("4.50.3", True), ("4.51.0", False)):
        versions = {"trl": "0.16.1", "transformers": version}
        assert accepts("trl.GRPOConfig", "evaluation_strategy", versions) is there


def test_homes():
    assert homes("trl", "ORPOTrainer", "1.16.0")[0] == "trl.experimental.orpo"
    assert homes("trl", "TextEnvironment", "1.16.0") == []
