"""What rules say of a training, against what the libraries did in one (`tests/oracle/training_effects.py`)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from trl_lint.checks.algorithm import end_token_masked, no_completions, packed_without_positions
from trl_lint.checks.distribution import attribute_of_wrapped_model
from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.pages import page
from trl_lint.knowledge.ranges import holds

ANSWERS = json.loads((Path(__file__).parent.parent / "oracle" / "training_effects.json").read_text("utf-8"))


@pytest.fixture(params=ANSWERS)
def era(request: pytest.FixtureRequest) -> tuple[dict[str, str], dict[str, Any]]:
    return dict(one.split("==") for one in request.param.split()), ANSWERS[request.param]


Era = tuple[dict[str, str], dict[str, Any]]


def test_several_releases_were_asked():
    assert len(ANSWERS) == 2


def test_ddp_hides_what_trl123_names(era: Era):
    assert set(era[1]["TRL123 hidden"].split()) >= attribute_of_wrapped_model._OF_MODELS


def test_new_rows_stay_as_they_are_unless_they_are_named(era: Era):
    asked = era[1]
    assert asked["TRL724 moves"] is False
    assert asked["TRL724 moves, modules_to_save"] is True
    assert asked["TRL724 moves, trainable_token_indices"] is True


def test_the_collator_of_transformers_masks_the_pad_token(era: Era):
    asked = era[1]
    assert asked["TRL727 learnt, pad is the end"] is False
    assert asked["TRL727 learnt, another pad"] is True


def test_that_of_sft_masks_it_in_the_releases_of_trl727(era: Era):
    versions, asked = era
    masks = holds(end_token_masked._MASKS, versions["trl"])
    assert asked["TRL727 learnt by SFTTrainer, pad is the end"] is not masks


@pytest.mark.parametrize("option", ["packing", "padding_free"])
def test_examples_see_each_other_in_the_releases_of_trl728(option: str, era: Era):
    versions, asked = era
    assert asked[f"TRL728 sees, {option}"] is holds(packed_without_positions._WITHOUT, versions["trl"])
    assert asked["TRL728 sees, padded"] is False


def test_completion_only_loss_masks_nothing_of_texts(era: Era):
    versions, asked = era
    assert asked["TRL733 prompts are learnt"] is holds(no_completions._SILENT, versions["trl"])


def test_texts_end_at_the_default_and_not_at_the_length_of_the_tokenizer(era: Era):
    versions, asked = era
    found = resolve("trl.SFTConfig", versions)
    known = signature(found, versions) if isinstance(found, str) else None
    assert known is not None
    assert str(asked["TRL736 length"]) == str(known.parameters["max_length"].default)


def test_dpo_stops_in_words_that_the_page_knows(era: Era):
    said = f"AttributeError: {era[1]['TRL737 says']}"
    assert any(re.search(symptom.pattern, said) for symptom in page("TRL737").symptoms)
