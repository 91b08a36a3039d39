"""Folders that documents give their commands, and values that they fill into them: known, tried, or not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.settings import Settings

SCRIPT = """\
from trl import GRPOConfig, ModelConfig, ScriptArguments, TrlParser
TrlParser((ScriptArguments, GRPOConfig, ModelConfig)).parse_args_and_config()
"""
BAD, FINE = "max_prompt_length", "max_completion_length"  # the first one is gone since trl 0.29


def told(folder: Path, files: dict[str, str], script: str = "train.py") -> list[Finding]:
    for name, text in {**files, script: SCRIPT, "requirements.txt": "trl==1.16.0\n"}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return check([str(folder)], Settings(root=str(folder))).findings


# -- folders: the script lies in `sub`, and is `train.py` for the command ---------------------------------------------

RUN = "python train.py --{flag} 5"
FOLDERS = {
    "skypilot": ("t.yaml", "resources: {accelerators: A100:4}\nworkdir: ./sub\nrun: |\n  " + RUN),
    "skypilot, cd": ("t.yaml", "resources: {accelerators: A100:4}\nworkdir: .\nrun: |\n  cd sub\n  " + RUN),
    "dstack": ("d.yml", "type: task\nworking_dir: sub\ncommands:\n  - " + RUN),
    "compose": (
        "compose.yaml", "services:\n  a:\n    working_dir: /app/sub\n    volumes: ['.:/app']\n    command: " + RUN,
    ),
    "compose, long": (
        "compose.yaml",
        "services:\n  a:\n    working_dir: /app\n    volumes: [{{type: bind, source: ./sub, target: /app}}]\n"
        "    command: " + RUN,
    ),
    "compose, merged": (
        "compose.yaml",
        "x-a: &a\n  working_dir: /w/sub\n  volumes: ['./:/w:ro']\nservices:\n  a:\n    <<: *a\n    command: " + RUN,
    ),
    "workflow": (
        ".github/workflows/a.yml",
        "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - {{run: " + RUN + ", working-directory: sub}}",
    ),
    "workflow, env": (
        ".github/workflows/a.yml",
        "on: push\nenv: {{WHERE: sub}}\njobs:\n  a:\n    runs-on: x\n    defaults: {{run: {{working-directory: "
        "'${{{{ env.WHERE }}}}'}}}}\n    steps:\n      - run: " + RUN,
    ),
    "anyscale": ("j.yaml", "entrypoint: " + RUN + "\nworking_dir: ./sub\nimage_uri: x"),
    "ray job submit": ("a.sh", "ray job submit --working-dir sub -- " + RUN),
    "ray job submit =": ("a.sh", "ray job submit --working-dir=./sub --no-wait -- " + RUN),
    "docker": ("a.sh", 'docker run --rm -v "$PWD":/app -w /app/sub image ' + RUN),
    "docker, pwd": ("a.sh", "docker run --volume $(pwd)/sub:/app --workdir=/app image " + RUN),
    "apptainer": ("a.sh", "apptainer exec --bind .:/w --pwd /w/sub image.sif " + RUN),
    "env": ("a.sh", "env -C sub A=1 " + RUN),
    "uv": ("a.sh", "uv run --directory sub " + RUN),
    "srun": ("a.sh", "srun --chdir=sub -n 1 " + RUN),
    "cd and uv": ("sub/a.sh", "cd .. && uv run --directory sub " + RUN),
}  # fmt: skip
# Where the folder is one of a container that nothing mounts, of another machine, or not known, there is no script.
NOWHERE = {
    "compose": ("compose.yaml", "services:\n  a:\n    working_dir: /app/sub\n    command: " + RUN),
    "compose, volume": (
        "compose.yaml", "services:\n  a:\n    working_dir: /app/sub\n    volumes: ['data:/app']\n    command: " + RUN,
    ),
    "docker": ("a.sh", "docker run -w /app/sub image " + RUN),
    "docker, elsewhere": ("a.sh", "docker run -v /data:/app -w /app/sub image " + RUN),
    "docker, other mount": ("a.sh", "docker run -v $PWD:/apps -w /app/sub image " + RUN),
    "ray, url": ("a.sh", "ray job submit --working-dir s3://bucket/sub.zip -- " + RUN),
    "ray, variable": ("a.sh", "ray job submit --working-dir $WHERE -- " + RUN),
    "skypilot, variable": ("t.yaml", "resources: {accelerators: A100:4}\nworkdir: ${X}\nrun: |\n  " + RUN),
    "skypilot, home": ("t.yaml", "resources: {accelerators: A100:4}\nworkdir: ~/sub\nrun: |\n  " + RUN),
}  # fmt: skip


def folder_form(text: str, flag: str) -> str:
    return text.replace("{{", "{").replace("}}", "}").replace("{flag}", flag) + "\n"


@pytest.mark.parametrize("name", FOLDERS)
def test_a_command_runs_in_the_folder_that_its_document_names(name: str, tmp_path: Path) -> None:
    path, text = FOLDERS[name]
    found = told(tmp_path, {path: folder_form(text, BAD)}, "sub/train.py")
    assert [each.code for each in found] == ["TRL301"]
    assert Path(found[0].location.path) == tmp_path / path


@pytest.mark.parametrize("name", FOLDERS)
def test_a_fine_command_there_is_silent(name: str, tmp_path: Path) -> None:
    path, text = FOLDERS[name]
    assert told(tmp_path, {path: folder_form(text, FINE)}, "sub/train.py") == []


@pytest.mark.parametrize("name", NOWHERE)
def test_nothing_is_said_of_a_folder_that_is_not_known(name: str, tmp_path: Path) -> None:
    path, text = NOWHERE[name]
    assert told(tmp_path, {path: folder_form(text, BAD)}, "sub/train.py") == []


# -- values that the document defines ---------------------------------------------------------------------------------

JOB = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: python train.py --${{ env.FLAG }} 5\n"
MATRIX = """\
on: push
jobs:
  a:
    runs-on: x
    strategy:
      matrix:
        flag: [beta, {flag}]{more}
    steps:
      - run: python train.py --${{ matrix.flag }} 0.5
