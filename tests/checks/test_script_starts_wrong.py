# ruff: noqa: E501
"""TRL508: scripts that start what they are meant to, and just beside them scripts that do not.

What launchers do is from their sources, what srun does from its manual.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixture_cases import run_json

TORCHRUN = "torchrun --nnodes 2 --nproc_per_node 8"
C10D = "--rdzv_backend c10d --rdzv_endpoint $H:29500"
PROJECT = {"train.py": "import torch\n", "src/tune.py": "import torch\n", "src/__init__.py": ""}


def job(*lines: str, nodes: int = 2, tasks: str = "--ntasks-per-node=1") -> str:
    return "\n".join(
        ["#!/bin/bash", f"#SBATCH --nodes={nodes}", f"#SBATCH {tasks}", "#SBATCH --gpus-per-node=8", *lines, ""]
    )


WRONG = {
    "nothing starts the other machine": job(f"{TORCHRUN} --master_addr $H train.py"),
    "nothing starts the other machine for accelerate": job(
        "accelerate launch --num_machines 2 --num_processes 16 --machine_rank 0 --main_process_ip $H train.py"
    ),
    "its rank is of the first machine": job(f"{TORCHRUN} --node_rank $SLURM_NODEID --master_addr $H train.py"),
    "tasks by GPUs": job(f"srun {TORCHRUN} {C10D} train.py", tasks="--ntasks-per-node=8"),
    "tasks in all": job(f"srun {TORCHRUN} {C10D} train.py", tasks="--ntasks=16"),
    "tasks by GPUs for accelerate": job(
        "srun accelerate launch --num_machines 2 --num_processes 16 --rdzv_backend c10d train.py", tasks="--ntasks=16"
    ),
    "a number behind srun": job(f"srun {TORCHRUN} --node_rank 0 --master_addr $H train.py"),
    "a variable before srun": job(f"srun {TORCHRUN} --node_rank=$SLURM_PROCID --master_addr $H train.py"),
    "a loop over hosts": f'for h in a b; do\n  ssh "$h" "{TORCHRUN} --node_rank 0 --master_addr a train.py" &\ndone\n',
    "localhost on two": f"{TORCHRUN} --node_rank $RANK --master_addr localhost train.py\n",
    "localhost for accelerate": "accelerate launch --num_machines 2 --main_process_ip 127.0.0.1 train.py\n",
    "no hosts": "deepspeed --num_nodes 2 --num_gpus 8 train.py\n",
    "a head on each": job("srun ray start --head --port=6379 --block &", "sleep 9", "wait"),
    "a server in front": "trl vllm-serve --model m\naccelerate launch train.py\n",
    "a server with nohup": "nohup vllm serve m > log 2>&1\npython train.py\n",
    "a server by its module": "python -m vllm.entrypoints.openai.api_server --model m\npython train.py\n",
    "nobody waits": job("python train.py &", "python train.py > log &", nodes=1),
    "nobody waits but for an echo": job("python train.py &", "echo started", nodes=1),
    "processes of one machine": job(
        "srun accelerate launch --num_machines 2 --num_processes 8 --machine_rank $R --main_process_ip $H train.py"
    ),
    "no multiple": "accelerate launch --num_machines 3 --num_processes 8 --machine_rank $1 --main_process_ip $2 train.py\n",
    "tasks that are no number": job(f"srun torchrun --nnodes 2 --nproc_per_node $SLURM_TASKS_PER_NODE {C10D} train.py"),
    "one port by default": "torchrun --nproc_per_node 2 train.py &\ntorchrun --nproc_per_node 2 train.py &\nwait\n",
    "one port for two launchers": "accelerate launch --num_processes 2 --main_process_port 29501 train.py &\n"
    "torchrun --nproc_per_node 2 --master_port 29501 train.py\n",
    "a folder that is not there": "cd sources\npython tune.py\n",
    "a path behind -m": "python -m src/tune.py --lr 1\n",
    "a path without its ending behind -m": "torchrun --nproc_per_node 2 -m src/tune\n",
    "a module without -m": "python src.tune --lr 1\n",
}
FINE = {
    "one task a machine": job(f"srun {TORCHRUN} {C10D} train.py"),
    "srun is told": job(f"srun --ntasks-per-node=1 {TORCHRUN} {C10D} train.py", tasks="--ntasks-per-node=8"),
    "srun is told shortly": job(f"srun -N 2 -n 2 {TORCHRUN} {C10D} train.py", tasks="--ntasks-per-node=8"),
    "srun with options from elsewhere": job(f"srun $OPTIONS {TORCHRUN} {C10D} train.py", tasks="--ntasks=16"),
    "one process a task": job("srun torchrun --nproc_per_node 1 --nnodes 16 train.py", tasks="--ntasks=16"),
    "plain tasks": job("srun python train.py", tasks="--ntasks-per-node=8"),
    "filled in on the machine": job(f"srun bash -c '{TORCHRUN} --node_rank $SLURM_NODEID --master_addr $H train.py'"),
    "escaped": job(f'srun bash -c "{TORCHRUN} --node_rank \\$SLURM_NODEID --master_addr $H train.py"'),
    "one machine": job("torchrun --nproc_per_node 8 train.py", nodes=1),
    "one machine of a larger job": job("torchrun --standalone --nproc_per_node 8 train.py"),
    "a loop with srun": job(
        "for i in 0 1; do", f"  srun -N1 -n1 -w $H {TORCHRUN} --node_rank $i --master_addr $H train.py &", "done", "wait"
    ),
    "a loop with ssh": job(f'for i in 0 1; do ssh n$i "{TORCHRUN} --node_rank $i --master_addr a train.py" & done', "wait"),
    "typed on each": f"{TORCHRUN} --node_rank 0 --master_addr 10.0.0.1 train.py\n",
    "typed on each, by its argument": f"{TORCHRUN} --node_rank $1 --master_addr $2 train.py\n",
    "a named host": f"ssh node1 {TORCHRUN} --node_rank 1 --master_addr node0 train.py\n",
    "localhost for one": "torchrun --nnodes 1 --nproc_per_node 8 --master_addr localhost train.py\n",
    "two on one machine": f"{TORCHRUN} --node_rank 0 --master_addr localhost train.py &\n"
    f"{TORCHRUN} --node_rank 1 --master_addr localhost train.py\n",
    "hosts": "deepspeed --hostfile hosts --num_nodes 2 --num_gpus 8 train.py\n",
    "hosts of slurm": "deepspeed --launcher slurm --num_nodes 2 --num_gpus 8 train.py\n",
    "deepspeed on each": "deepspeed --num_nodes 2 --no_ssh --node_rank $1 --master_addr a train.py\n",
    "deepspeed on one": "deepspeed --num_nodes 1 --num_gpus 8 train.py\n",
    "a head and workers": job(
        "srun -N1 -n1 -w $H ray start --head --block &", "srun -N1 -n1 -x $H ray start --address=$H:6379 --block &", "wait"
    ),
    "a head of a small job": job("srun ray start --head --block &", "wait", nodes=1),
    "a server behind": "vllm serve m &\npython train.py\n",
    "a list of servers": "vllm serve m\nvllm serve n\n",
    "a server alone": "python prepare.py\nvllm serve m\n",
    "a server or a trainer": "if [ $1 = serve ]; then\n  vllm serve m\nelse\n  python train.py\nfi\n",
    "a server in a session": "tmux new -d 'vllm serve m'\npython train.py\n",
    "a server in a container": "docker run -d vllm/vllm-openai vllm serve m\npython train.py\n",
    "a server for a while": "timeout 60 vllm serve m\npython train.py\n",
    "a server in a subshell": "(vllm serve m) &\npython train.py\n",
    "a server in a function": "serve() {\n  vllm serve m\n}\nserve &\npython train.py\n",
    "two are awaited": job("python train.py &", "python train.py &", "wait", nodes=1),
    "the last is in front": job("vllm serve m &", "python train.py", nodes=1),
    "it sleeps": job("python train.py &", "sleep 3600", nodes=1),
    "no job": "python train.py &\n",
    "processes of all machines": job(
        "srun accelerate launch --num_machines 2 --num_processes 16 --machine_rank $R --main_process_ip $H train.py"
    ),
    "tasks of one machine": job("torchrun --nproc_per_node $SLURM_TASKS_PER_NODE train.py", nodes=1),
    "tasks without what is behind": job(
        "srun torchrun --nnodes 2 --nproc_per_node ${SLURM_TASKS_PER_NODE%%(*} " + C10D + " train.py"
    ),
    "two ports": "torchrun --nproc_per_node 2 --master_port 29501 train.py &\ntorchrun --nproc_per_node 2 train.py &\nwait\n",
    "one after the other": "torchrun --nproc_per_node 2 train.py\ntorchrun --nproc_per_node 2 train.py\n",
    "one is awaited": "torchrun --nproc_per_node 2 train.py &\nwait\ntorchrun --nproc_per_node 2 train.py\n",
    "ports of their own": "torchrun --standalone --nproc_per_node 2 train.py &\n"
    "torchrun --standalone --nproc_per_node 2 train.py &\nwait\n",
    "one process each": "accelerate launch --num_processes 1 train.py &\naccelerate launch --num_processes 1 train.py\n",
    "a port from outside": "torchrun --nproc_per_node 2 --master_port $P train.py &\n"
    "torchrun --nproc_per_node 2 --master_port $Q train.py &\nwait\n",
    "a folder": "cd src\npython tune.py\n",
    "a folder that is made": "mkdir sources\ncd sources\npython tune.py\n",
    "a folder of the machine": "cd /work/sources\npython tune.py\n",
    "a folder above": "cd ../..\npython tune.py\n",
    "a folder from outside": "cd $SOURCES\npython tune.py\n",
    "a module": "python -m src.tune --lr 1\n",
    "a module of others": "python -m http.server\n",
    "a file with dots": "python train.v2.py\n",
}  # fmt: skip


def told(text: str, folder: Path, patch: pytest.MonkeyPatch, capsys: Any) -> list[str]:
    name = "job.sbatch" if "#SBATCH" in text else "run.sh"
    for path, content in {**PROJECT, name: text}.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(content, "utf-8")
    patch.chdir(folder)
    return [one["message"] for one in run_json(["--select", "TRL508", "."], capsys)[1]["findings"]]


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
def test_a_fault_is_told_once(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert len(told(text, tmp_path, monkeypatch, capsys)) == 1


@pytest.mark.parametrize("text", FINE.values(), ids=FINE.keys())
def test_nothing_is_said_of_what_works(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert told(text, tmp_path, monkeypatch, capsys) == []
