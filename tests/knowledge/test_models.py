"""What releases state about models, and the table of well-known ones."""

import re

import pytest

from trl_lint.knowledge import architectures, datasets, models
from trl_lint.knowledge.columns import trainer_columns
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.refresher.history import merge
from trl_lint.knowledge.refresher.modeling import family_of, read_modeling
from trl_lint.knowledge.refresher.models import model_facts, without_constants
from trl_lint.knowledge.refresher.write import render

TABLE = models._table()

MODELING = b"""
from torch import nn
from ...pytorch_utils import Conv1D

class TinyLinear(nn.Linear):
    pass

class TinyAttention(nn.Module):
    def __init__(self, config):
        self.heads = config.heads
        self.q_proj = nn.Linear(1, 1)
        self.k_proj = nn.Linear(1, 1) if config.k else None
        self.c_attn = Conv1D(1, 1)
        self.own = TinyLinear(1, 1)
        self.scale: nn.Parameter = nn.Parameter(None)
        self.norm = nn.LayerNorm(1)
        self.act = ACT2FN["silu"]

class TinyLayer(nn.Module):
    def __init__(self, config):
        self.attention = TinyAttention(config)
        self.linear_class = linear_class(1)

class TinyPreTrainedModel:
    _no_split_modules = ["TinyLayer", "TinyBlock"]

class TinyForCausalLM(TinyPreTrainedModel):
    _no_split_modules = None
"""


def test_a_modeling_file_tells_its_layers_and_what_can_be_adapted():
    found = read_modeling(MODELING)
    assert found.layers == {"TinyLayer", "TinyBlock"}
    assert found.named == {"q_proj", "k_proj", "c_attn", "own", "linear_class"}
    assert found.parameters == {"scale"}
    assert not found.open


@pytest.mark.parametrize(
    "added",
    [
        b"class V:\n    def __init__(s, self):\n        self.text = AutoModel.from_config(0)\n",
        b"from ..llama.modeling_llama import LlamaDecoderLayer\n",
        b"class V:\n    def __init__(self):\n        setattr(self, name, nn.Linear(1, 1))\n",
    ],
)
def test_a_family_that_takes_parts_from_elsewhere_is_open(added):
    assert read_modeling(MODELING + added).open


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("transformers/models/llama/modeling_llama.py", "llama"),
        ("transformers/models/llama/modeling_tf_llama.py", ""),
        ("transformers/models/llama/modeling_flax_llama.py", ""),
        ("transformers/models/llama/configuration_llama.py", ""),
        ("transformers/models/blip/modeling_blip_text.py", "blip"),
    ],
)
def test_files_of_families(path, family):
    assert family_of(path) == family


def test_releases_are_read_and_written_as_intervals():
    old = model_facts("transformers", {"transformers/models/tiny/modeling_tiny.py": (1, MODELING)}, {})
    changed = MODELING.replace(b"self.c_attn", b"self.c_att")
    new = model_facts("transformers", {"transformers/models/tiny/modeling_tiny.py": (2, changed)}, {})
    text = render("transformers", ["1.0", "2.0"], merge([("1.0", old), ("2.0", new)]), "models")
    assert text.splitlines()[4:] == [
        "family tiny 1.0",
        " TinyBlock,TinyLayer layer",
        " c_att | 2.0 adapted",
        " c_attn adapted | 2.0 -",
        " k_proj,linear_class,own,q_proj adapted",
        " scale parameter",
    ]


def test_models_that_generate_no_text_are_left_out():
    source = MODELING.replace(b"TinyForCausalLM", b"TinyForDepthEstimation")
    assert model_facts("transformers", {"transformers/models/tiny/modeling_tiny.py": (1, source)}, {}) == {}


def test_default_targets_of_adapters_are_read():
    source = b'TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING = {"a": ["q", "v"], "b": r".*\\.(q|v)"}\n'
    found = model_facts("peft", {"peft/utils/constants.py": (1, source)}, {})["targets"]
    assert (found["a"], found["b"]) == ("q,v", "/.*\\.(q\\x7cv)/")


def test_templates_are_read_from_files_and_constants():
    source = b'tiny_chat_template = r"""{%- generation %}x"""\nother_chat_template = "x"\n'
    members = {
        "trl/chat_template_utils.py": (1, source),
        "trl/chat_templates/qwen3_training.jinja": (2, b"{% generation -%}"),
        "trl/chat_templates/qwen3.jinja": (3, b"the word generation"),
    }
    found = model_facts("trl", members, {})["templates"]
    assert {name for name, value in found.items() if value == "generation"} == {"tiny", "qwen3_training"}
    assert {"other", "qwen3"} <= found.keys()


# -- what is recorded -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["transformers", "peft", "trl", "vllm"])
def test_the_newest_release_is_recorded(package):
    assert releases(f"models/{package}")[-1] == releases(package)[-1]


