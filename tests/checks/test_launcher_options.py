"""Options of launchers: what is said of them is what their parsers answered (tests/oracle/launchers.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fixture_cases import run_json

ORACLE = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "oracle" / "launchers.jsonl").read_text(encoding="utf-8").splitlines()
]
PACKAGES = {"torchrun": "torch", "ray start": "ray", "ray job submit": "ray"}
FRONT = {"accelerate": "accelerate launch"}


def told(
    commands: list[str], pins: str, codes: str, folder: Path, patch: pytest.MonkeyPatch, capsys: Any, script: str = ""
) -> dict[int, str]:
    """What is said of the commands of a script, by their lines."""
    (folder / "run.sh").write_text("\n".join(commands) + "\n", "utf-8")
    (folder / "train.py").write_text(script, "utf-8")
    (folder / "requirements.txt").write_text(pins, "utf-8")
    patch.chdir(folder)
    found = run_json(["--select", codes, "."], capsys)[1]["findings"]
    return {one["start"]["line"]: one["message"] for one in found if one["path"].endswith("run.sh")}


@pytest.mark.parametrize("row", ORACLE, ids=[row["launcher"] for row in ORACLE])
def test_what_a_parser_refuses_is_told_and_nothing_else(
    row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    launcher = row["launcher"]
    is_ray = launcher.startswith("ray")
    front = FRONT.get(launcher, launcher)
    commands = [f"{front} {words}" + ("" if is_ray else " train.py --lr 1") for words in row["answers"]]
    pins = f"{PACKAGES.get(launcher, launcher)}=={row['release']}\n"
    lines = told(commands, pins, "TRL401,TRL402", tmp_path, monkeypatch, capsys, "import sys\nprint(sys.argv)\n")
    refused = {number: answer for number, answer in enumerate(row["answers"].values(), 1) if answer}
    assert {commands[number - 1] for number in lines} == {commands[number - 1] for number in refused}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("accelerate launch --multi_gpu True train.py", "takes no value"),
        ("torchrun --standalone 1 --nproc_per_node 2 train.py", "takes no value"),
        ("accelerate launch --num_processes 4 --num_processes 8 train.py", "stands twice"),
        ("torchrun --nproc-per-node 4 --nproc_per_node=8 train.py", "stands twice"),
        ("torchrun train.py --nproc_per_node 4", "behind the script"),
        ("accelerate launch train.py --num_processes 4", "behind the script"),
        ("srun accelerate launch --nnodes 2 train.py", "`--num_machines` is the one here"),
        ("python -m torch.distributed.run --num_processes 2 train.py", "`--nproc_per_node` is the one here"),
        ("python -m accelerate.commands.launch --node_rank 2 train.py", "`--machine_rank` is the one here"),
        ("torchrun --nproc_per_nod 4 -m pkg.train", ""),  # the beginning of a name
        ("accelerate launch --multi_gpu train.py True", ""),
        ("accelerate launch --num_processes 4 --num_processes 4 train.py", ""),
        ("accelerate launch --num_processes $N --mixed_precision ${P} train.py", ""),
        ("accelerate launch --num_processes <N> --mixed_precision PRECISION train.py", ""),
        ("accelerate launch $ARGS --mixed_precision=fp16 train.py", ""),
        ("torchrun --nproc_per_node $(nvidia-smi -L | wc -l) train.py", ""),
        ("deepspeed --include=localhost:0,1 --master_port $((29500 + 1)) train.py --num_gpus_of_mine 4", ""),
        ("torchrun train.py --seed 4", ""),
        ('torchrun --standalone --nproc_per_node="${N}" -m pkg.train --lr 1', ""),
        ("torchrun --nnodes=$N --master_addr=${A} --node_rank=$(hostname) -m pkg.train", ""),
        ("torchrun $ARGS -m pkg.train", ""),
        ('torchrun "${ARGS[@]}" --module pkg.train', ""),
        ("accelerate launch --num_processes=$N -m pkg.train", ""),
        ("deepspeed --num_gpus=$N -m pkg.train", ""),
        ("torchrun --nproc-per-node=8 --no-python lm_eval --model hf --batch_size 1", ""),
        ("echo accelerate launch --nnodes 2", ""),
    ],
)
def test_words_of_a_launcher(
    command: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    pins = "accelerate==1.7.0\ntorch==2.6.0\ndeepspeed==0.16.9\n"
    lines = told([command], pins, "TRL401,TRL402,TRL403", tmp_path, monkeypatch, capsys, "import torch\n")
    assert (words in lines.get(1, "")) if words else not lines


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("torchrun --nproc_per_node number_of_gpus train.py", ""),
        ("torchrun --nproc_per_node ... train.py", ""),
        ("torchrun --args_of_yours train.py", ""),
        ("accelerate launch --mixed_precision bf1 train.py", "cannot be `bf1`"),
        ("accelerate launch --nproc_per_node 4 train.py", "`--num_processes` is the one here"),
    ],
)
def test_a_page_has_blanks_to_fill_in(
    command: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "README.md").write_text(f"# Training\n\n```bash\n{command}\n```\n", "utf-8")
    (tmp_path / "requirements.txt").write_text("accelerate==1.7.0\ntorch==2.6.0\n", "utf-8")
    (tmp_path / "train.py").write_text("import torch\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    found = run_json(["--select", "TRL401,TRL402", "."], capsys)[1]["findings"]
    assert [words in one["message"] for one in found] == ([True] if words else [])


@pytest.mark.parametrize(("release", "is_told"), [("0.14.4", True), ("0.14.5", False), ("0.19.8", False)])
def test_an_option_that_came_later(
    release: str, is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    command = "deepspeed --node_rank 0 --hostfile h train.py"
    lines = told([command], f"deepspeed=={release}\n", "TRL401", tmp_path, monkeypatch, capsys)
    assert bool(lines) is is_told
