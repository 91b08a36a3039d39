"""Every launcher in every notation: what is written around a command changes nothing about what it starts."""

from __future__ import annotations

import json
from textwrap import indent

import pytest

from trl_lint.project.launch import Launch
from trl_lint.project.launches import read_launches
from trl_lint.sources.files import open_file

# Each as one command whose arguments end in `--seed 7`, what starts it, and what is started.
LAUNCHERS = {
    "python": ("python train.py --seed 7", "python", "train.py"),
    "python module": ("python3 -m openrlhf.cli.train_sft --seed 7", "python", "openrlhf.cli.train_sft"),
    "verl": ("python3 -m verl.trainer.main_ppo a.b=1 --seed 7", "python", "verl.trainer.main_ppo"),
    "accelerate": ("accelerate launch --num_processes 2 train.py --seed 7", "accelerate", "train.py"),
    "torchrun": ("torchrun --nproc_per_node 2 train.py --seed 7", "torchrun", "train.py"),
    "deepspeed": ("deepspeed --num_gpus 2 train.py --seed 7", "deepspeed", "train.py"),
    "openrlhf": ("deepspeed --module openrlhf.cli.train_dpo --seed 7", "deepspeed", "openrlhf.cli.train_dpo"),
    "trl": ("trl grpo --config recipe.yaml --seed 7", "trl", "grpo"),
    "trl server": ("trl vllm-serve --model m --seed 7", "trl", "vllm-serve"),
    "vllm": ("vllm serve m --seed 7", "vllm", "serve"),
    "llamafactory": ("llamafactory-cli train recipe.yaml --seed 7", "llamafactory-cli", "train"),
    "swift": ("swift rlhf --rlhf_type grpo --seed 7", "swift", "rlhf"),
    "axolotl": ("axolotl train recipe.yaml --seed 7", "axolotl", "train"),
}
# `{c}` is the command, `{h}` what stands before `--seed`.
SHELL = {
    "alone": "{c}",
    "continued": "{h} \\\n  --seed \\\n  7",
    "quoted": "{h} '--seed' \"7\"",
    "variable": "SEED=7\n{h} --seed $SEED",
    "default of a known variable": "SEED=7\n{h} --seed ${{SEED:-9}}",
    "arithmetic": "N=3\n{h} --seed $((2 * N + 1))",
    "array": 'ARGS=(--seed 7)\n{h} "${{ARGS[@]}}"',
    "array that grows": "ARGS=(\n  --seed  # why\n)\nARGS+=(7)\n{h} ${{ARGS[@]}}",
    "options in one variable": 'ARGS="--seed 7"\n{h} $ARGS',
    "whole command in a variable": 'CMD="{c}"\neval "$CMD"',
    "quotes": 'bash -c "{c}"',
    "quotes with a variable": "export SEED=7\nbash -lc '{h} --seed $SEED'",
    "heredoc": "bash <<'EOF'\n{c}\nEOF",
    "batch heredoc": "SEED=7\nsbatch <<EOF\n#!/bin/bash\n{h} --seed $SEED\nEOF",
    "folder": "cd examples && {c}",
    "subshell": "(cd examples; {c})",
    "folder of the script": 'cd "$(dirname "${{BASH_SOURCE[0]}}")" || exit 1\n{c}',
    "folder of the script, named": 'HERE=$(cd "$(dirname "$0")/.." && pwd)\ncd "$HERE"\n{c}',
    "background": "{c} &\nwait",
    "log": "{c} 2>&1 | tee log.txt",
    "branch": "if [ -d x ]; then\n  {c}\nfi",
    "loop over one": "for seed in 7; do {h} --seed $seed; done",
    "function": "run() {{\n  {c}\n}}\nrun",
    "condition": "[ -d x ] && {c} || exit 1",
    "environment": "CUDA_VISIBLE_DEVICES=0,1 X= {c}",
    "batch script": "#!/bin/bash\n#SBATCH --gres=gpu:4\n#SBATCH -N 1\nset -euo pipefail\nmodule load cuda\n{c}",
    "env": "env -u A B=1 {c}",
    "nohup": "nohup {c} > log 2>&1 &",
    "srun": "srun --nodes=1 -n 1 --gres=gpu:4 {c}",
    "srun in quotes": "srun -N 2 bash -c '{c}'",
    "numactl": "numactl --cpunodebind=0 --membind 0 {c}",
    "timeout": "timeout -k 10 2h {c}",
    "uv": "uv run --with x {c}",
    "conda": "conda run -n x --no-capture-output {c}",
    "ray": "ray job submit --address=http://h:1 --runtime-env-json='{{}}' -- {c}",
    "all at once": "nohup env A=1 timeout 9 srun -n 1 uv run {c} &",
    "remote": 'ssh node "{c}"',
}
FILES = {
    "run.sh": "{c}\n",
    "job.slurm": "#!/bin/bash\n#SBATCH -N 1\n{c}\n",
    "Makefile": "SEED := 7\ntrain: data\n\t@{h} \\\n\t\t--seed $(SEED)\n",
    "Dockerfile": "FROM x\nRUN pip install y\nCMD {c}\n",
    "json.Dockerfile": "FROM x\nENTRYPOINT {j}\n",
    ".github/workflows/a.yml": "jobs:\n  a:\n    steps:\n      - run: |\n          pip install x\n{i}\n",
    "README.md": "# Run\n\n```bash\n$ {c}\n```\n",
    "docstring.py": '"""Trains.\n\nExample:\n\n    {c}\n"""\nimport x\n',
    "comment.py": "# Usage:\n#   {c}\nimport x\n",
    "notebook.ipynb": '{{"cells": [{{"cell_type": "code", "source": {n}}}], "metadata": {{}}, "nbformat": 4}}',
}


def trains(text: str, name: str = "run.sh") -> Launch:
    (launch,) = [one for one in read_launches(open_file(f"/nowhere/{name}", text.encode())) if one.launcher]
    return launch


def check(launch: Launch, launcher: str, program: str) -> None:
    started = launch.module or launch.subcommand or (launch.script.text if launch.script else None)
    assert (launch.launcher, started) == (launcher, program)
    assert [word.text for word in launch.args[-2:]] == ["--seed", "7"]
    assert getattr(launch.flag("--seed"), "text", None) == "7"


@pytest.mark.parametrize("notation", SHELL)
@pytest.mark.parametrize("name", LAUNCHERS)
def test_shell(name: str, notation: str):
    command, launcher, program = LAUNCHERS[name]
    head = command.removesuffix(" --seed 7")
    check(trains(SHELL[notation].format(c=command, h=head) + "\n"), launcher, program)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", LAUNCHERS)
def test_files(name: str, file: str):
    command, launcher, program = LAUNCHERS[name]
    text = FILES[file].format(
        c=command,
        h=command.removesuffix(" --seed 7"),
        i=indent(command, " " * 10),
        j=json.dumps(command.split()),
        n=json.dumps([f"!{command}"]),
    )
    check(trains(text, file), launcher, program)
