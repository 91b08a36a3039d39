"""Arguments, names, attributes and calls that the installed release has not: whose they are and since when."""

from __future__ import annotations

import pytest

from trl_lint.diagnose.drift import Drift, drift_of, recorded_classes
from trl_lint.diagnose.failures import Failure, Frame, Part
from trl_lint.knowledge import api

TRL = "/opt/venv/lib/python3.11/site-packages/trl/trainer/sft_trainer.py"
TRANSFORMERS = "/opt/venv/lib/python3.11/site-packages/transformers/trainer.py"
MINE = "/home/me/train.py"


def drift(message: str, path: str = "", exception: str = "TypeError") -> Drift | None:
    failure = Failure(1, None, "", 0)
    part = Part()
    part.exception, part.message = exception, message
    if path:
        part.add_frame(Frame(path, 1, "f"))
    failure.parts.append(part)
    return drift_of(failure)


@pytest.mark.parametrize(
    ("message", "package", "spans"),
    [
        ("GRPOConfig.__init__() got an unexpected keyword argument 'vllm_device'", "trl", (("0.14.0", "0.17.0"),)),
        ("SFTTrainer.__init__() got an unexpected keyword argument 'tokenizer'", "trl", (("0.4.2", "0.15.2"),)),
        ("cannot import name 'PPOTrainer' from 'trl' (/x)", "trl", (("0.2.0", "0.28.0"),)),
        ("No module named 'trl.experimental.ppo'", "trl", (("0.26.0", "1.12.0"),)),
    ],
)
def test_what_is_missing_is_dated(message: str, package: str, spans: tuple[tuple[str, str], ...]):
    found = drift(message)
    assert found is not None and (found.dated.package, found.dated.spans) == (package, spans)


@pytest.mark.parametrize(
    ("name", "key", "first", "last"),
    [
        ("DPOTrainer", "tokenizer", "0.5.0", "0.15.2"),  # the experimental one takes it from transformers' Trainer
        ("GKDTrainer", "tokenizer", "0.11.0", "0.15.2"),
        ("DPOTrainer", "ref_model", "0.5.0", api.releases("trl")[-1]),  # the experimental one came with 0.24
        ("ORPOConfig", "max_length", "0.8.2", api.releases("trl")[-1]),  # it moved to trl.experimental
    ],
)
def test_the_public_class_of_several_is_meant(name: str, key: str, first: str, last: str):
    assert len(recorded_classes(name)) > 1
    found = drift(f"{name}.__init__() got an unexpected keyword argument '{key}'", MINE)
    assert found is not None and found.dated.package == "trl"
    assert (found.dated.spans[0][0], found.dated.spans[-1][1]) == (first, last)


def test_the_frame_that_raised_tells_who_asked():
    message = "Trainer.__init__() got an unexpected keyword argument 'processing_class'"
    by_trl, by_me, by_nobody = drift(message, TRL), drift(message, MINE), drift(message)
    assert by_trl is not None and by_trl.is_of_a_pair and by_trl.is_sure
    assert by_trl.dated.spans[0][0] == "4.46.0" and by_trl.dated.package == "transformers"
    assert by_me is not None and not by_me.is_of_a_pair and by_me.is_sure
    assert by_nobody is not None and not by_nobody.is_sure


def test_a_checkout_of_a_package_is_the_package_but_not_its_examples():
    message = "Trainer.__init__() got an unexpected keyword argument 'processing_class'"
    for path, is_pair in (("/home/me/trl/trl/trainer/dpo_trainer.py", True), ("/home/me/trl/examples/dpo.py", False)):
        found = drift(message, path)
        assert found is not None and found.is_of_a_pair == is_pair


def test_a_failed_import_inside_of_a_library_is_the_library_s():
    text = "Failed to import transformers.trainer because of the following error (look up to see its traceback):\n"
    found = drift(text + "cannot import name 'EncoderDecoderCache' from 'transformers' (/x)", "", "RuntimeError")
    assert found is not None and found.is_of_a_pair


def test_attributes_are_dated():
    found = drift("'GRPOConfig' object has no attribute 'num_iterations'", MINE, "AttributeError")
    assert found is not None and found.dated.spans[0][0] == "0.16.0"
    assert drift("'GRPOConfig' object has no attribute 'nobody_has_it'", MINE, "AttributeError") is None
    assert drift("'list' object has no attribute 'split'", MINE, "AttributeError") is None


def test_positional_arguments_are_dated_by_who_calls():
    found = drift("DPOTrainer.log() takes 2 positional arguments but 3 were given", TRANSFORMERS)
    assert found is not None and found.dated.package == "transformers" and found.dated.spans[0][0] == "4.47.0"
    assert drift("DPOTrainer.log() takes 2 positional arguments but 3 were given", MINE) is None


def test_an_argument_that_no_release_had_has_no_spans():
    found = drift("DPOTrainer.__init__() got an unexpected keyword argument 'gamma'", MINE)
    assert found is not None and found.dated.spans == () and not found.is_sure


def test_what_nobody_recorded_is_nothing():
    assert drift("Mine.__init__() got an unexpected keyword argument 'x'") is None
    assert drift("cannot import name 'x' from 'mine' (/x)", MINE, "ImportError") is None
