"""One command in every form in which people start it: a fault in it is told inside the file, a fine one is silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch_forms import FAULTY, FINE, files_of, forms
from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.missing import ABSENT
from trl_lint.project.launches import read_launches
from trl_lint.settings import Settings
from trl_lint.sources.files import open_file

FORMS = {**forms("surveyed"), **forms("others")}


def findings(folder: Path, files: dict[str, str]) -> list[Finding]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return check([str(folder)], Settings(root=str(folder))).findings


@pytest.mark.parametrize("name", FORMS)
def test_a_fault_is_told_where_the_command_stands(name: str, tmp_path: Path):
    form = FORMS[name]
    found = findings(tmp_path, files_of(form, FAULTY))
    places = [
        (Path(finding.location.path).relative_to(tmp_path).as_posix(), finding)
        for finding in found
        if "max_prompt_length" in finding.message
    ]
    told = [(path, finding) for path, finding in places if path in form]
    assert told
    for path, finding in told:
        text = (tmp_path / path).read_text(encoding="utf-8")
        assert "max_prompt_length" in text[finding.location.start : finding.location.end]


@pytest.mark.parametrize("name", FORMS)
def test_a_fine_command_is_silent(name: str, tmp_path: Path):
    assert findings(tmp_path, files_of(FORMS[name], FINE)) == []


@pytest.mark.parametrize("name", forms("look_alikes"))
def test_what_only_looks_like_one_is_silent(name: str, tmp_path: Path):
    assert findings(tmp_path, files_of(forms("look_alikes")[name], FAULTY)) == []


SKY = "resources: {accelerators: A100:4}\nrun: <sh>\n"
POD = """\
apiVersion: v1
kind: Pod
spec:
  containers:
    - command: [bash, -c, "<sh>"]
      env: [{name: CUDA_VISIBLE_DEVICES, value: "2,3"}, {name: A, valueFrom: {fieldRef: a}}]
      resources: {limits: {nvidia.com/gpu: 4}}
