"""The reader, on recorded histories and on the ones that ship."""

import os

import pytest

from trl_lint.knowledge import api, histories, rules_dir
from trl_lint.missing import ABSENT, UNKNOWN

ARGUMENTS = """
    from dataclasses import dataclass
    @dataclass
    class TrainingArguments:
        output_dir: str
        evaluation_strategy: str = "no"
        learning_rate: float = 5e-5
"""
NEWER_ARGUMENTS = ARGUMENTS.replace("evaluation_strategy", "eval_strategy")
CONFIG = """
    from dataclasses import dataclass
    from transformers import TrainingArguments
    @dataclass
    class GRPOConfig(TrainingArguments):
        learning_rate: float = 1e-6
        beta: float = 0.04
"""
RENAMED_BASE = """
    from dataclasses import dataclass
    from transformers import TrainingArguments
    @dataclass
    class _BaseConfig(TrainingArguments):
        logging_steps: int = 10
    @dataclass
    class GRPOConfig(_BaseConfig):
        beta: float = 0.0
"""


@pytest.fixture
def stack(recorded):
    recorded(
        "transformers",
        {"4.50": {"transformers/__init__.py": ARGUMENTS}, "4.51": {"transformers/__init__.py": NEWER_ARGUMENTS}},
    )
    recorded("trl", {"0.14": {"trl/__init__.py": CONFIG}, "0.29": {"trl/__init__.py": RENAMED_BASE}})


def test_fields_are_joined_for_the_two_versions_in_use(stack):
    old = api.signature("trl:GRPOConfig", {"trl": "0.14", "transformers": "4.50"})
    new = api.signature("trl:GRPOConfig", {"trl": "0.14", "transformers": "4.51"})
    assert "evaluation_strategy" in old.parameters and "evaluation_strategy" not in new.parameters
    assert (old.parameters["learning_rate"].default, old.parameters["output_dir"].required) == ("1e-06", True)
    assert not old.open and not new.open


def test_private_base_is_followed(stack):
    found = api.signature("trl:GRPOConfig", {"trl": "0.29", "transformers": "4.51"})
    assert (found.parameters["logging_steps"].default, found.parameters["beta"].default) == ("10", "0.0")


@pytest.mark.parametrize(
    "versions", [{"trl": "0.14"}, {"trl": "0.14", "transformers": "9.9"}, {"trl": "9.9", "transformers": "4.50"}, {}]
)
def test_unknown_release_leaves_the_signature_open(stack, versions):
    assert api.signature("trl:GRPOConfig", versions).open


def test_timeline_of_an_inherited_field_is_its_own_packages(stack):
    assert api.timeline("trl:GRPOConfig", "beta") == [("0.14", "0.04"), ("0.29", "0.0")]
    assert api.timeline("trl:GRPOConfig", "evaluation_strategy") == [("4.50", "'no'"), ("4.51", None)]
    assert api.timeline("trl:GRPOConfig", "bata") == []


def test_field_that_moves_to_a_base_or_falls_back_to_another_package_is_not_gone(stack):
    assert api.timeline("trl:GRPOConfig", "logging_steps") == [("0.29", "10")]
    assert api.timeline("trl:GRPOConfig", "learning_rate") == [("0.14", "1e-06"), ("0.29", api.INHERITED)]


def test_names_resolve_to_their_definition(stack):
    versions = {"trl": "0.14", "transformers": "4.50"}
    assert api.resolve("trl.GRPOConfig", versions) == "trl:GRPOConfig"
    assert api.resolve("trl.GRPOConfig.from_dict", versions) == "trl:GRPOConfig.from_dict"
    assert api.resolve("trl.PPOConfig", versions) is ABSENT
    assert api.resolve("trl.GRPOConfig", {"trl": "9.9"}) is UNKNOWN
    assert api.resolve("datasets.Dataset", versions) is UNKNOWN


def test_private_names_are_never_absent(stack):
    assert api.exports("trl", "_hidden", "0.14") is UNKNOWN