@pytest.mark.parametrize(
    ("family", "version", "layers"),
    [
        ("llama", "4.46.3", {"LlamaDecoderLayer"}),
        ("qwen2", "5.23.0", {"Qwen2DecoderLayer"}),
        ("gemma3", "5.23.0", {"Gemma3DecoderLayer"}),
        ("qwen3", "4.46.3", None),
        ("llama", "3.0.0", None),
    ],
)
def test_layers_of_families(family, version, layers):
    assert architectures.layer_classes(family, version) == layers


def test_experts_are_no_layers_in_transformers_5():
    assert "w1" in architectures.adapted_names("mixtral", "4.57.6")
    assert "w1" not in architectures.adapted_names("mixtral", "5.23.0")
    assert "gate_up_proj" in architectures.parameter_names("mixtral", "5.23.0")


def test_what_a_family_takes_from_others_is_open():
    assert architectures.is_composed("llava", "4.57.6")
    assert architectures.is_composed("qwen2", "4.57.6") is False
    assert architectures.is_composed("nothing", "4.57.6") is None


def test_families_are_found_by_a_layer():
    assert architectures.families_with_layer("MixtralDecoderLayer", "4.57.6") == {"mixtral"}
    assert architectures.families_with_layer("NoDecoderLayer", "4.57.6") == frozenset()
    assert {"llama", "qwen2"} <= architectures.families("4.57.6")


def test_default_targets():
    assert architectures.default_targets("qwen2", "0.12.0") == ("q_proj", "v_proj")
    assert architectures.default_targets("qwen2", "0.11.1") == ()
    assert architectures.default_targets("gemma4", "0.21.2") == ("/.*language_model\\..*\\.(q_proj|v_proj)/",)
    assert architectures.default_targets("qwen2", "99.0") is None


def test_training_templates():
    assert architectures.has_training_template("qwen3", "0.26.2") is False  # a prefix is kept, nothing is marked
    assert architectures.has_training_template("llama3", "1.16.0")
    assert architectures.has_training_template("llama3_1", "1.16.0") is False
    assert architectures.has_training_template("llama3", "99.0") is None


def test_columns_that_a_trainer_keeps():
    assert "images" in architectures.kept_columns("GRPOTrainer", "1.16.0")
    assert architectures.kept_columns("GRPOTrainer", "0.15.2") == {"prompt"}


# -- the table --------------------------------------------------------------------------------------------------------


def test_each_model_has_one_row_and_known_sources():
    ids = [row.id for row in TABLE.model]
    assert len(ids) == len(set(ids)) >= 100
    for row in (*TABLE.model, *TABLE.habit):
        assert row.sources
        assert {source.partition(" ")[0] for source in row.sources} <= TABLE.sources.keys()


def test_numbers_rest_on_two_sources():
    for row in TABLE.model:
        if row.heads or row.positions or row.vocabulary:
            assert len({source.partition(" ")[0] for source in row.sources}) >= 2, row.id


@pytest.mark.parametrize("row", TABLE.model, ids=lambda row: row.id)
def test_a_row_is_plausible(row):
    assert architectures.layer_classes(row.family, releases("transformers")[-1]) is not None
    if row.heads and row.kv_heads:
        assert row.heads % row.kv_heads == 0
    by_name = [p for p in TABLE.pattern if any(re.fullmatch(text, row.id) for text in p.ids)]
    assert [(p.family, p.vision) for p in by_name[:1]] in ([], [(row.family, row.vision)])


@pytest.mark.parametrize(
    ("mirror", "original"),
    [
        ("unsloth/Qwen2.5-7B-Instruct-bnb-4bit", "Qwen/Qwen2.5-7B-Instruct"),
        ("unsloth/llama-3-8b-bnb-4bit", "meta-llama/Meta-Llama-3-8B"),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-unsloth-bnb-4bit", "meta-llama/Meta-Llama-3.1-8B-Instruct"),
        ("unsloth/gemma-3-4b-it", "google/gemma-3-4b-it"),
    ],
)
def test_mirrors_are_the_models_they_copy(mirror, original):
    assert models.original_of(mirror) == original
    assert models.model_of(mirror).id == original
    assert models.family_of(mirror) == models.family_of(original)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Qwen/Qwen3-4B-Thinking-2507", "qwen3"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_moe"),
        ("Qwen/Qwen2.5-VL-72B-Instruct", "qwen2_5_vl"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "qwen2"),
        ("meta-llama/Llama-3.2-11B-Vision-Instruct", "mllama"),
        ("microsoft/Phi-4-multimodal-instruct", None),
        ("me/Qwen2.5-7B-Instruct", None),
        ("unsloth/a-model-of-its-own", None),
    ],
)
def test_a_name_tells_the_family_and_no_numbers(name, family):
    found = models.family_of(name)
    assert (found.name if found else None) == family
    assert models.model_of(name) is None


