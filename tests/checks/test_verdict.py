"""Equal evidence gets an equal level, whichever rule judges it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from fixture_cases import run_json

from trl_lint.checks.verdict import Evidence, graded, has_floor
from trl_lint.finding import Severity
from trl_lint.knowledge.compat import repositories

Wrong = Literal["every release", "some, the newest among them", "older ones only"]
Why = Literal["pinned", "assumed", "dated", "tip"]

# How severe a fault that is an error at most is, by the releases in which it exists and by what the pins prove.
LEVELS: dict[tuple[Wrong, Why], Severity] = {
    ("every release", "pinned"): "error",
    ("every release", "assumed"): "warning",
    ("every release", "dated"): "info",
    ("every release", "tip"): "warning",
    ("some, the newest among them", "pinned"): "warning",
    ("some, the newest among them", "assumed"): "info",
    ("some, the newest among them", "dated"): "info",
    ("some, the newest among them", "tip"): "warning",
    ("older ones only", "pinned"): "info",
    ("older ones only", "assumed"): "info",
    ("older ones only", "dated"): "info",
    ("older ones only", "tip"): "info",
}


@pytest.mark.parametrize(("wrong", "why"), LEVELS)
def test_levels(wrong: Wrong, why: Why):
    evidence = {"everywhere": wrong == "every release", "only_old": wrong == "older ones only"}
    evidence |= {"assumed": why in ("assumed", "dated"), "dated": why == "dated", "tip": why == "tip"}
    assert graded("error", Evidence(**evidence)) == LEVELS[wrong, why]
    assert graded("info", Evidence(**evidence)) == "info"
    if why == "tip":  # what is no error at worst is as sure there as anywhere
        assert graded("warning", Evidence(**evidence)) == graded("warning", Evidence(**{**evidence, "tip": False}))


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [("<=0.9.6", False), ("", False), ("!=0.9", False), (">=0.9", True), ("~=0.9", True), ("==0.9 | ==0.11", False)],
)
def test_pins_with_a_lower_bound(specifier: str, expected: bool):
    assert has_floor(specifier) is expected


class Row(NamedTuple):
    """A fault of a rule whose highest level is an error.

    `every`, `some`: pins that allow only releases that have it, and others as well. `old`: files with a fault that the
    newest release does not have, and a pin that allows both kinds. `is_newest`: the newest of all releases has it.
    `is_code`: it is no key, flag or word of a config or a command, of which nothing is told then. `may_be_new`: it is
    a value, and the main branch of the repository may take more of them than the newest release; nothing is told then.
    """

    code: str
    package: str
    files: dict[str, str]
    every: str
    some: str
    old: tuple[dict[str, str], str] | None = None
    is_newest: bool = True
    is_code: bool = True
    may_be_new: bool = False


def script(text: str, command: str = "") -> dict[str, str]:
    return {"train.py": text, **({"run.sh": command + "\n"} if command else {})}


def trainer(name: str, arguments: str, more: str = "") -> str:
    rewards = "reward_funcs=len, " if name in ("GRPO", "RLOO") else ""
    return (
        f"from trl import {name}Config, {name}Trainer\n\n"
        f'args = {name}Config(output_dir="out", {arguments})\n'
        f'{name}Trainer(model="Qwen/Qwen3-0.6B", {rewards}args=args, train_dataset=data{more}).train()\n'
    )


def accelerate(extra: str, kind: str = "MULTI_GPU") -> str:
    return f"compute_environment: LOCAL_MACHINE\ndistributed_type: {kind}\nnum_machines: 1\nnum_processes: 8\n{extra}"


IMPORT_PPO = script("from trl import PPOTrainer\n")
TWO_GPUS = (
    "from transformers import AutoModelForCausalLM\nfrom trl import GRPOConfig, GRPOTrainer\n\n"
    'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B")\n'
    'GRPOTrainer(model, reward_funcs=len, args=GRPOConfig(output_dir="out"), train_dataset=data).train()\n'
)
REWARD = (
    "from trl import GRPOConfig, GRPOTrainer\n\n\ndef reward(prompts, completions{}):\n    return [0.0]\n\n\n"
    'GRPOTrainer(model="Qwen/Qwen3-0.6B", reward_funcs=reward, args=GRPOConfig(output_dir="out"), train_dataset=data)\n'
)
OVERRIDE = (
    "from transformers import Trainer\n\n\nclass Mine(Trainer):\n"
    "    def {}:\n        return super().compute_loss(model, inputs)\n"
)
FSDP2 = accelerate("fsdp_config:\n  fsdp_version: 2\n  fsdp_activation_checkpointing: true\n", "FSDP")
LAUNCH = "accelerate launch --config_file accelerate.yaml train.py"

ROWS = (
    Row(
        "TRL301",
        "trl",
        script('from trl import GRPOConfig\n\nGRPOConfig(output_dir="out", vllm_device="cuda:1")\n'),
        ">=0.18.0",
        ">=0.16.0",
        (script('from trl import GRPOConfig\n\nGRPOConfig(output_dir="out", vllm_mode="server")\n'), ">=0.16.0"),
    ),
    Row("TRL302", "trl", IMPORT_PPO, ">=0.29.0", ">=0.26.0", (script("from trl import RLOOConfig\n"), ">=0.8.0")),
    Row(
        "TRL305",
        "transformers",
        script(OVERRIDE.format("compute_loss(self, model, inputs, return_outputs=False)")),
        ">=4.49.0",
        ">=4.45.0",
        (
            script(
                OVERRIDE.replace("compute_loss(model", "_save_checkpoint(model").format(
                    "_save_checkpoint(self, model, trial)"
                )
            ),
            ">=4.45.0",
        ),
    ),
    Row(
        "TRL401",
        "accelerate",
        {"accelerate.yaml": accelerate("ipex_config:\n  ipex: true\n")},
        ">=1.13.0",
        ">=1.10.0",
        ({"accelerate.yaml": accelerate("parallelism_config:\n  parallelism_config_tp_size: 2\n", "FSDP")}, ">=1.9.0"),
        is_code=False,
    ),
    Row(
        "TRL401",
        "verl",
        {"run.sh": "python -m verl.trainer.main_ppo critic.model.fsdp_config.param_offload=False\n"},
        ">=0.9.0",
        ">=0.6.0",
        ({"run.sh": "python -m verl.trainer.main_ppo critic.fsdp.param_offload=False\n"}, ">=0.6.0"),
        is_code=False,
    ),
    Row(
        "TRL301",
        "trl",
        {"run.sh": "trl grpo --model_name_or_path m --dataset_name d --output_dir out --max_prompt_length 8\n"},
        ">=0.28.0",
        ">=0.26.0",
        (
            {"run.sh": "trl grpo --model_name_or_path m --dataset_name d --output_dir out --vllm_mode server\n"},
            ">=0.17.0",
        ),
        is_code=False,
    ),
    Row(
        "TRL402",
        "accelerate",
        {"accelerate.yaml": accelerate("", "MPS")},
        ">=0.20.0",
        ">=0.19.0",
        ({"accelerate.yaml": accelerate("", "MULTI_NEURON")}, ">=1.12.0"),
        is_code=False,
        may_be_new=True,
    ),
    Row(
        "TRL403",
        "trl",
        script(trainer("SFT", "padding_free=True")),
        ">=1.0.0",
        ">=0.28.0",
        (script(trainer("KTO", "per_device_train_batch_size=1, learning_rate=1e-6")), ">=0.25.0,<0.29"),
    ),
    Row(
        "TRL404",
        "trl",
        {**script(trainer("SFT", "learning_rate=1e-5"), LAUNCH), "accelerate.yaml": FSDP2},
        ">=0.22.0",
        ">=0.20.0",
        (
            {
                **script(trainer("DPO", "precompute_ref_log_probs=True"), LAUNCH),
                "accelerate.yaml": accelerate("deepspeed_config:\n  zero_stage: 3\n", "DEEPSPEED"),
            },
            ">=0.28.0",
        ),
    ),
    Row("TRL405", "accelerate", {"accelerate.yaml": accelerate("mixed_precision: no\n")}, ">=0.34.0", ">=0.30.0"),
    Row("TRL501", "trl", script(TWO_GPUS, "CUDA_VISIBLE_DEVICES=0,1 python train.py"), ">=1.15.0", ">=1.14.0"),
    Row(
        "TRL506",
        "vllm",
        {"run.sh": "export VLLM_ATTENTION_BACKEND=XFORMERS\nvllm serve Qwen/Qwen3-0.6B\n"},
        ">=0.12.0,<0.15.0",
        ">=0.11.0,<0.15.0",
        is_newest=False,
    ),
    Row(
        "TRL701",
        "trl",
        script(
            trainer(
                "GRPO",
                'num_generations=8, per_device_train_batch_size=8, per_device_eval_batch_size=3, eval_strategy="steps"',
                ", eval_dataset=held_out",
            ),
            "accelerate launch --num_processes 1 train.py",
        ),
        ">=0.22.0",
        ">=0.20.0",
        (
            script(
                trainer("GRPO", "num_generations=8, per_device_train_batch_size=4, gradient_accumulation_steps=2"),
                "accelerate launch --num_processes 1 train.py",
            ),
            ">=0.16.0",
        ),
    ),
    Row("TRL702", "trl", script(REWARD.format("")), ">=0.18.0", ">=0.17.0"),
    Row(
        "TRL803",
        "trl",
        script(
            trainer("GRPO", "use_vllm=True, vllm_tensor_parallel_size=3"),
            "accelerate launch --num_processes 8 train.py",
        ),
        ">=1.0.0",
        ">=0.29.0",
    ),
)


CELLS = [
    pytest.param(row, wrong, why, id=f"{row.code} {row.package}, {wrong}, {why}")
    for row in ROWS
    for wrong, why in LEVELS
    if why == "pinned" or (wrong == "every release" and row.is_newest)
    if wrong != "older ones only" or row.old is not None
]


@pytest.mark.parametrize(("row", "wrong", "why"), CELLS)
def test_rules(
    row: Row,
    wrong: Wrong,
    why: Why,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    files, specifier = row.files, row.every if wrong == "every release" else row.some
    if wrong == "older ones only" and row.old is not None:
        files, specifier = row.old
    pins = {
        "pinned": f"{row.package}{specifier}\n",
        "assumed": "",
        "dated": "peft==0.10.0\n",
        "tip": f"{row.package} @ git+https://github.com/{repositories()[row.package][0]}\n",
    }
    for name, text in {**files, "requirements.txt": pins[why]}.items():
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    _, report = run_json(["--select", row.code], capsys)
    is_told = not row.may_be_new if why == "tip" else row.is_code or wrong != "older ones only"
    assert {finding["severity"] for finding in report["findings"]} == ({LEVELS[wrong, why]} if is_told else set())
