from __future__ import annotations

import json

import pytest

from trl_lint.project.documents import read_document
from trl_lint.sources import SourceError, SourceFile


def kind(text: str, name: str = "config.yaml") -> str | None:
    document = read_document(SourceFile(f"/project/{name}", text.encode()))
    return document.kind if document else None


ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_sharding_strategy: FULL_SHARD
mixed_precision: bf16
num_processes: 8
"""
DEEPSPEED = {"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ACCELERATE, "accelerate"),
        ("distributed_type: NO\nmixed_precision: no\nnum_processes: 1\n", "accelerate"),
        ("distributed_type: MULTI_GPU\nnum_processes: 2", "accelerate"),
        ("compute_environment: AMAZON_SAGEMAKER\nnum_machines: 1\n", "accelerate"),
        ("model_name_or_path: m\nlearning_rate: 1e-6\nreport_to: none\nlr_scheduler_type: cosine\n", "trl-recipe"),
        (
            "model_name_or_path: m\nstage: dpo\ndataset: d\nlearning_rate: 1e-6\nseed: 1\noutput_dir: o\n",
            "llamafactory",
        ),
        ("base_model: m\nmicro_batch_size: 1\nsequence_len: 2048\ndatasets: []\n", "axolotl"),
        ("actor_rollout_ref:\n  actor: {}\ntrainer:\n  nnodes: 1\n", "verl"),
        ("hydra: {}\ndefaults:\n- ppo_trainer\n- _self_\n", "verl"),
    ],
)
def test_documents_are_known_by_what_they_hold(text: str, expected: str) -> None:
    assert kind(text) == expected


def test_deepspeed_json() -> None:
    assert kind(json.dumps(DEEPSPEED), "zero3.json") == "deepspeed"
    without = {"train_batch_size": 8, "optimizer": {"type": "AdamW"}, "fp16": {"enabled": True}}
    assert kind(json.dumps({**without, "gradient_accumulation_steps": 1}), "ds.json") == "deepspeed"


@pytest.mark.parametrize("engine", ["optimizer", "scheduler", "fp16", "bf16"])
def test_deepspeed_json_without_zero(engine: str) -> None:
    """What its tree is taken for, the search of its bytes before does not rule out."""
    text = json.dumps({"train_batch_size": 8, engine: {}, "steps_per_print": 10})
    assert kind(text, "ds.json") == "deepspeed"


def test_axolotl_with_its_data_elsewhere() -> None:
    assert kind("base_model: m\nsequence_len: 2048\nadapter: lora\nlora_r: 8\n") == "axolotl"


def test_accelerate_json() -> None:
    text = json.dumps({"compute_environment": "LOCAL_MACHINE", "distributed_type": "FSDP", "num_processes": 2})
    assert kind(text, "fsdp.json") == "accelerate"


LOOK_ALIKES = {
    "deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n"
    "      containers:\n      - name: t\n        env:\n        - {name: model_name_or_path, value: m}\n",
    "pytorchjob.yaml": "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec:\n  distributed_type: FSDP\n",
    "workflow.yml": "on: push\nenv: {distributed_type: FSDP}\njobs:\n  test: {runs-on: ubuntu-latest}\n",
    "compose.yml": "services:\n  vllm:\n    command: --model_name_or_path m\n    restart: no\n",
    "mkdocs.yml": "site_name: model_name_or_path\nnav:\n- learning_rate: lr.md\n- output_dir: o.md\n",
    ".gitlab-ci.yml": "stage: sft\nvariables: {model_name_or_path: m}\nscript: [train]\n",
    "model_card.yaml": "base_model: Qwen/Qwen2.5\ndatasets: [d]\nlicense: mit\ntags: [trl]\n",
    "evaluation.yaml": "model_name_or_path: m\nmax_new_tokens: 10\ntemperature: 0.0\nseed: 1\n",
    "skypilot.yaml": "resources: {accelerators: H100:1}\nrun: |\n  python -m verl actor_rollout_ref.actor.lr=1\n",
    "hydra_optim.yaml": "defaults:\n- optim: adam\n- ppo_trainer_base\nlr: 1e-6\n",
    "nodes.yaml": "distributed_type: ring\nnum_machines: 3\nmachine_rank: 0\n",
    "package.json": '{"name": "x", "scripts": {"train_batch_size": "1"}, "version": "1"}',
    "config.json": '{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "model_name_or_path": "m"}',
    "tokenizer_config.json": '{"model_name_or_path": "m", "model_max_length": 1024, "bos_token": "<s>"}',
    "trainer_state.json": '{"train_batch_size": 8, "gradient_accumulation_steps": 1, "log_history": []}',
    "adapter_config.json": '{"base_model_name_or_path": "m", "peft_type": "LORA", "base_model": "m", "datasets": 1}',
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_look_alikes_are_nobodys(name: str) -> None:
    assert kind(LOOK_ALIKES[name], name) in (None, "other")


def test_several_documents_in_a_file_are_nobodys() -> None:
    assert kind(f"{ACCELERATE}---\n{ACCELERATE}") == "other"


def test_what_names_nothing_of_ours_is_not_even_parsed() -> None:
    assert kind("broken: [yaml\n") is None
    assert kind('{"broken": json', "x.json") is None
    assert kind(ACCELERATE, "notes.txt") is None
    assert kind("# distributed_type\n") is None


def test_data_is_not_configuration() -> None:
    assert kind("distributed_type: NO\n" + "# filler\n" * 200_000) is None


def test_malformed_candidates_are_reported() -> None:
    with pytest.raises(SourceError):
        kind("distributed_type: [FSDP\n")
    with pytest.raises(SourceError) as error:
        kind('{"zero_optimization": {"stage": 3},}', "ds.json")
    assert error.value.offset == 34


def test_templates_are_not() -> None:
    with pytest.raises(SourceError):  # what it is, `templates.py` says
        kind("distributed_type: FSDP\n{% if bf16 %}\nmixed_precision: bf16\n{% endif %}\n")


def test_places_count_in_the_file() -> None:
    file = SourceFile("/project/accelerate.yaml", b"\xef\xbb\xbf" + ACCELERATE.replace("\n", "\r\n").encode())
    document = read_document(file)
    assert document is not None
    assert document.path == "/project/accelerate.yaml"
    assert file.text[document.root.start : document.root.end].startswith("compute_environment")
