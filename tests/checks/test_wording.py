"""What findings say of a script, word for word where somebody reads a name or a number of his own in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixture_cases import run_json

SCRIPT = """
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

args = GRPOConfig(output_dir="out", max_steps=10{config})
data = load_dataset("trl-lib/tldr", split="train"{data})
trainer = GRPOTrainer(model="Qwen/Qwen3-0.6B", reward_funcs=reward, args=args, train_dataset=data{trainer})
trainer.train()
"""


@pytest.mark.parametrize(
    ("config", "data", "trainer", "expected"),
    [
        # Other trainers of TRL renamed this argument, and GRPOTrainer never had it.
        ("", "", ", tokenizer=t", "`GRPOTrainer` has no argument `tokenizer`: did you mean `processing_class`?"),
        (
            ", max_prompt_len=5",
            "",
            "",
            "`GRPOConfig` has no argument `max_prompt_len`: did you mean `max_prompt_length",
        ),
        ("", ", streaming=True", "", "trl 0.19.1 refuses this: `train_dataset` is an IterableDataset (NotImpl"),
    ],
)
def test_a_script_is_told(
    config: str, data: str, trainer: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "requirements.txt").write_text("trl==0.19.1\ntransformers==4.53.2\n")
    (tmp_path / "train.py").write_text(SCRIPT.format(config=config, data=data, trainer=trainer))
    monkeypatch.chdir(tmp_path)
    messages = [finding["message"] for finding in run_json([], capsys)[1]["findings"]]
    assert any(message.startswith(expected) for message in messages), messages


@pytest.mark.parametrize(
    ("release", "remedy"),
    [
        ("==0.17.0", "on other GPUs first (pinned: trl 0.17.0)"),
        ("==0.19.1", 'on other GPUs first, or set `vllm_mode="colocate"` (pinned: trl 0.19.1)'),
        (">=0.17.0,<=0.19.1", 'on other GPUs first, or set `vllm_mode="colocate"` where the release has it ('),
    ],
)
def test_a_way_without_a_server_is_told_where_the_release_has_one(
    release: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "requirements.txt").write_text(f"trl{release}\ntransformers==4.51.3\n")
    (tmp_path / "train.py").write_text(SCRIPT.format(config=", use_vllm=True", data="", trainer=""))
    (tmp_path / "run.sh").write_text("accelerate launch --num_processes 2 train.py\n")
    monkeypatch.chdir(tmp_path)
    messages = [finding["message"] for finding in run_json(["--select", "TRL806"], capsys)[1]["findings"]]
    assert len(messages) == 1 and remedy in messages[0], messages


@pytest.mark.parametrize(
    ("misspelt", "expected"),
    [
        ("max_promt_length", "did you mean `max_prompt_length`, which trl 0.28.0 removed?"),
        ("evaluation_strateg", "did you mean `eval_strategy`, which was `evaluation_strategy` once?"),
        ("num_generation", "did you mean `num_generations`?"),
        ("entropy_coeff", "did you mean `entropy_coef`"),
    ],
)
def test_a_misspelt_word_is_looked_for_in_all_releases(
    misspelt: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "requirements.txt").write_text("trl==1.0.0\ntransformers==5.0.0\n")
    (tmp_path / "train.py").write_text(SCRIPT.format(config=f", {misspelt}=5", data="", trainer=""))
    monkeypatch.chdir(tmp_path)
    messages = [finding["message"] for finding in run_json(["--select", "TRL301"], capsys)[1]["findings"]]
    assert len(messages) == 1 and expected in messages[0], messages
