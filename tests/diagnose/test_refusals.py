"""Messages with which releases refuse arguments: every recorded sentence is found again, with its fields."""

from __future__ import annotations

import re

import pytest

from trl_lint.diagnose.failures import Failure, Frame, Part
from trl_lint.diagnose.refusals import refused_by
from trl_lint.knowledge import api
from trl_lint.knowledge.conditions import PACKAGES, refusals

# Of ms-swift only the values of flags are recorded, and no sentence.
SPEAKING = [package for package in PACKAGES if package != "ms-swift"]


def failure(sentence: str, package: str) -> Failure:
    found = Failure(1, None, "", 0)
    part = Part()
    part.exception, _, part.message = sentence.partition(": ")
    part.add_frame(Frame(f"/opt/venv/lib/python3.11/site-packages/{package}/a.py", 1, "f"))
    found.parts.append(part)
    return found


@pytest.mark.parametrize("package", SPEAKING)
def test_every_sentence_is_found_again(package: str):
    missed, known = [], 0
    for refusal in refusals(package):
        letters = re.sub(r"\W", "", re.sub(r"\{[^{}]*\}", "", refusal.sentence.partition(": ")[2]))
        if len(letters) < 24:
            continue
        known += 1
        said = re.sub(r"\{[^{}]*\}", "7", refusal.sentence).replace("…", " and so on")
        found = refused_by(failure(said, package))
        if found is None:
            missed.append(said)
    assert known >= 15
    assert missed == []


def test_the_fields_and_the_releases_are_told():
    told = "GRPO requires at least 2 generations per prompt to calculate the advantages. You provided 1, which is less"
    given = failure(f"ValueError: {told} than the minimum required.", "trl")
    given.parts[0].add_frame(Frame("/x/site-packages/trl/trainer/grpo_config.py", 9, "__post_init__"))
    found = refused_by(given)
    assert found is not None and found.package == "trl" and found.fields == ("num_generations",)
    assert found.why == (
        "GRPOConfig of trl 0.17.0 or later refuses this, where `num_generations < 2`, here `num_generations` is 1"
    )


def test_what_no_release_says_is_not_found():
    assert refused_by(failure("ValueError: num_generations must be a prime number of the moon", "trl")) is None
    assert refused_by(failure("ValueError: no", "trl")) is None


@pytest.mark.parametrize("package", SPEAKING)
def test_every_refusal_has_releases_classes_and_conditions(package: str):
    known = refusals(package)
    assert len(known) >= 15
    assert [one for one in known if not (one.spans and one.names and one.conditions)] == []


def test_the_releases_of_a_refusal_come_in_order_and_apart():
    several = 0
    for package in SPEAKING:
        at = {version: number for number, version in enumerate(api.releases(package))}
        ends = [[at[version] for span in refusal.spans for version in span] for refusal in refusals(package)]
        assert ends and [one for one in ends if one != sorted(one)] == []
        several += sum(len(one) > 2 for one in ends)
    assert several >= 3
