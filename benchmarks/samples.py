"""The projects that are measured where nobody names one: made here, the same at every run."""

from __future__ import annotations

import os
from collections import defaultdict

_SCRIPT = """\
from datasets import load_dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer


def reward_length(completions, **kwargs):
    return [-abs(200 - len(completion)) for completion in completions]


def main():
    dataset = load_dataset("trl-lib/tldr", split="train")
    args = GRPOConfig(
        output_dir="out",
        learning_rate=1e-6,
        per_device_train_batch_size=8,
        num_generations=8,
        max_prompt_length=512,
        max_completion_length=256,
        use_vllm=True,
        vllm_mode="colocate",
        vllm_gpu_memory_utilization=0.3,
        bf16=True,
        gradient_checkpointing=True,
        logging_steps=1,
        report_to="none",
    )
    trainer = GRPOTrainer(
        model="Qwen/Qwen2.5-0.5B-Instruct",
        reward_funcs=reward_length,
        args=args,
        train_dataset=dataset,
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"),
    )
    trainer.train()


if __name__ == "__main__":
    main()
"""
_REQUIREMENTS = "trl==0.29.0\ntransformers>=4.56\naccelerate\npeft\nvllm==0.12.0\n"
_REMOVED = os.path.join(os.path.dirname(__file__), "..", "tests", "checks", "removed_parameters.txt")


def write_script(folder: str) -> str:
    """One training script beside its requirements.txt, with one argument that went; the path of the script."""
    _write(os.path.join(folder, "requirements.txt"), _REQUIREMENTS)
    return _write(os.path.join(folder, "train.py"), _SCRIPT)


def write_removed(folder: str) -> None:
    """A project for each release of trl that removed arguments, which passes them all: no two findings are the same."""
    calls: dict[str, list[str]] = defaultdict(list)
    with open(_REMOVED, encoding="utf-8") as stream:
        for line in stream:
            head, _, parameters = line.strip().partition(": ")
            release, _, dotted = head.partition(" ")
            if dotted.startswith("trl."):
                names = (each.partition(" -> ")[0] for each in parameters.split(", "))
                calls[release] += [f"{dotted}(*given, {name}=value)" for name in names]
    for release, lines in calls.items():
        project = os.path.join(folder, release)
        modules = sorted({line.partition("(")[0].rpartition(".")[0] for line in lines})
        _write(os.path.join(project, "trl-lint.toml"), "")  # a project of its own
        _write(os.path.join(project, "requirements.txt"), f"trl=={release}\n")
        _write(os.path.join(project, "train.py"), "\n".join([*(f"import {name}" for name in modules), *lines, ""]))


def _write(path: str, text: str) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    return path
