"""`python pkg.mod`: a module of a framework, or of the project, that is started as if it were a file."""

from __future__ import annotations

import pytest
from command_line import Shell

FILES = {"jobs/train.py": "print(1)\n", "jobs/__init__.py": ""}
HEADS = [
    "python",
    "python3 -u",
    "CUDA_VISIBLE_DEVICES=0 python",
    "torchrun --nproc_per_node 2",
    "accelerate launch",
    "deepspeed",
]
OUTSIDE = ["ray job submit --address=http://127.0.0.1:8265 -- python", 'ssh node1 "cd /x && python']
MODULES = ["openrlhf.cli.train_ppo_ray", "verl.trainer.main_ppo", "axolotl.cli.train", "jobs.train"]


def told(sh: Shell, command: str) -> list[str]:
    for name, text in FILES.items():
        (sh.folder / name).parent.mkdir(exist_ok=True)
        (sh.folder / name).write_text(text)
    sh.write("run.sh", command + ('"\n' if command.startswith("ssh") else "\n"))
    lines = sh("--select", "TRL508", "--output-format", "concise").out.splitlines()
    return [line for line in lines if "there is no file" in line]


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("head", HEADS)
def test_a_module_is_no_file(sh: Shell, head: str, module: str) -> None:
    (line,) = told(sh, f"{head} {module} --bf16")
    assert f"{'--module' if head == 'deepspeed' else '-m'} {module}" in line
    option = "--module" if head == "deepspeed" else "-m"
    assert told(sh, f"{head} {option} {module} --bf16") == []
    assert told(sh, f"{head} {module.replace('.', '/')}.py --bf16") == []


@pytest.mark.parametrize("head", OUTSIDE)
def test_on_another_machine_only_modules_of_frameworks_are_known(sh: Shell, head: str) -> None:
    assert len(told(sh, f"{head} openrlhf.cli.train_ppo_ray --bf16")) == 1


@pytest.mark.parametrize(
    "name", ["train.py", "my.own.module", "train", "$MODULE", "verl/trainer/main_ppo.py", "trl.sh", "verl"]
)
def test_what_may_be_a_file(sh: Shell, name: str) -> None:
    assert told(sh, f"python {name} --bf16") == []
