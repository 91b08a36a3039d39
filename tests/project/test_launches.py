"""Launches: what a command starts, with which GPUs, and which files it means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project.launch_reader import gpu_ids
from trl_lint.project.launches import Launch, _names_launcher, holds_launches, read_launches
from trl_lint.sources.files import open_file


def read(text: str, path: str = "/nowhere/run.sh") -> list[Launch]:
    return read_launches(open_file(path, text.encode()))


def only(text: str, path: str = "/nowhere/run.sh") -> Launch:
    (launch,) = read(text, path)
    return launch


def summary(launch: Launch) -> tuple[str, str | None]:
    return launch.launcher, launch.module or launch.subcommand or (launch.script.text if launch.script else None)


# -- launchers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "launcher", "program", "arguments"),
    [
        ("python train.py --lr 1", "python", "train.py", 2),
        ("python3.11 -u -W ignore train.py x", "python", "train.py", 1),
        ("/opt/venv/bin/python3 -X faulthandler train.py", "python", "train.py", 0),
        ("python -m verl.trainer.main_ppo a=1", "python", "verl.trainer.main_ppo", 1),
        ("./train.py --lr 1", "python", "./train.py", 2),
        ("uv run train.py --lr 1", "python", "train.py", 2),
        ("accelerate launch --config_file a.yaml --multi_gpu train.py --lr 1", "accelerate", "train.py", 2),
        ("accelerate launch --config-file=a.yaml -m pkg.train --lr 1", "accelerate", "pkg.train", 2),
        ("accelerate launch $ACCELERATE_ARGS train.py --lr 1", "accelerate", "train.py", 2),
        ("python -m accelerate.commands.launch --num_processes 2 train.py", "accelerate", "train.py", 0),
        ("torchrun --standalone --nproc-per-node=2 train.py x", "torchrun", "train.py", 1),
        ("torchrun $DISTRIBUTED --master_port 1 -m pkg.train x", "torchrun", "pkg.train", 1),
        ("torchrun --nproc_per_node=$N -m pkg.train x", "torchrun", "pkg.train", 1),
        ("torchrun --$HOW=1 train.py x", "torchrun", "train.py", 1),
        ("python -m torch.distributed.run --nproc_per_node 2 train.py", "torchrun", "train.py", 0),
        ("python3 -m torch.distributed.launch --use_env train.py", "torchrun", "train.py", 0),
        ("deepspeed --module openrlhf.cli.train_sft --max_len 2048", "deepspeed", "openrlhf.cli.train_sft", 2),
        ("deepspeed --include localhost:0,1 train.py --deepspeed x.json", "deepspeed", "train.py", 2),
        ("accelerate launch --no_python python -u train.py --lr 1", "accelerate", "train.py", 2),
        ("accelerate launch --num_processes 2 --no-python python3.11 -u train.py", "accelerate", "train.py", 0),
        ("accelerate launch --no_python python -X dev -m pkg.train x", "accelerate", "pkg.train", 1),
        ("accelerate launch --no_python nice python train.py x", "accelerate", "train.py", 1),
        ("accelerate launch --no_python ./train.py x", "accelerate", "./train.py", 1),
        ("accelerate launch $ACCELERATE_ARGS --no_python python -u train.py", "accelerate", "train.py", 0),
        ("torchrun --nproc_per_node 1 --no-python python -u train.py x y", "torchrun", "train.py", 2),
        ("deepspeed --num_gpus 2 --no_python python -u train.py", "deepspeed", "train.py", 0),
        ("trl sft --config a.yaml", "trl", "sft", 2),
        ("trl vllm-serve --model x", "trl", "vllm-serve", 2),
        ("vllm serve qwen --port 8000", "vllm", "serve", 3),
        ("swift rlhf --rlhf_type grpo", "swift", "rlhf", 2),
        ("llamafactory-cli train a.yaml", "llamafactory-cli", "train", 1),
        ("axolotl train a.yaml", "axolotl", "train", 1),
    ],
)
def test_launchers(command: str, launcher: str, program: str, arguments: int):
    launch = only(command)
    assert summary(launch) == (launcher, program)
    assert len(launch.args) == arguments


@pytest.mark.parametrize(
    "command",
    [
        'python -V; "$TOOL" -m model',
        'python -V; $TOOL -m "$NAME"',
        "python -c 'print(1)'",
        "python",
        "pip install vllm",
        "accelerate config",
        "vllm bench",
        "echo python train.py",
        "which python",
        "cd python",
        "conda create -n trl python=3.11",
    ],
)
def test_commands_that_start_nothing(command: str):
    assert read(command) == []


@pytest.mark.parametrize(
    "program", ["python -c 'import x'", "python - < train.py", "env A=1 python train.py", "bash train.sh", "$PYTHON"]
)
def test_a_program_without_a_script_that_can_be_told(program: str):
    launch = only(f"accelerate launch --num_processes 2 --no_python {program}")
    assert (launch.launcher, launch.script_path, launch.module) == ("accelerate", None, None)


def test_the_interpreter_of_no_python_is_no_script(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text("")
    launch = only("CUDA_VISIBLE_DEVICES=0,1 accelerate launch --no_python python -u train.py", str(tmp_path / "run.sh"))
    assert launch.script_path == str(tmp_path / "train.py")
    assert [word.text for word in launch.interpreter_options] == ["-u"]


def test_a_module_is_known_whatever_starts_it():
    head = 'RUN=(python3)\nif [ -n "$UV" ]; then RUN=(uv run python3); fi\n'
    launch = only(head + '"${RUN[@]}" -m verl.trainer.main_ppo a=1')
    assert summary(launch) == ("", "verl.trainer.main_ppo")
    assert [word.text for word in launch.args] == ["a=1"]


def test_a_hole_in_front_of_the_script_is_never_taken_for_it():
    assert summary(only("torchrun $ARGS --master_port 1 data.json train.py x")) == ("torchrun", "train.py")
    assert only('torchrun --nproc_per_node 2 "$SCRIPT" --lr 1').script is not None
    assert only('torchrun --nproc_per_node 2 "$SCRIPT" --lr 1').script.text is None  # type: ignore[union-attr]


def test_options_of_the_launcher():
    launch = only("accelerate launch --config-file=a.yaml --num-processes 2 --multi_gpu train.py --num_processes 4")
    assert {name: word.text for name, word in launch.options.items()} == {
        "--config_file": "a.yaml",
        "--num_processes": "2",
        "--multi_gpu": "--multi_gpu",
    }
    word = launch.options["--config_file"]
    assert launch.source.text[word.start : word.end] == "a.yaml"


# -- wrappers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "wrappers"),
    [
        ("nohup python t.py &", ("nohup",)),
        ("env -u X A=1 python t.py", ("env",)),
        ("srun -n 4 --gres=gpu:1 --nodelist=$NODE $SRUN_ARGS python t.py", ("srun",)),
        ("srun --ntasks 4 bash -c 'python t.py'", ("srun", "bash")),
        ("mpirun -np 4 -mca btl self -x PATH python t.py", ("mpirun",)),
        ("timeout -k 5 $LIMIT python t.py", ("timeout",)),
        ("numactl --cpunodebind=0 -m 0 taskset -c 0-7 nice -n 5 python t.py", ("numactl", "taskset", "nice")),
        ("conda run -n trl --no-capture-output python t.py", ("conda",)),
        ("uv run --with trl==1.16.0 python t.py", ("uv",)),
        ("poetry run pixi run -e gpu python t.py", ("poetry", "pixi")),
        ("ray job submit --address x --runtime-env-json '{}' -- python t.py", ("ray",)),
        ("apptainer exec --nv --bind $X $IMAGE python t.py", ("apptainer",)),
        ('ssh node1 "cd x && python t.py"', ("ssh",)),
        ("bash -lc 'exec python t.py'", ("bash", "exec")),
    ],
)
def test_wrappers(command: str, wrappers: tuple[str, ...]):
    launch = only(command)
    assert summary(launch) == ("python", "t.py")
    assert launch.wrappers == wrappers


@pytest.mark.parametrize(
    "text",
    [
        "command -v llamafactory-cli &>/dev/null || exit 1",
        "if ! command -v accelerate >/dev/null; then exit 1; fi",
        "command -V torchrun",
        "command -pv trl",
    ],
)
def test_asking_for_a_program_starts_none(text: str):
    assert read(text) == [] and summary(only("command python t.py")) == ("python", "t.py")


# -- environment and GPUs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("0,1", ("0", "1")),
        (" 2 , 3 ", ("2", "3")),
        ("", ()),
        ("-1", ()),
        ("0,-1,1", ("0",)),
        ("NoDevFiles", ()),
        ("GPU-8932f937,GPU-12", ("GPU-8932f937", "GPU-12")),
        ("0,0", None),
        ("all", None),
        ("0 1", None),
    ],
)
def test_gpu_ids(text: str, gpus: tuple[str, ...] | None):
    assert gpu_ids(text) == gpus


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("CUDA_VISIBLE_DEVICES=0,1 python t.py", ("0", "1")),
        ("export CUDA_VISIBLE_DEVICES='0,1'\npython t.py", ("0", "1")),
        ("G=0,1\nexport CUDA_VISIBLE_DEVICES=$G\npython t.py", ("0", "1")),
        ("export CUDA_VISIBLE_DEVICES=0,1\nCUDA_VISIBLE_DEVICES=2 python t.py", ("2",)),
        ("env CUDA_VISIBLE_DEVICES=3 python t.py", ("3",)),
        ("CUDA_VISIBLE_DEVICES=0,1 bash -c 'python t.py'", ("0", "1")),
        ("CUDA_VISIBLE_DEVICES=0,1\npython t.py", None),
        ("CUDA_VISIBLE_DEVICES=$G python t.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 env -i python t.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 sudo python t.py", None),
        ("python t.py", None),
        ("CUDA_VISIBLE_DEVICES=0 accelerate launch --gpu_ids 1,2 t.py", ("1", "2")),
        ("CUDA_VISIBLE_DEVICES=0 accelerate launch --gpu_ids all t.py", ("0",)),
        ("deepspeed --include localhost:4,5 t.py", ("4", "5")),
        ("CUDA_VISIBLE_DEVICES=0 deepspeed --include=node1:0@node2:1 t.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus 2 t.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed t.py", ("0", "1")),
    ],
)
def test_visible_gpus(text: str, gpus: tuple[str, ...] | None):
    assert only(text).visible_gpus == gpus


@pytest.mark.parametrize(
    ("head", "gpus", "tasks"),
    [
        ("#SBATCH --gres=gpu:4", 4, None),
        ("#SBATCH --gres=gpu:a100:8,tmpdir:1", 8, None),
        ("#SBATCH --gres gpu:h100:2 --ntasks-per-node=2", 2, 2),
        ("#SBATCH --gres=gpu", 1, None),
        ("#SBATCH --gpus-per-node=a100:4\n#SBATCH -n 1", 4, 1),
        ("#SBATCH --gpus=8", None, None),
        ("#SBATCH --gpus=8\n#SBATCH -N 1", 8, None),
        ("#SBATCH --gpus-per-task=4\n#SBATCH --ntasks=1", 4, 1),
        ("#SBATCH --gpus-per-task=4\n#SBATCH --ntasks=2", None, 2),
        ("#PBS -l select=1:ncpus=8:ngpus=4", 4, None),
        ("#SBATCH --mem=10G", None, None),
    ],
)
def test_what_the_scheduler_gives(head: str, gpus: int | None, tasks: int | None):
    scheduler = only(f"#!/bin/bash\n{head}\npython t.py", "/nowhere/job.slurm").scheduler
    assert scheduler is not None and (scheduler.gpus, scheduler.tasks) == (gpus, tasks)


def test_without_a_scheduler_nothing_is_known_of_one():
    assert only("#!/bin/bash\n# SBATCH --gres=gpu:4\npython t.py").scheduler is None


# -- arguments ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--lr 1 --bf16", "--bf16"),
        ("--bf16 True", "True"),
        ("--bf16=False", "False"),
        ("--bf16 --lr 1", "--bf16"),
        ("--bf16 True --bf16 False", "False"),
        ("--bf16 $X", None),
        ("--bf16=$X", None),
    ],
)
def test_flags(arguments: str, expected: str | None):
    found = only(f"python t.py {arguments}").flag("--bf16")
    assert found is not ABSENT and found is not UNKNOWN
    assert found.text == expected  # type: ignore[union-attr]


@pytest.mark.parametrize("arguments", ["", "--lr $LR", '--lr "$X"', "--bf16_full_eval True", "--lr=$LR"])
def test_a_flag_that_is_certainly_not_given(arguments: str):
    assert only(f"python t.py {arguments}").flag("--bf16") is ABSENT


@pytest.mark.parametrize("arguments", ['"$@"', "--lr 1 $REST", "--debug $EXTRA_ARGS", '"${ARGS[@]}"'])
def test_a_flag_that_may_be_hidden(arguments: str):
    assert only(f"python t.py {arguments}").flag("--bf16") is UNKNOWN


# -- files on disk ------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "requirements.txt").write_text("trl\n")
    for name in ("train.py", "scripts/data.py", "src/pkg/run.py", "pkg2/__main__.py", "configs/zero3.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python train.py", "train.py"),
        ("python data.py", "scripts/data.py"),
        ("python scripts/data.py", "scripts/data.py"),
        ("python ../train.py", "train.py"),
        ("cd ..\npython train.py", "train.py"),
        ('cd "$(dirname "$0")/.."\npython train.py', "train.py"),
        ('D=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)\npython $D/train.py', "train.py"),
        ("cd src\npython pkg/run.py", "src/pkg/run.py"),
        ("python -m src.pkg.run", "src/pkg/run.py"),
        ("python -m pkg.run", "src/pkg/run.py"),
        ("python -m pkg2", "pkg2/__main__.py"),
        ("python -m train", "train.py"),
        ("python missing.py", None),
        ("python $SCRIPT", None),
        ("cd /nowhere\npython train.py", None),
    ],
)
def test_scripts(project: Path, text: str, expected: str | None):
    launch = only(text, str(project / "scripts" / "run.sh"))
    assert launch.script_path == (str(project / expected) if expected else None)


def test_a_name_that_fits_two_files_is_neither(project: Path):
    (project / "scripts" / "train.py").write_text("")
    launch = only("python train.py", str(project / "scripts" / "run.sh"))
    assert launch.script_path is None
    assert launch.candidates == (str(project / "scripts" / "train.py"), str(project / "train.py"))


def test_paths_do_not_lead_out_of_the_project(project: Path):
    (project.parent / "outside.py").write_text("")
    assert only("python ../outside.py", str(project / "run.sh")).script_path is None


def test_accelerate_config(project: Path):
    command = "accelerate launch --config_file configs/zero3.yaml train.py"
    launch = only(command, str(project / "scripts" / "run.sh"))
    assert launch.config_file == str(project / "configs/zero3.yaml")
    assert only(command.replace("zero3", "zero2"), str(project / "run.sh")).config_file is None


def test_folders_of_an_image_are_not_folders_of_the_host(project: Path):
    text = "WORKDIR /app\nCMD python /app/scripts/data.py\nCMD python train.py\nCMD python /usr/bin/x.py\n"
    found = read(text, str(project / "Dockerfile"))
    assert [launch.script_path for launch in found] == [
        str(project / "scripts/data.py"),
        str(project / "train.py"),
        None,
    ]


# -- where launches are written -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "documentation"),
    [
        ("run.sh", "python t.py\n", False),
        ("run.zsh", "python t.py\n", False),
        ("job.sbatch", "python t.py\n", False),
        ("start", "#!/usr/bin/env bash\npython t.py\n", False),
        ("Makefile", "a:\n\tpython t.py\n", False),
        ("rules.mk", "a:\n\tpython t.py\n", False),
        ("Dockerfile", "CMD python t.py\n", False),
        ("gpu.Dockerfile", "CMD python t.py\n", False),
        (".github/workflows/a.yml", "jobs: {a: {steps: [{run: python t.py}]}}\n", False),
        ("README.md", "Run:\n\n```bash\n$ python t.py\nok\n```\n", True),
        ("t.py", '"""Train.\n\n    python t.py --x\n"""\n', True),
        ("t.py", "# usage:\n#   CUDA_VISIBLE_DEVICES=0 python t.py\nimport os\n", True),
        ("t.py", "#!/usr/bin/env python\n# a\n\nr'''\n```\npython t.py \\\n  --x 1\n```\n'''\n", True),
    ],
)
def test_files(path: str, text: str, documentation: bool):
    full = f"/nowhere/{path}"
    assert holds_launches(full)
    launch = only(text, full)
    assert summary(launch) == ("python", "t.py")
    assert launch.is_documentation is documentation
    place = launch.location
    assert text[place.start : place.end].startswith(("python t.py", "CUDA_VISIBLE_DEVICES=0 python t.py"))


def test_notebooks():
    cell = {"cell_type": "code", "source": ["x = 1\n", "!python t.py --lr {lr} \\\n", "  --bf16\n"]}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    launch = only(text, "/nowhere/a.ipynb")
    assert [word.text for word in launch.args] == ["--lr", None, "--bf16"]
    place = launch.location
    assert text[place.start : place.end].startswith("python t.py")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/nowhere/t.py", 'import os\n\nos.remove("python t.py")\n# python t.py\n'),
        ("/nowhere/t.py", '"""Python 3.10 is required. python is slow."""\n'),
        ("/nowhere/a.md", "```python\npython = 1\n```\n\n    python t.py\n"),
        ("/nowhere/start", "python t.py\n"),
        ("/nowhere/run.sh", "# python t.py\n"),
    ],
)
def test_text_that_is_no_launch(path: str, text: str):
    assert read(text, path) == []


@pytest.mark.parametrize("path", ["/a/x.txt", "/a/x.json", "/a/x.toml", "/a/tasks.yaml.txt"])
def test_files_that_are_not_looked_at(path: str):
    assert not holds_launches(path)


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("accelerate launch x", True),
        ("./train.py --x", True),
        ("cat train.pyc", False),
        ("trl sft --x 1", True),
        ("'trl' sft", True),
        ("control panel; trlx", False),
        ("swift\tsft", True),
        ("echo swiftly", False),
    ],
)
def test_a_file_is_read_only_if_it_names_a_launcher(text: str, is_read: bool):
    assert _names_launcher(text.encode()) is is_read
