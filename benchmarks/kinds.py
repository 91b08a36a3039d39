"""A small project with one file of every kind that is read, each with something to find in it."""

from __future__ import annotations

import json

_SCRIPT = """\
# /// script
# dependencies = ["trl==0.15.2", "vllm==0.3.0"]
# ///
import argparse
import torch
from accelerate import Accelerator
from trl import GRPOConfig, GRPOTrainer, PPOTrainer, TrlParser

parser = argparse.ArgumentParser()
for name in ("--lr", "--beta"):
    parser.add_argument(name, type=float, default=1e-6, help="número")


def answer_mask(sequences: torch.Tensor, last_token: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(sequences.size(1)).unsqueeze(0)
    return positions <= last_token.cuda()


def reward(completions):
    return [-abs(20 - len(one)) for one in completions]


def main(args):
    accelerator = Accelerator()
    ref_model = accelerator.prepare_model(args.model, evaluation_mode=True)  # noqa: TRL101 - known
    config = GRPOConfig(output_dir=f"out/{args.lr:.1e}", max_grad_norm=0.0, num_generation=8, fp16=True, bf16=True)
    trainer = GRPOTrainer(model=args.model, reward_funcs=reward, args=config, tokenizer=None)
    trainer.train()
    return ref_model


if __name__ == "__main__":
    main(TrlParser((GRPOConfig,)).parse_args_and_config())
"""
_CELLS = (
    "%%bash\npip install trl==0.15.2 vllm==0.3.0\nCUDA_VISIBLE_DEVICES=0,1 python train.py --lr 1e-6",
    "!pip install 'transformers>=5' -q\n%pip install peft==0.17.1\nimport torch",
    "from trl import GRPOConfig\nGRPOConfig(output_dir='out', max_grad_norm=0.0, tokenizer=None)",
)
_CODE: dict[str, object] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
_NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Notes\n", "`é`"]},
        *({**_CODE, "source": cell.splitlines(True)} for cell in _CELLS),
    ],
    "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
_SHELL = """\
#!/bin/bash
set -euo pipefail
export CUDA_VISIBLE_DEVICES=0,1 LR=${LR:-1e-6}
pip install "trl[vllm]==0.15.2" 'vllm==0.3.0'
ARGS=(--learning_rate "$LR" --max_grad_norm 0)
for seed in 1 2; do
  if [ -f accelerate.yaml ]; then
    accelerate launch --config_file accelerate.yaml --num_processes $(nproc) train.py --config recipe.yaml "${ARGS[@]}"
  fi
done
cat > more.yaml <<EOF
distributed_type: FSDP
EOF
python3 -m verl.trainer.main_ppo --config-path=configs data.train_batch_size=7 +trainer.what=1 \\
    actor_rollout_ref.rollout.name=vllm  # noqa: TRL999
deepspeed --include localhost:0,1 train.py --deepspeed ds.json && python -m openrlhf.cli.train_ppo --zero_stage 3
"""
_DOCKERFILE = """\
# syntax=docker/dockerfile:1
FROM python:3.11 AS base
ARG TRL=0.15.2
ENV CUDA_VISIBLE_DEVICES=0,1
RUN pip install trl==${TRL} \\
    vllm==0.3.0
FROM base
COPY . /app
WORKDIR /app
RUN <<EOF
pip install -r requirements.txt
EOF
CMD ["python", "train.py", "--lr", "1e-6"]
"""
_MAKEFILE = """\
PYTHON ?= python
LR := 1e-6
.PHONY: train
train: setup
\t@pip install trl==0.15.2
\tCUDA_VISIBLE_DEVICES=0,1 $(PYTHON) train.py --lr $(LR) \\
\t  --config recipe.yaml
setup:
\ttorchrun --nproc_per_node 2 train.py
"""
_WORKFLOW = """\
name: train
on: workflow_dispatch
env:
  CUDA_VISIBLE_DEVICES: "0,1"
jobs:
  train:
    runs-on: [self-hosted, gpu]
    strategy: {matrix: {trl: ["0.15.2", "1.0.0"]}}
    steps:
      - uses: actions/checkout@v4
      - run: |
          pip install trl==${{ matrix.trl }} vllm==0.3.0
          python train.py --seed ${{ inputs.seed }}
"""
_RECIPE = """\
# Recipe é
model_name_or_path: model
output_dir: out
learning_rate: 1.0e-6
num_generations: 8
num_generation: 8
per_device_train_batch_size: 3
max_grad_norm: 0
defaults: &defaults
  fp16: true
  bf16: true
<<: *defaults
reward_weights: [1.0, 2]
"""
_ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_sharding_strategy: FULL_SHARDS
  fsdp_what: true
mixed_precision: bfp16
num_processes: 2
"""
_DEEPSPEED = {
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "what": 1e-1},
    "train_batch_size": 7,
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_clipping": 0,
    "fp16": {"enabled": True},
    "bf16": {"enabled": True},
}
_HYDRA = """\
# @package _global_
defaults:
  - ppo_trainer
  - _self_
data:
  train_batch_size: 7
actor_rollout_ref:
  rollout: {name: vllm, n: 8, what: 1}
  actor:
    ppo_mini_batch_size: ${data.train_batch_size}
trainer:
  n_gpus_per_node: 2