def test_gap_is_told_as_a_gap(recorded):
    with_it = "class RewardTrainer:\n    def __init__(self, model, tokenizer=None): ..."
    without = "class RewardTrainer:\n    def __init__(self, model): ..."
    recorded(
        "trl",
        {
            v: {"trl/__init__.py": s}
            for v, s in {"0.11": with_it, "0.12": without, "0.13": with_it, "0.15": without}.items()
        },
    )
    accepted = {
        v: "tokenizer" in api.signature("trl:RewardTrainer", {"trl": v}).parameters
        for v in ("0.11", "0.12", "0.13", "0.15")
    }
    assert accepted == {"0.11": True, "0.12": False, "0.13": True, "0.15": False}
    assert api.timeline("trl:RewardTrainer", "tokenizer") == [
        ("0.11", "None"),
        ("0.12", None),
        ("0.13", "None"),
        ("0.15", None),
    ]


def test_moved_name_keeps_its_definition_and_its_way(recorded):
    home = {"trl/__init__.py": "from .trainer.kto import KTOTrainer", "trl/trainer/kto.py": "class KTOTrainer: ..."}
    moved = {
        "trl/__init__.py": "from .experimental.kto import KTOTrainer",
        "trl/experimental/kto.py": "class KTOTrainer: ...",
    }
    gone = {"trl/__init__.py": ""}
    recorded("trl", {"0.25": home, "0.26": moved, "0.29": gone})
    assert api.name_timeline("trl", "KTOTrainer") == [
        ("0.25", "trl.trainer.kto:KTOTrainer"),
        ("0.26", "trl.experimental.kto:KTOTrainer"),
        ("0.29", None),
    ]
    assert api.exports("trl.trainer.kto", "KTOTrainer", "0.26") is ABSENT


def test_borrowed_name_is_unknown_but_a_former_home_is_exact(recorded):
    first = {"trl/__init__.py": "", "trl/utils.py": "def pad(): ...", "trl/a.py": "from .utils import pad"}
    second = {
        "trl/__init__.py": "",
        "trl/utils.py": "",
        "trl/tools.py": "def pad(): ...",
        "trl/a.py": "from .tools import pad",
    }
    recorded("trl", {"1.0": first, "2.0": second})
    assert api.exports("trl.a", "pad", "1.0") is UNKNOWN
    assert api.exports("trl.utils", "pad", "1.0") == "trl.utils:pad"
    assert api.exports("trl.utils", "pad", "2.0") is ABSENT


def test_former_home_that_now_imports_the_name_from_outside_still_has_it(recorded):
    first = {"trl/__init__.py": "", "trl/utils.py": "def prepare(): ..."}
    second = {"trl/__init__.py": "", "trl/utils.py": "if is_peft_available():\n    from peft import prepare"}
    third = {"trl/__init__.py": "", "trl/utils.py": ""}
    recorded("trl", {"1.0": first, "2.0": second, "3.0": third})
    assert [bool(api.exports("trl.utils", "prepare", v)) for v in ("1.0", "2.0", "3.0")] == [True, True, False]


def test_bar_inside_a_default(recorded):
    recorded("trl", {"1.0": {"trl/__init__.py": "def f(token='<|end|>'): ..."}})
    assert api.signature("trl:f", {"trl": "1.0"}).parameters["token"].default == "'<|end|>'"


def test_method_signatures_and_their_bases(recorded):
    source = """
        class Base:
            def log(self, logs, start_time=None, *, prefix="a, (b"): ...
        class Trainer(Base):
            def compute_loss(self, model, inputs, **kwargs): ...
    """
    recorded("transformers", {"4.0": {"transformers/__init__.py": source}})
    log = api.signature("transformers:Trainer.log", {"transformers": "4.0"})
    assert {name: p.default for name, p in log.parameters.items()} == {
        "logs": None,
        "start_time": "None",
        "prefix": "'a, (b'",
    }
    assert (log.positional, log.open) == (2, False)
    assert api.signature("transformers:Trainer.compute_loss", {"transformers": "4.0"}).open


