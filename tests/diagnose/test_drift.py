"""Arguments, names, attributes and calls that the installed release has not: whose they are and since when."""

from __future__ import annotations

import pytest

from trl_lint.diagnose.drift import MODEL_CODE, Drift, drift_of
from trl_lint.diagnose.failures import Failure, Frame, Part
from trl_lint.diagnose.members import recorded_classes
from trl_lint.knowledge import api

TRL = "/opt/venv/lib/python3.11/site-packages/trl/trainer/sft_trainer.py"
TRANSFORMERS = "/opt/venv/lib/python3.11/site-packages/transformers/trainer.py"
MINE = "/home/me/train.py"


def drift(message: str, path: str = "", exception: str = "TypeError", code: str = "", *outer: str) -> Drift | None:
    failure = Failure(1, None, "", 0)
    part = Part()
    part.exception, part.message = exception, message
    for before in outer:
        part.add_frame(Frame(before, 1, "f"))
    if path:
        part.add_frame(Frame(path, 1, "f", code))
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


def test_arguments_of_methods_are_dated():
    message = "Accelerator.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'"
    found = drift(message, TRANSFORMERS)
    assert found is not None and found.is_of_a_pair and found.is_sure
    assert (found.dated.package, found.dated.spans[0][0]) == ("accelerate", "1.3.0")
    assert drift("Accelerator.unwrap_model() got an unexpected keyword argument 'nobody_takes_it'", MINE) is None
    assert drift("Mine.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'", MINE) is None


@pytest.mark.parametrize("owner", ["MyTrainer.", "Trainer.", ""])  # Python before 3.10 names no class
def test_a_method_that_was_overridden_is_not_of_the_caller(owner: str):
    message = f"{owner}compute_loss() got an unexpected keyword argument 'num_items_in_batch'"
    code = "loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)"
    found = drift(message, TRANSFORMERS, code=code)
    assert found is not None and found.kind == "override" and found.is_sure and not found.is_of_a_pair
    assert (found.dated.package, found.dated.spans[0][0]) == ("transformers", "4.46.0")
    # Where the caller calls none of its own methods it is not known; a model's forward is none of the trainer's.
    by_me = drift(message, MINE, code="compute_loss(model, num_items_in_batch=1)")
    assert by_me is None or (owner == "Trainer." and by_me.kind == "argument")
    forward = "Net.forward() got an unexpected keyword argument 'num_items_in_batch'"
    assert drift(forward, TRANSFORMERS, code="outputs = model(**inputs)") is None


def test_a_trainer_of_trl_that_overrides_in_vain_is_a_pair():
    code = "loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)"
    message = "DPOTrainer.compute_loss() got an unexpected keyword argument 'num_items_in_batch'"
    found = drift(message, TRANSFORMERS, code=code)
    assert found is not None and found.is_of_a_pair and found.dated.package == "trl"


def test_a_subclass_of_the_same_name_overrides_positions():
    message = "Trainer.training_step() takes 3 positional arguments but 4 were given"
    found = drift(message, TRANSFORMERS, code="tr_loss_step = self.training_step(model, inputs, num_items_in_batch)")
    assert found is not None and found.kind == "override" and found.dated.spans[0][0] == "4.46.0"


def test_the_class_is_read_from_the_line_where_the_message_has_none():
    message = "__init__() got an unexpected keyword argument 'dispatch_batches'"
    found = drift(message, TRANSFORMERS, code="self.accelerator = Accelerator(")
    assert found is not None and found.is_of_a_pair and found.is_sure and found.dated.package == "accelerate"
    assert drift(message, TRANSFORMERS, code="super().__init__(") is None
    assert drift(message, TRANSFORMERS, code="a = Accelerator(Config(x), dispatch_batches=True)") is None


def test_a_package_that_calls_itself_in_vain_was_given_the_argument():
    message = "EngineArgs.__init__() got an unexpected keyword argument 'worker_extension_cls'"
    vllm = "/opt/venv/lib/python3.11/site-packages/vllm/entrypoints/llm.py"
    found = drift(message, vllm, "TypeError", "engine_args = EngineArgs(", TRL)
    assert found is not None and found.caller == "trl" and found.is_sure
    by_me = drift(message, vllm, "TypeError", "engine_args = EngineArgs(", MINE)
    assert by_me is not None and not by_me.is_sure


def test_functions_are_known_by_name_alone_only_to_packages():
    message = "extract_model_from_parallel() got an unexpected keyword argument 'keep_torch_compile'"
    by_package, by_me = drift(message, TRANSFORMERS), drift(message, MINE)
    assert by_package is not None and by_package.is_of_a_pair and by_package.is_sure
    assert by_me is not None and not by_me.is_sure


def test_what_a_release_needs_is_dated():
    message = "PPOTrainer.__init__() missing 2 required positional arguments: 'reward_model' and 'train_dataset'"
    found = drift(message, MINE)
    assert found is not None and found.kind == "missing" and found.is_sure
    assert (found.dated.package, found.dated.spans[0][0]) == ("trl", "0.12.0")
    assert drift("Mine.__init__() missing 1 required positional argument: 'x'", MINE) is None
    assert drift("PPOTrainer.__init__() missing 1 required positional argument: 'nobody'", MINE) is None


def test_code_that_came_with_a_model_is_not_the_project_s():
    path = "/home/me/.cache/huggingface/modules/transformers_modules/org/model/0a67/modeling_model.py"
    found = drift("cannot import name 'SFTTrainer' from 'trl' (/x)", path, "ImportError")
    assert found is not None and found.caller == MODEL_CODE and "trust_remote_code" in found.advice
    patched = drift("cannot import name 'SFTTrainer' from 'trl' (/x)", "/w/unsloth_compiled_cache/A.py", "ImportError")
    assert patched is not None and patched.caller == "unsloth"
