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
_LONG_SCRIPT = '''\
"""Train a model to answer arithmetic questions with GRPO, with rewards for the answer, the format and the length."""

import argparse
import json
import logging
import os
import re
from dataclasses import dataclass, field
from typing import Optional

import torch
from datasets import Dataset, load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

logger = logging.getLogger(__name__)

SYSTEM_PROMPT = "Think first, between <think> and </think>, then give the answer between <answer> and </answer>."
ANSWER = re.compile(r"<answer>\\s*(.*?)\\s*</answer>", re.DOTALL)
FORMAT = re.compile(r"^<think>.*?</think>\\s*<answer>.*?</answer>$", re.DOTALL)


@dataclass
class Arguments:
    """What the command line may change."""

    model: str = "Qwen/Qwen2.5-0.5B-Instruct"
    dataset: str = "openai/gsm8k"
    output: str = "out"
    seed: int = SEED
    rank: int = 16
    weights: list = field(default_factory=lambda: [1.0, 0.5, 0.1])
    limit: Optional[int] = None


def read_arguments() -> Arguments:
    parser = argparse.ArgumentParser(description=__doc__)
    defaults = Arguments()
    parser.add_argument("--model", default=defaults.model)
    parser.add_argument("--dataset", default=defaults.dataset)
    parser.add_argument("--output", default=defaults.output)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--rank", type=int, default=defaults.rank)
    parser.add_argument("--limit", type=int, default=None)
    given = parser.parse_args()
    return Arguments(given.model, given.dataset, given.output, given.seed, given.rank, limit=given.limit)


def answer_of(text: str) -> Optional[str]:
    """The last answer of a completion, without thousands separators; None where there is none."""
    found = ANSWER.findall(text)
    return found[-1].replace(",", "").strip() if found else None


def gold_of(solution: str) -> str:
    return solution.rpartition("####")[2].replace(",", "").strip()


def reward_correct(completions, solution, **kwargs):
    rewards = []
    for completion, gold in zip(completions, solution):
        content = completion[0]["content"] if isinstance(completion, list) else completion
        given = answer_of(content)
        if given is None:
            rewards.append(0.0)
            continue
        try:
            rewards.append(1.0 if abs(float(given) - float(gold_of(gold))) < 1e-6 else 0.0)
        except ValueError:
            rewards.append(1.0 if given == gold_of(gold) else 0.0)
    return rewards


def reward_format(completions, **kwargs):
    contents = [completion[0]["content"] if isinstance(completion, list) else completion for completion in completions]
    return [1.0 if FORMAT.match(content.strip()) else 0.0 for content in contents]


def reward_length(completions, **kwargs):
    """Longer answers than two hundred words are worth less and less."""
    rewards = []
    for completion in completions:
        content = completion[0]["content"] if isinstance(completion, list) else completion
        words = len(content.split())
        rewards.append(0.0 if words <= 200 else -min(1.0, (words - 200) / 400))
    return rewards


def prepare(arguments: Arguments, split: str) -> Dataset:
    dataset = load_dataset(arguments.dataset, "main", split=split)
    if arguments.limit:
        dataset = dataset.select(range(min(arguments.limit, len(dataset))))

    def conversation(row):
        prompt = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": row["question"]}]
        return {"prompt": prompt, "solution": row["answer"]}

    return dataset.map(conversation, remove_columns=[name for name in dataset.column_names if name != "answer"])


def write_summary(trainer: GRPOTrainer, folder: str) -> None:
    path = os.path.join(folder, "summary.json")
    best = max((entry.get("reward", float("-inf")) for entry in trainer.state.log_history), default=None)
    with open(path, "w", encoding="utf-8") as stream:
        json.dump({"steps": trainer.state.global_step, "best reward": best}, stream, indent=2)
    logger.info("wrote %s", path)


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    arguments = read_arguments()
    tokenizer = AutoTokenizer.from_pretrained(arguments.model, padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(arguments.model).to(torch.bfloat16)
    training = GRPOConfig(
        output_dir=arguments.output,
        seed=arguments.seed,
        learning_rate=1e-6,
        lr_scheduler_type="cosine",
        warmup_ratio=0.1,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=4,
        num_generations=8,
        max_completion_length=256,
        ARGUMENT,
        reward_weights=arguments.weights,
        temperature=0.9,
        beta=0.001,
        bf16=True,
        gradient_checkpointing=True,
        max_grad_norm=0.2,
        logging_steps=1,
        save_steps=100,
        report_to="none",
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[reward_correct, reward_format, reward_length],
        args=training,
        train_dataset=prepare(arguments, "train"),
        eval_dataset=prepare(arguments, "test"),
        processing_class=tokenizer,
        peft_config=LoraConfig(r=arguments.rank, lora_alpha=2 * arguments.rank, target_modules="all-linear"),
    )
    trainer.train()
    trainer.save_model(arguments.output)
    write_summary(trainer, arguments.output)


if __name__ == "__main__":
    main()
'''
REQUIREMENTS = "trl==0.29.0\ntransformers>=4.56\naccelerate\npeft\nvllm==0.12.0\n"
_REMOVED = os.path.join(os.path.dirname(__file__), "..", "tests", "checks", "removed_parameters.txt")


def write_script(folder: str) -> str:
    """One training script beside its requirements.txt, with one argument that went; the path of the script."""
    _write(os.path.join(folder, "requirements.txt"), REQUIREMENTS)
    return _write(os.path.join(folder, "train.py"), _SCRIPT)


def training_script(is_wrong: bool, seed: int = 0) -> str:
    """A training script as people write them, of 6 kB; with one argument that went, or with nothing wrong."""
    argument = "max_prompt_length=512" if is_wrong else "max_steps=-1"
    return _LONG_SCRIPT.replace("ARGUMENT", argument).replace("SEED", str(seed))


def write_long_script(folder: str, is_wrong: bool) -> str:
    """Such a script beside its requirements.txt; the path of the script."""
    _write(os.path.join(folder, "requirements.txt"), REQUIREMENTS)
    return _write(os.path.join(folder, "train.py"), training_script(is_wrong))


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