def test_variant_of_a_configuration_is_put_together(recorded):
    base = "actor:\n  lr: 1\n  fsdp:\n    size: 2\n"
    variant = "actor:\n  lr: 1\n  megatron:\n    tp: 4\n"
    recorded(
        "verl",
        {
            "0.1": {
                "verl/trainer/config/ppo_trainer.yaml": base,
                "verl/trainer/config/ppo_megatron_trainer.yaml": variant,
            }
        },
    )
    assert api.config_keys("verl", "ppo_megatron_trainer", "0.1") == {"actor.lr": "1", "actor.megatron.tp": "4"}


def test_messages_with_their_releases(recorded):
    source = "def f():\n    raise ValueError('this message is long enough to be kept')"
    recorded(
        "trl", {"1.0": {"trl/__init__.py": source}, "2.0": {"trl/__init__.py": source}, "3.0": {"trl/__init__.py": ""}}
    )
    (message,) = api.messages("trl")
    assert (message.kind, message.module, message.releases) == ("ValueError", "trl", (("1.0", "2.0"),))


# What ships: facts that were read in the released sources.


def test_evaluation_strategy_died_with_transformers():
    timeline = api.timeline("trl.trainer.grpo_config:GRPOConfig", "evaluation_strategy")
    assert timeline[-1] == ("4.51.0", None)


def test_vllm_device_worked_was_deprecated_and_went():
    assert api.timeline("trl.trainer.grpo_config:GRPOConfig", "vllm_device") == [
        ("0.14.0", "'auto'"),
        ("0.16.0", "None"),
        ("0.18.0", None),
    ]
    versions = {"trl": "0.17.0", "transformers": "4.51.3"}
    assert api.signature("trl.trainer.grpo_config:GRPOConfig", versions).parameters["vllm_device"].deprecated


@pytest.mark.parametrize(
    "name, version, expected",
    [
        ("set_seed", "0.13.0", True),
        ("set_seed", "0.14.0", False),
        ("PPOTrainer", "0.28.0", True),
        ("PPOTrainer", "0.29.0", False),
        ("get_kbit_device_map", "1.8.0", False),
    ],
)
def test_names_removed_from_trl(name, version, expected):
    assert (api.exports("trl", name, version) is not ABSENT) is expected


@pytest.mark.parametrize(
    ("module", "name", "has", "lacks"),
    [
        ("vllm.sampling_params", "GuidedDecodingParams", "0.11.2", "0.12.0"),
        ("vllm.inputs", "DataPrompt", "0.19.0", "0.4.2"),
        ("vllm", "ModelRegistry", "0.4.1", "0.4.0.post1"),
        ("transformers.utils", "send_example_telemetry", "4.56.2", "4.57.0"),
        ("transformers.configuration_utils", "layer_type_validation", "4.53.0", "4.52.4"),
        ("transformers.generation", "BeamSearchScorer", "4.56.2", "4.57.0"),
        ("deepspeed.utils", "set_z3_leaf_modules", "0.13.0", "0.12.6"),
        ("deepspeed.runtime.config", "ONEBIT_LAMB_OPTIMIZER", "0.19.6", "0.19.7"),
        ("peft.tuners.lora", "EetqLoraLinear", "0.11.0", "0.10.0"),
    ],
)
def test_what_modules_with_imports_from_elsewhere_have(module: str, name: str, has: str, lacks: str):
    """Read in the archives of both releases."""
    assert api.exports(module, name, has)
    assert api.exports(module, name, lacks) is ABSENT


@pytest.mark.parametrize("name", ["CPUAdamBuilder", "Whatever"])
def test_deepspeed_makes_the_names_of_its_builders(name: str):
    assert api.exports("deepspeed.ops.op_builder", name, "0.18.0") is UNKNOWN


def test_histories_stay_small():
    folder = os.path.join(rules_dir(), "api")
    sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".txt")}
    assert sum(sizes.values()) <= 1_535_000, sizes


@pytest.mark.parametrize("package", ["trl", "peft", "accelerate"])
def test_the_facts_of_a_release_are_those_of_the_last_change(package: str):
    """So that what was read of one release serves for all until the next change."""
    ends = histories.positions(package)
    for symbol in histories._starts(package):
        found = histories.block(package, symbol)
        assert found is not None
        if not symbol.startswith("class "):
            continue
        for at in ends.values():
            last = found.last_change(at)
            assert last <= at and found.values(last) == found.values(at), (symbol, at)