"""
SWEEP = (
    "program: train.py\nmethod: {method}\nparameters:\n  {name}: {{values: [{values}]}}\n  output_dir: {{value: o}}\n"
)
AZURE = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
inputs:
  flag: {flag}
command: python train.py --${{inputs.flag}} 5
"""
POD = """\
apiVersion: v1
kind: Pod
spec:
  containers:
    - command: [python, train.py, --$(FLAG), "5"]
      env: [{name: FLAG, value: {flag}}]
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
spec:
  arguments: {parameters: [{name: flag, value: {flag}}]}
  templates:
    - container:
        command: [python, train.py, '--{{workflow.parameters.flag}}', '5']
"""
TASKS = "version: '3'\nvars: {FLAG: {flag}}\ntasks:\n  t:\n    cmds: ['python train.py --{{.FLAG}} 5']\n"
COMPOSE = "x-flag: &flag --{flag}\nservices:\n  a:\n    command: [python, train.py, *flag, '5']\n"
COMPOSE_TEXT = "x-run: &run python train.py --{flag} 5\nservices:\n  a:\n    command: *run\n"
COMPOSE_LIST = "x-run: &run [python, train.py, --{flag}, '5']\nservices:\n  a:\n    command: *run\n"
SKY = "resources: {accelerators: A100:4}\nenvs:\n  FLAG: {flag}\nrun: |\n  python train.py --${FLAG} 5\n"
GITLAB = "variables:\n  FLAG: {flag}\nt:\n  script:\n    - python train.py --$FLAG 5\n"
VALUES = {
    "workflow, env": (".github/workflows/a.yml", "env: {FLAG: {flag}}\n" + JOB),
    "workflow, env of a job": (
        ".github/workflows/a.yml",
        "env: {FLAG: nobody}\n" + JOB.replace("    steps:", "    env: {FLAG: {flag}}\n    steps:"),
    ),
    "workflow, matrix": (".github/workflows/a.yml", MATRIX.replace("{more}", "")),
    "workflow, matrix with include": (
        ".github/workflows/a.yml",
        MATRIX.replace("{flag}", "epsilon").replace("{more}", "\n        include: [{flag: {flag}}]"),
    ),
    "azure": ("j.yml", AZURE),
    "kubernetes": ("p.yaml", POD),
    "argo": ("w.yaml", ARGO),
    "task": ("Taskfile.yml", TASKS),
    "compose": ("compose.yaml", COMPOSE),
    "compose, text": ("compose.yaml", COMPOSE_TEXT),
    "compose, list": ("compose.yaml", COMPOSE_LIST),
    "skypilot": ("t.yaml", SKY),
    "gitlab": (".gitlab-ci.yml", GITLAB),
}  # fmt: skip
UNKNOWN = {
    "workflow, nowhere": (".github/workflows/a.yml", JOB),
    "workflow, an expression": (".github/workflows/a.yml", "env: {FLAG: '${{ inputs.flag }}'}\n" + JOB),
    "workflow, a function": (
        ".github/workflows/a.yml", "env: {FLAG: {flag}}\n" + JOB.replace("env.FLAG", "env.FLAG || 'beta'"),
    ),
    "workflow, a condition": (
        ".github/workflows/a.yml",
        MATRIX.replace("{more}", "").replace("      - run", "      - if: matrix.flag == 'beta'\n        run"),
    ),
    "workflow, excluded": (
        ".github/workflows/a.yml", MATRIX.replace("{more}", "\n        exclude: [{flag: {flag}}]"),
    ),
    "workflow, computed matrix": (
        ".github/workflows/a.yml", MATRIX.replace("[beta, {flag}]{more}", "${{ fromJson(inputs.flags) }}"),
    ),
    "azure, a file": ("j.yml", AZURE.replace("{flag}", "{type: uri_file, path: {flag}}")),
    "kubernetes, a secret": ("p.yaml", POD.replace("value: {flag}", "valueFrom: {secretKeyRef: {name: {flag}}}")),
    "kubernetes, another": ("p.yaml", POD.replace("name: FLAG", "name: OTHER")),
    "task, a command": ("Taskfile.yml", TASKS.replace("{FLAG: {flag}}", "{FLAG: {sh: echo {flag}}}")),
    "skypilot, to be given": ("t.yaml", SKY.replace("{flag}", "null")),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_what_a_document_defines_is_filled_in(name: str, tmp_path: Path) -> None:
    path, text = VALUES[name]
    found = told(tmp_path, {path: text.replace("{flag}", BAD)})
    assert {each.code for each in found} == {"TRL301"}
    assert len(found) == 1
    assert BAD in found[0].message


@pytest.mark.parametrize("name", VALUES)
def test_a_fine_value_is_silent(name: str, tmp_path: Path) -> None:
    path, text = VALUES[name]
    assert told(tmp_path, {path: text.replace("{flag}", FINE)}) == []


@pytest.mark.parametrize("name", UNKNOWN)
def test_nothing_is_said_of_a_value_that_is_not_known(name: str, tmp_path: Path) -> None:
    path, text = UNKNOWN[name]
    assert told(tmp_path, {path: text.replace("{flag}", BAD)}) == []


# -- each value of a sweep --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["grid", "random", "bayes"])
@pytest.mark.parametrize("values", ["linear, nonsense", "nonsense, linear", "nonsense", "linear, cosine, nonsense"])
def test_each_value_of_a_sweep_is_judged(values: str, method: str, tmp_path: Path) -> None:
    text = SWEEP.format(method=method, name="lr_scheduler_type", values=values)
    found = told(tmp_path, {"s.yaml": text, "requirements.txt": "trl==1.16.0\ntransformers==5.10.4\n"})
    assert [each.code for each in found] == ["TRL402"]
    assert "lr_scheduler_type` is nonsense" in found[0].message
    assert found[0].fix is None


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("lr_scheduler_type", "linear, cosine, polynomial"),
        ("learning_rate", "1e-6, 1.0e-5, 0.1"),
        ("num_generations", "4, 8"),
        ("beta", "0, 0.04"),
        ("seed", ", ".join(map(str, range(60)))),
    ],
)
def test_fine_values_of_a_sweep_are_silent(name: str, values: str, tmp_path: Path) -> None:
    assert told(tmp_path, {"s.yaml": SWEEP.format(method="grid", name=name, values=values)}) == []


