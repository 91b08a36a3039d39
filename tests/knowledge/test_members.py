"""Attributes of objects: there, gone, or not known."""

from __future__ import annotations

from trl_lint.knowledge.api import read_method
from trl_lint.knowledge.members import declares, has_member, is_method
from trl_lint.knowledge.presence import is_class, points_of_parameter

TRANSFORMERS = {"transformers": "4.52.4"}


def test_methods():
    assert has_member("trl.PPOTrainer", "step", {"trl": "0.11.4", **TRANSFORMERS}) is True
    assert has_member("trl.PPOTrainer", "step", {"trl": "0.15.2", **TRANSFORMERS}) is False
    assert is_method("trl.PPOTrainer", "step", {"trl": "0.11.4", **TRANSFORMERS})


def test_fields_of_a_base_in_another_package():
    for version, there in (("4.50.3", True), ("4.51.0", False)):
        versions = {"trl": "0.16.1", "transformers": version}
        assert has_member("trl.GRPOConfig", "evaluation_strategy", versions) is there
        assert declares("trl.GRPOConfig", "evaluation_strategy", versions) is there
    points = points_of_parameter("trl.GRPOConfig.evaluation_strategy", "evaluation_strategy")
    assert points["transformers"]


def test_what_nobody_knows():
    assert has_member("trl.GRPOConfig", "max_prompt_length", {"trl": "0.28.0"}) is None, "transformers is not known"
    assert has_member("trl.PPOTrainer", "step", {"trl": "1.16.0", **TRANSFORMERS}) is None, "there is no such class"
    assert has_member("peft.LoraConfig", "enable_lora", {"peft": "0.15.0", **TRANSFORMERS}) is None, "peft forwards"
    assert has_member("trl.GRPOTrainer", "_metrics", {"trl": "0.28.0", **TRANSFORMERS}) is None, "private"


def test_a_parameter_of_a_constructor_is_no_field():
    versions = {"trl": "0.12.2", **TRANSFORMERS}
    assert not declares("trl.SFTTrainer", "max_seq_length", versions)
    assert declares("trl.SFTConfig", "max_seq_length", versions)


def test_classes():
    assert is_class("trl.GRPOTrainer") and is_class("vllm.LLM") and is_class("trl.trainer.grpo_trainer.GRPOTrainer")
    assert not is_class("trl.get_peft_config")
    assert not is_class("transformers.AutoModelForCausalLM.from_pretrained")
    assert not is_class("trl.trainer")
    assert not is_class("trl.NoSuchThing")


def test_any_number_of_positions_is_no_keyword():
    found = read_method("(*args, device_placement=None)")
    assert (found.open, found.positional, list(found.parameters)) == (False, None, ["device_placement"])
    assert read_method("(a, *, b=1)").positional == 1
    assert read_method("(*args, **super.train)").open