"""
STEP = "on: push\njobs: {a: {env: {CUDA_VISIBLE_DEVICES: '2,3'}, steps: [{run: <sh>}]}}\n"
FLAVOR = "hf jobs run --flavor a100x4 image <sh>\n"


@pytest.mark.parametrize(
    ("path", "text", "gpus"),
    [
        ("sky.yaml", SKY, "0123"),
        ("sky.yaml", "resources: {accelerators: {H100: 4}}\nrun: <sh>\n", "0123"),
        ("sky.yaml", "resources: {accelerators: [A100:4, H100:4]}\nrun: <sh>\n", "0123"),
        ("sky.yaml", "resources: {accelerators: [A100:4, H100:8]}\nrun: <sh>\n", None),
        ("sky.yaml", "resources: {accelerators: A100}\nrun: <sh>\n", None),
        ("sky.yaml", "resources: {cpus: 4}\nrun: <sh>\n", None),
        ("sky.yaml", "envs: {CUDA_VISIBLE_DEVICES: '0,1'}\n" + SKY, "01"),
        ("a.dstack.yml", "type: task\ncommands: [<sh>]\nresources: {gpu: '80GB:2'}\n", "01"),
        ("a.dstack.yml", "type: task\ncommands: [<sh>]\nresources: {gpu: {name: A100, count: 2}}\n", "01"),
        ("a.dstack.yml", "type: task\ncommands: [<sh>]\nresources: {gpu: {name: A100, count: 2..4}}\n", None),
        ("a.dstack.yml", "type: task\nenv: [CUDA_VISIBLE_DEVICES=1]\ncommands: [<sh>]\n", "1"),
        ("pod.yaml", POD, "23"),
        ("pod.yaml", POD.replace("CUDA_VISIBLE_DEVICES", "B"), "0123"),
        ("pod.yaml", POD.replace("CUDA_VISIBLE_DEVICES", "B").replace("gpu: 4", "gpu: $N"), None),
        (".github/workflows/a.yml", STEP, "23"),
        ("run.sh", 'sky launch --gpus A100:4 "<sh>"\n', "0123"),
        ("run.sh", 'sky launch --env CUDA_VISIBLE_DEVICES=1 --gpus A100:4 "<sh>"\n', "1"),
        ("run.sh", FLAVOR, "0123"),
        ("run.sh", FLAVOR.replace("a100x4", "cpu-basic"), None),
        ("run.sh", 'CUDA_VISIBLE_DEVICES=1 tmux new -d "<sh>"\n', "1"),
        ("run.sh", 'export CUDA_VISIBLE_DEVICES=1\nssh host "<sh>"\n', None),
        ("run.sh", 'tmux new -d "CUDA_VISIBLE_DEVICES=3 <sh>"\n', "3"),
        ("justfile", 'export CUDA_VISIBLE_DEVICES := "0,1"\n\ntrain:\n  <sh>\n', "01"),
        ("Taskfile.yml", "env: {CUDA_VISIBLE_DEVICES: 1}\ntasks: {a: {cmds: [<sh>], env: {A: 1}}}\n", "1"),
        (
            "beaker.yml",
            "version: v2\ntasks:\n- {command: [sh, -c], arguments: ['<sh>'], resources: {gpuCount: 2}}\n",
            "01",
        ),
    ],
)
def test_variables_and_gpus_reach_the_command(path: str, text: str, gpus: str | None):
    command = "torchrun --nproc_per_node 2 train.py"
    data = text.replace("<sh>", command).encode()
    (launch,) = read_launches(open_file(f"/nowhere/{path}", data))
    assert launch.launcher == "torchrun" and launch.options["--nproc_per_node"].text == "2"
    assert launch.visible_gpus == (tuple(gpus) if gpus is not None else None)


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("workdir: ./src/\nrun: python train.py\n", ["src"]),
        ("workdir: ~/elsewhere\nrun: python train.py\n", [None]),
        ("num_nodes: 2\nrun: |\n  cd src\n  python train.py\nsetup: python a.py\n", [None, None]),
    ],
)
def test_folders(text: str, folders: list[str | None]):
    found = read_launches(open_file("/nowhere/sky.yaml", text.encode()))
    assert [launch.command.directory for launch in found] == folders


def test_numbers_that_a_cluster_sets_are_those_of_the_file():
    text = "resources: {accelerators: A100:4}\nrun: torchrun --nproc_per_node $SKYPILOT_NUM_GPUS_PER_NODE a.py\n"
    (launch,) = read_launches(open_file("/nowhere/sky.yaml", text.encode()))
    assert launch.options["--nproc_per_node"].text == "4"


def test_values_that_a_sweep_tries_are_candidates():
    text = "program: a.py\nmethod: grid\nparameters: {lr: {values: [1, 2]}, x: {value: true}, y: {min: 0, max: 1}}\n"
    (launch,) = read_launches(open_file("/nowhere/sweep.yaml", text.encode()))
    lr, x, y = launch.args
    assert [option.words[0].text for option in lr.options] == ["--lr=1", "--lr=2"]
    assert (lr.text, x.text, y.text) == (None, "--x=True", None)
    assert launch.flag("--max_prompt_length") is ABSENT


def test_words_of_a_text_on_several_lines_have_places():
    text = (
        "type: task\ncommands:\n  - accelerate launch\n    --machine_rank=$R \n    --num_processes=$N\n    a.py\n"
        '    --x 1\n  - "torchrun b.py\n    --x 1  \\\n    --y \\"2\\""\n'
    )
    first, second = read_launches(open_file("/nowhere/a.dstack.yml", text.encode()))
    assert first.script is not None and first.script.raw == first.script.text == "a.py"
    assert [text[word.start : word.end] for word in first.args] == ["--x", "1"]
    assert [text[word.start : word.end] for word in second.args] == ["--x", "1", "--y", '\\"2\\"']