def test_habits_are_those_of_the_id_itself():
    assert models.habit_of("meta-llama/Llama-3.1-8B-Instruct").pad == "none"
    assert models.habit_of("unsloth/Llama-3.1-8B-Instruct").pad == ""
    assert models.habit_of("meta-llama/Llama-3.2-11B-Vision-Instruct").pad == ""
    assert models.habit_of("Qwen/Qwen2.5-1.5B").turn_end == "<|im_end|>"
    assert models.habit_of("Qwen/Qwen2.5-1.5B-Instruct").turn_end == ""


# -- datasets and columns ---------------------------------------------------------------------------------------------


def test_each_dataset_has_one_row_and_columns():
    rows = datasets._rows()
    assert len({row.ids for row in rows.values()}) >= 50
    assert sum(len(row.ids) for row in datasets.read_rows("models/datasets.toml", datasets._Table).dataset) == len(rows)
    assert all(row.columns and row.source.startswith("https://github.com/") for row in rows.values())


@pytest.mark.parametrize(
    ("name", "config", "columns"),
    [
        ("openai/gsm8k", "main", {"question", "answer"}),
        ("gsm8k", "", {"question", "answer"}),
        ("trl-internal-testing/zen", "standard_preference", {"prompt", "chosen", "rejected"}),
        ("trl-internal-testing/zen", "", None),
        ("me/mine", "", None),
    ],
)
def test_datasets_are_found_by_id_and_configuration(name, config, columns):
    found = datasets.hub_dataset(name, config)
    assert (set(found.columns) if found else None) == columns


def test_rows_of_one_trainer_do_not_overlap():
    table = trainer_columns()
    for release in releases("trl"):
        for name in {name for row in table.needs for name in row.trainers}:
            assert sum(name in row.trainers and holds(row.releases, release) for row in table.needs) <= 1


def test_what_a_trainer_keeps_is_what_it_needs():
    """The columns that the newest releases name themselves are among those of the table."""
    for name in ("GRPOTrainer", "RLOOTrainer"):
        row = next(row for row in trainer_columns().needs if name in row.trainers)
        assert set(row.one_of[0]) <= architectures.kept_columns(name, releases("trl")[-1])


# -- which release brought a model ------------------------------------------------------------------------------------

AUTO, REGISTRY = "transformers/models/auto/configuration_auto.py", "vllm/model_executor/models/registry.py"


def test_types_and_classes_are_read_and_what_always_was_is_left_out():
    old = b'CONFIG_MAPPING_NAMES = OrderedDict([("llama", "LlamaConfig")])\n'
    new = b'CONFIG_MAPPING_NAMES = OrderedDict([("llama", "LlamaConfig"), ("qwen3", "Q"), ("qwen3_decoder", "Q")])\n'
    facts = [
        (version, model_facts("transformers", {AUTO: (1, text)}, {})) for version, text in (("1", old), ("2", new))
    ]
    text = render("transformers", ["1", "2"], without_constants(merge(facts)), "models")
    assert text.splitlines()[-2:] == ["types 1", " qwen3 | 2 +"]
    source = b'_TEXT_GENERATION_MODELS = {"Qwen3ForCausalLM": 1}\n_PREVIOUSLY_SUPPORTED_MODELS = {"XForCausalLM": 1}\n'
    assert model_facts("vllm", {REGISTRY: (1, source)}, {})["architectures"].keys() == {"+", "qwen3"}


@pytest.mark.parametrize(
    ("identifier", "transformers", "vllm"),
    [
        # Read in `CONFIG_MAPPING_NAMES` of 140 releases of transformers, and in the registry of 66 of vLLM.
        ("Qwen/Qwen3-8B", "<4.51.0", "<0.7.2"),
        ("Qwen/Qwen3-30B-A3B", "<4.51.0", "<0.7.2"),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "<4.57.0", "<0.7.2"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "<4.49.0", "<0.7.2"),
        ("google/gemma-3-1b-it", "<4.50.0", "<0.7.2"),
        ("google/gemma-3-4b-it", "<4.50.0", "<0.8.0"),
        ("OpenGVLab/InternVL3-8B-hf", "<4.52.0", "<0.10.0"),
        ("answerdotai/ModernBERT-base", "<4.48.0", ""),
        ("openai/gpt-oss-20b", "<4.55.0", "<0.7.2"),
        ("Qwen/Qwen2.5-7B", "", ""),
        ("meta-llama/Llama-3.1-8B", "", ""),
    ],
)
def test_releases_without_a_model(identifier, transformers, vllm):
    family = models.family_of(identifier)
    of = (family.name, family.model_type, family.vision)
    assert architectures.releases_without("transformers", *of) == transformers
    assert architectures.releases_without("vllm", *of) == vllm


def test_native_families_are_known():
    known = {row.family for row in (*TABLE.pattern, *TABLE.model)}
    assert set(TABLE.native) - known <= {"bamba", "chameleon", "falcon_mamba", "granitemoe", "pixtral", "zamba2"}