@pytest.mark.parametrize("value", ["true", "[true, false]"])
def test_flags_without_values(value: str, tmp_path: Path) -> None:
    key = "values" if value.startswith("[") else "value"
    text = (
        "program: train.py\nmethod: grid\ncommand:\n  - ${env}\n  - ${interpreter}\n  - ${program}\n"
        f"  - ${{args_no_boolean_flags}}\nparameters:\n  bf16: {{{key}: {value}}}\n  {BAD}: {{value: 5}}\n"
    )
    found = told(tmp_path, {"s.yaml": text})
    assert [each.code for each in found] == ["TRL301"]


def test_values_are_tried_one_by_one_and_not_multiplied(tmp_path: Path) -> None:
    """Six parameters of six values are 46,656 runs; each value is looked at once."""
    names = ["learning_rate", "beta", "epsilon", "weight_decay", "adam_beta1", "warmup_steps"]
    lines = "".join(f"  {name}: {{values: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}}\n" for name in names)
    bad = "  lr_scheduler_type: {values: [linear, cosine, constant, polynomial, nonsense]}\n"
    found = told(tmp_path, {"s.yaml": f"program: train.py\nmethod: grid\nparameters:\n{lines}{bad}"})
    assert ["nonsense" in each.message for each in found] == [True]
