"""Ask the parsers of launchers which options and values they take: `python launchers.py LAUNCHER >> launchers.json`.

Run by hand where the package is installed (accelerate, torch, ray); of deepspeed the function `parse_args` of
`launcher/runner.py` in the folder $DEEPSPEED alone. Nothing is started: the parser reads the words, and that is all.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
from collections.abc import Callable

SCRIPT = ["train.py", "--lr", "1"]
WORDS: dict[str, list[str]] = {
    "accelerate": [
        "--num_processes 4", "--num-processes 4", "--num_processes=4", "--num_processes four", "--nproc_per_node 4",
        "--mixed_precision bf16", "--mixed_precision bfloat16", "--mixed_precision BF16", "--mixed_precision bf1",
        "--mixed-precision no", "--dynamo_backend inductor", "--dynamo_backend compile", "--dynamo_backend no",
        "--dynamo_backend INDUCTOR", "--num_machines 2 --machine_rank 0", "--nnodes 2", "--node_rank 0",
        "--main_process_port 0", "--main_process_port auto", "--master_port 1", "--main_process_ip 10.0.0.1",
        "--zero_stage 3", "--zero_stage three", "--use_deepspeed --zero_stage 2", "--multi_gpu --num_processes 2",
        "--gpu_ids all", "--gpu_ids 0,1", "--num_gpus 2", "--fsdp_version 2", "--fsdp_version 3", "--use_fsdp",
        "--gradient_accumulation_steps 4", "--gradient_accumulation_steps x", "--gradient_clipping 1.0",
        "--rdzv_backend c10d", "--rdzv_endpoint h:1", "--rdzv_conf a=b", "--max_restarts 3", "--monitor_interval 0.5",
        "--fp8_format HYBRID", "--fp8_format E4M4", "--fp8_backend te", "--same_network", "--debug", "--quiet",
        "--deepspeed_hostfile h", "--hostfile h", "--standalone", "--tee 3", "--role default", "--batch_size 4",
    ],
    "torchrun": [
        "--nproc_per_node 4", "--nproc-per-node 4", "--nproc_per_node=auto", "--nproc_per_node gpu",
        "--nproc_per_node all", "--nnodes 2", "--nnodes 1:4", "--nnodes two", "--nnodes=2 --node_rank=0",
        "--node_rank zero", "--num_processes 4", "--num_machines 2", "--num_gpus 2", "--main_process_port 1",
        "--master_port 29500", "--master_port auto", "--master_addr h", "--standalone", "--rdzv_backend c10d",
        "--rdzv_endpoint h:1 --rdzv_id 7", "--rdzv-id 7", "--max_restarts 3", "--max-restarts x", "--tee 3",
        "--log_dir l", "--start_method spawn", "--start_method thread", "--monitor_interval 1", "--no_python",
        "--mixed_precision bf16", "--machine_rank 0", "--local_addr h", "--redirects 3", "--role r", "--world_size 4",
    ],
    "deepspeed": [
        "--num_gpus 4", "--num-gpus 4", "--num_gpus=4", "--num_gpus all", "--num_nodes 2", "--nnodes 2",
        "--nproc_per_node 4", "--num_processes 4", "--hostfile h", "--include localhost:0,1", "--exclude h:0",
        "--master_port 29500", "--main_process_port 1", "--master_addr h", "--launcher slurm", "--node_rank 0",
        "--node_rank 0 --no_ssh", "--force_multi", "--module", "--no_local_rank", "--save_pid", "--ssh_port 22",
        "--ssh_port ssh", "--autotuning run", "--autotuning go", "--bind_cores_to_rank", "--bind_core_list 0-3",
        "--gpu_ids 0", "--deepspeed ds.json", "--config ds.json", "--launcher_args a", "--venv_script v",
    ],
    "ray start": [
        "--head", "--head --num-gpus 8", "--head --num_gpus 8", "--head --num-gpus=8", "--head --num-gpus all",
        "--address h:6379", "--address=h:6379 --num-cpus 4", "--head --port 6379", "--head --port auto", "--block",
        "--head --dashboard-host 0.0.0.0", "--head --dashboard-port 8265", "--head --include-dashboard true",
        "--head --resources {}", "--head --ngpus 8", "--head --entrypoint-num-gpus 1", "--head --temp-dir /t",
        "--head --node-ip-address 10.0.0.1", "--head --object-store-memory 1000", "--head --object-store-memory 1e9",
        "--head --disable-usage-stats", "--head --working-dir .", "--head --gpus 8", "--head --verbose", "--head -v",
    ],
    "ray job submit": [
        "--working-dir . -- python t.py --lr 1", "--address http://h:8265 -- python t.py", "--no-wait -- python t.py",
        "--working-dir . python t.py", "python t.py --lr 1", "--working-dir . python -m t", "python -u t.py",
        "--num-gpus 1 -- python t.py", "--entrypoint-num-gpus 1 -- python t.py", "--runtime-env r.yaml -- python t.py",
        "--runtime-env-json {} -- python t.py", "--runtime_env_json {} -- python t.py", "--verbose -- python t.py",
        "--entrypoint-num-cpus two -- python t.py", "--submission-id a -- python t.py", "--name a -- python t.py",
        "--working-dir . bash run.sh", "bash -c ls", "-- bash -c ls", "--env-vars {} -- python t.py",
    ],
}  # fmt: skip


def of_accelerate(words: list[str]) -> None:
    from accelerate.commands.launch import launch_command_parser

    launch_command_parser().parse_args([*words, *SCRIPT])


def of_torchrun(words: list[str]) -> None:
    from torch.distributed import run

    said = run.parse_args([*words, *SCRIPT])
    run.parse_min_max_nnodes(said.nnodes)
    if said.nproc_per_node != "gpu":  # there is none here
        run.determine_local_world_size(said.nproc_per_node)


def of_deepspeed(words: list[str]) -> None:
    with open(os.path.join(os.environ["DEEPSPEED"], "launcher/runner.py"), encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "parse_args"]
    names: dict[str, object] = {"argparse": __import__("argparse"), "os": os}
    names.update(DLTS_HOSTFILE="", TORCH_DISTRIBUTED_DEFAULT_PORT=29500, PDSH_LAUNCHER="pdsh")
    names.update({f"{one}_LAUNCHER": one.lower() for one in ("OPENMPI", "MVAPICH", "MPICH", "IMPI", "SLURM")})
    exec(compile(ast.Module(found, []), "runner", "exec"), names)
    parse: Callable[..., object] = names["parse_args"]  # type: ignore[assignment]
    parse(args=[*words, *SCRIPT])


def of_ray(words: list[str], module: str, command: str) -> None:
    from importlib import import_module

    getattr(import_module(module), command).make_context(command, list(words))


ASK: dict[str, Callable[[list[str]], None]] = {
    "accelerate": of_accelerate,
    "torchrun": of_torchrun,
    "deepspeed": of_deepspeed,
    "ray start": lambda words: of_ray(words, "ray.scripts.scripts", "start"),
    "ray job submit": lambda words: of_ray(words, "ray.dashboard.modules.job.cli", "submit"),
}


def answer(launcher: str, words: str) -> str:
    """What the parser refuses; "" if it takes the words."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            ASK[launcher](words.split())
    except SystemExit:
        return said.getvalue().strip().rpartition("error: ")[2][:80] or "stops"
    except Exception as error:
        return (getattr(error, "message", "") or f"{type(error).__name__}: {error}")[:80]
    return ""


if __name__ == "__main__":
    name, release = sys.argv[1:3]
    row = {"launcher": name, "release": release, "answers": {words: answer(name, words) for words in WORDS[name]}}
    print(json.dumps(row, sort_keys=True))
