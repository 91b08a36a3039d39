"""The tables of symptoms: well formed, true to the recorded messages, and enough of them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from trl_lint.checks.registry import all_rules
from trl_lint.diagnose.dating import PACKAGES, recorded_template, wording
from trl_lint.diagnose.failures import Failure, Frame, Part
from trl_lint.diagnose.templates import plain
from trl_lint.knowledge import api
from trl_lint.knowledge.causes import Cause, causes
from trl_lint.knowledge.releases import parse_specifier
from trl_lint.knowledge.symptoms import Symptom, consequences, myths

ALL = [(cause, symptom) for cause in causes() for symptom in cause.symptoms]
TABLED = [pytest.param(cause, id=cause.code) for cause in causes() if not cause.is_rule]
WITH_EXAMPLE = [
    pytest.param(symptom, id=f"{cause.code}-{symptom.pattern[:30]}") for cause, symptom in ALL if symptom.example
]


def patterns(symptom: Symptom) -> list[str]:
    single = (symptom.last, symptom.project, symptom.finding)
    return [symptom.pattern, *symptom.frames, *symptom.without, *symptom.log, *filter(None, single)]


def test_there_are_enough():
    assert len({symptom.pattern for _, symptom in ALL}) >= 150
    with_symptoms = {cause.code for cause, _ in ALL}
    silent = {"TRL001", "TRL002", "TRL003", "TRL004", "TRL203", "TRL304", "TRL802"}
    assert {rule.code for rule in all_rules() if rule.page.symptoms} <= with_symptoms | silent


@pytest.mark.parametrize("cause", TABLED)
def test_a_cause_is_complete(cause: Cause):
    assert re.fullmatch(r"LOG\d{3}", cause.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", cause.name)
    assert cause.title and not cause.title.endswith(".") and cause.advice
    assert cause.references and all(urlsplit(address).scheme == "https" for address in cause.references)
    # What only the histories tell has no pattern of its own.
    assert cause.symptoms or cause.code in ("LOG200", "LOG740")
    # The example of a fallback shows its form: many print such words.
    assert all(symptom.example and (symptom.printed_by or symptom.fallback) for symptom in cause.symptoms)


def test_codes_and_names_are_unique():
    tabled = [cause for cause in causes() if not cause.is_rule]
    assert len({cause.code for cause in causes()}) == len(causes())
    assert len({cause.name for cause in tabled}) == len(tabled)


def test_every_pattern_is_one():
    for symptom in [*(symptom for _, symptom in ALL), *(myth.symptom for myth in myths())]:
        for pattern in patterns(symptom):
            re.compile(pattern)
        assert all(parse_specifier(specifier) is not None for specifier in symptom.packages.values())
    for pattern, why in consequences():
        assert why and not re.search(pattern, "ValueError: a b c")


@pytest.mark.parametrize("symptom", WITH_EXAMPLE)
def test_a_pattern_matches_its_example_and_a_release_prints_it(symptom: Symptom):
    assert re.search(symptom.pattern, symptom.example)
    if symptom.printed_by in PACKAGES:
        message = re.sub(r"^[\w.]+(?:Error|Exception): ", "", symptom.example).strip('"')
        templates = [recorded_template(record.text) for record in api.messages(symptom.printed_by)]
        assert any(one.fillings(plain(message)) is not None for one in templates), "no release prints this"


def test_a_text_that_no_release_prints_is_noticed():
    templates = [record.text for record in api.messages("trl")]
    message = "num_generations must be a prime number"
    assert all(recorded_template(text).fillings(message) is None for text in templates)


def failure(exception: str, message: str, path: str = "") -> Failure:
    found = Failure(1, None, "", 0)
    part = Part()
    part.exception, part.message = exception, message
    if path:
        part.add_frame(Frame(path, 1, "f"))
    found.parts.append(part)
    return found


@pytest.mark.parametrize(
    ("message", "spans"),
    [
        ("The effective train batch size (4 x 2 x 1) must be evenly divisible by the number of generations per prompt "
         "(6). Given", (("0.17.0", "0.19.1"),)),
        ("The requested device for vllm (cuda:4) is not available. You are likely using vLLM without restricting the",
         (("0.14.0", "0.15.2"),)),
    ],
)  # fmt: skip
def test_a_wording_is_dated(message: str, spans: tuple[tuple[str, str], ...]):
    found = wording(failure("ValueError", message, "/x/site-packages/trl/trainer/grpo_trainer.py"))
    assert found is not None and (found.package, found.spans) == ("trl", spans)
    assert wording(failure("KeyError", message, "/x/site-packages/trl/trainer/grpo_trainer.py")) is None


def test_what_nobody_recorded_is_not_dated():
    assert wording(failure("ValueError", "could not convert string to float: 'a'")) is None