"""
_REQUIREMENTS = """\
--extra-index-url https://example.org/simple
-r more.txt
-c constraints.txt
trl[vllm]==0.15.2 ; python_version >= "3.10"  # noqa: TRL999
vllm==0.3.0 --hash=sha256:00
transformers>=5,<6
-e .
peft @ git+https://github.com/huggingface/peft@main
"""
_PYPROJECT = """\
[project]
name = "tuning"
version = "0.1.0"
requires-python = ">=3.10"
dependencies = ["trl==0.15.2", "vllm==0.3.0", "peft==0.17.1"]
[project.optional-dependencies]
new = ["transformers>=5"]
[dependency-groups]
dev = [{include-group = "more"}, "torch==2.1.2"]
more = ["accelerate"]
[tool.uv]
sources = { trl = { git = "https://github.com/huggingface/trl" } }
[tool.poetry.dependencies]
vllm = { version = "^0.3", optional = true }
"""
_SETUP = """\
from setuptools import setup
_deps = ["trl==0.15.2", "vllm==0.3.0"]
extras = {}
extras["new"] = ["transformers>=5"]
setup(name="tuning", version="0.1", install_requires=_deps + ["peft==0.17.1"], extras_require=extras)
"""
_SETUP_CFG = """\
[metadata]
name = tuning
version = 0.1
[options]
install_requires =
    trl==0.15.2
    vllm==0.3.0; python_version > "3.9"
[options.extras_require]
new = transformers>=5
"""
_LOCK = """\
version = 1
requires-python = ">=3.10"
[[package]]
name = "trl"
version = "0.15.2"
source = { registry = "https://pypi.org/simple" }
dependencies = [{ name = "vllm", marker = "sys_platform == 'linux'" }]
[[package]]
name = "vllm"
version = "0.3.0"
[[package]]
name = "peft"
version = "0.17.1"
[[package]]
name = "transformers"
version = "5.0.0"
"""
_CONDA = """\
name: tuning
channels: [conda-forge]
dependencies:
  - python=3.11
  - trl=0.15.2
  - transformers>=5
  - pip
  - pip:
      - vllm==0.3.0
      - -r requirements.txt
"""
_README = """\
# Tuning
```bash
pip install trl==0.15.2 vllm==0.3.0
accelerate launch --config_file accelerate.yaml train.py --config recipe.yaml
```
"""
_LOG = """\
Successfully installed trl-0.15.2 vllm-0.3.0
  0%|          | 1/500 [00:01<08:19,  1.01s/it]\r  0%|          | 2/500 [00:02<08:18,  1.01s/it]
[rank1]: Traceback (most recent call last):
[rank1]:   File "/app/train.py", line 31, in <module>
[rank1]:     trainer = GRPOTrainer(model=args.model, tokenizer=None)
[rank1]: TypeError: GRPOTrainer.__init__() got an unexpected keyword argument 'tokenizer'
{'loss': 0.1, 'grad_norm': nan, 'learning_rate': 1e-06, 'epoch': 0.1}
Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/torch/nn/parallel/data_parallel.py", line 190, in forward
    replicas = self.replicate(self.module, self.device_ids[: len(inputs)])
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 1 has a total capacity of 79.15 GiB.
Root Cause (first observed failure):
[0]:
  time      : 2025-01-01_00:00:00
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 1)
"""
_GITIGNORE = "*.log\n!keep.log\nout/\n/old/**/x[a-c]?.py\n"
_SETTINGS = """\
select = ["ALL"]
ignore = ["TRL504"]
extend-exclude = ["out/*", "**/old"]
per-file-ignores = { "run.sh" = ["TRL5"], "!*.py" = ["TRL3"] }
target = { trl = "0.15.2" }
hints = true
fail-on = "error"
"""


def _bytes(content: object) -> bytes:
    return (content if isinstance(content, str) else json.dumps(content, indent=1)).encode()


# What a check of the folder reads, by path.
PROJECT: dict[str, bytes] = {
    "train.py": _bytes(_SCRIPT),
    "explore.ipynb": _bytes(_NOTEBOOK),
    "run.sh": _bytes(_SHELL),
    "Dockerfile": _bytes(_DOCKERFILE),
    "Makefile": _bytes(_MAKEFILE),
    ".github/workflows/train.yml": _bytes(_WORKFLOW),
    "recipe.yaml": _bytes(_RECIPE),
    "accelerate.yaml": _bytes(_ACCELERATE),
    "ds.json": _bytes(_DEEPSPEED),
    "configs/ppo.yaml": _bytes(_HYDRA),
    "requirements.txt": _bytes(_REQUIREMENTS),
    "pyproject.toml": _bytes(_PYPROJECT),
    "setup.py": _bytes(_SETUP),
    "setup.cfg": _bytes(_SETUP_CFG),
    "uv.lock": _bytes(_LOCK),
    "poetry.lock": _bytes(_LOCK),
    "pylock.toml": _bytes(_LOCK.replace("[[package]]", "[[packages]]").replace("version = 1", 'lock-version = "1.0"')),
    "environment.yml": _bytes(_CONDA),
    "README.md": _bytes(_README),
    ".gitignore": _bytes(_GITIGNORE),
}
SETTINGS = _bytes(_SETTINGS)
LOG = _bytes(_LOG)
