"""For which code what a document installs holds: the folder that it is for, in images, jobs and workflows."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.knowledge.releases import newest
from trl_lint.project import Project
from trl_lint.settings import Settings
from trl_lint.sources import Files

NEWEST = str(newest("trl"))
PIN = "trl==0.15.2"


def release(root: Path, files: dict[str, str], path: str) -> str:
    """The release of trl that a file runs with, "" where none is sure."""
    for file, text in {"train.py": "import trl\n", "sub/run.py": "import trl\n", **files}.items():
        place = root / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    found = Project(str(root), Files(), Settings(str(root))).environment(str(root / path)).package("trl")
    return str(found.resolved) if found.source == "pin" else ""


IMAGES = [
    # What is installed in a folder that was copied is for that folder, unless the image starts something else.
    (["COPY . /app", "WORKDIR /app/sub", "RUN pip install -r deps.txt"], "sub"),
    (["COPY . /app", "WORKDIR /app", "WORKDIR sub", "RUN pip install -r deps.txt"], "sub"),
    (["COPY . /app", "RUN cd /app/sub && pip install -r deps.txt"], "sub"),
    (["COPY sub/ /app", "WORKDIR /app", "RUN pip install -r deps.txt", "CMD python run.py"], "sub"),
    (["COPY sub /app/", "WORKDIR /app", "RUN pip install -r deps.txt", 'CMD ["python", "run.py"]'], "sub"),
    (["COPY . /app", "WORKDIR /app", "RUN pip install -r sub/deps.txt"], "all"),
    (["COPY . /app", "WORKDIR /app/sub", "RUN pip install -r deps.txt", "WORKDIR /app", "CMD python train.py"], "all"),
    (["COPY . /app", "WORKDIR /app/sub", "RUN pip install -r deps.txt", "RUN cd /app && torchrun train.py"], "all"),
    (["WORKDIR /workspace", f"RUN pip install {PIN}"], "all"),
    (["COPY sub/deps.txt /tmp/", "WORKDIR /tmp", "RUN pip install -r deps.txt"], "all"),
    (["COPY sub/deps.txt .", "RUN pip install -r deps.txt", "COPY . ."], "all"),
]


@pytest.mark.parametrize("name", ["Dockerfile", "docker/Dockerfile", "Dockerfile.train"])
@pytest.mark.parametrize(("lines", "place"), IMAGES)
def test_an_image_is_for_the_folder_that_it_works_in(tmp_path, name, lines, place):
    files = {name: "FROM python:3.11\n" + "\n".join(lines) + "\n", "sub/deps.txt": f"{PIN}\n"}
    assert release(tmp_path, files, "sub/run.py") == "0.15.2"
    assert release(tmp_path, files, "train.py") == ("0.15.2" if place == "all" else "")


def workflow(directory: str, level: str, install: str) -> str:
    default = f"defaults:\n  run:\n    working-directory: {directory}\n"
    inner = "".join(f"    {line}\n" for line in default.splitlines())
    here = f"        working-directory: {directory}\n" if level == "step" else ""
    steps = f"      - run: {install}\n{here}      - run: pytest\n{here}"
    job = inner if level == "job" else ""
    head = default if level == "file" else ""
    return f"on: push\n{head}jobs:\n  test:\n    runs-on: x\n{job}    steps:\n{steps}"


@pytest.mark.parametrize("level", ["file", "job", "step"])
@pytest.mark.parametrize("directory", ["sub", "./sub", "sub/"])
@pytest.mark.parametrize("install", ["pip install -e .", "uv sync --locked", "pip install ."])
def test_a_workflow_installs_for_its_working_directory(tmp_path, level, directory, install):
    files = {
        ".github/workflows/test.yml": workflow(directory, level, install),
        "sub/pyproject.toml": f'[project]\nname = "sub"\nversion = "1"\ndependencies = ["{PIN}"]\n',
    }
    assert release(tmp_path, files, "sub/run.py") == "0.15.2"
    assert release(tmp_path, files, "train.py") == ""


JOBS = {
    "skypilot": "resources:\n  accelerators: A100:8\nsetup: |\n  pip install PIN\nrun: |\n  python train.py\n",
    "skypilot, one text": "resources:\n  cloud: aws\nrun: |\n  pip install PIN\n  python train.py\n",
    "dstack": "type: task\ncommands:\n  - pip install PIN\n  - python train.py\nresources:\n  gpu: 80GB\n",
    "compose": 'services:\n  t:\n    image: x\n    command: bash -c "pip install PIN && python train.py"\n',
    "compose, words": 'services:\n  t:\n    command: ["sh", "-c", "pip install PIN && python train.py"]\n',
    "job": "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: x\nspec:\n  template:\n    spec:\n      containers:\n"
    '      - name: t\n        image: x\n        command: ["bash", "-c", "pip install PIN && torchrun train.py"]\n',
    "ray": "apiVersion: ray.io/v1\nkind: RayJob\nmetadata:\n  name: x\nspec:\n"
    '  entrypoint: bash -c "pip install PIN && python train.py"\n',
}
NAMES = {"compose": "docker-compose.yml", "compose, words": "deploy/compose.yaml", "dstack": ".dstack.yml"}


@pytest.mark.parametrize("kind", JOBS)
@pytest.mark.parametrize("folder", ["", "jobs/", "deploy/gpu/"])
def test_what_a_job_installs_is_installed(tmp_path, kind, folder):
    name = NAMES.get(kind, "task.yaml").rpartition("/")[2]
    files = {f"{folder}{name}": JOBS[kind].replace("PIN", PIN)}
    assert release(tmp_path, files, "train.py") == "0.15.2"
    assert release(tmp_path, files, "sub/run.py") == "0.15.2"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".gitlab-ci.yml", f"test:\n  script:\n    - pip install {PIN}\n    - pytest\n"),
        (".circleci/config.yml", f"jobs:\n  a:\n    steps:\n      - run: pip install {PIN}\n"),
        ("recipe.yaml", f"model: x\n# pip install {PIN}\nlearning_rate: 1e-6\n"),
        ("recipe.yaml", f"notes: pip install {PIN}\nrun: 3\n"),
        ("task.yaml", "resources:\n  accelerators: A100:8\nrun: |\n  python train.py\n"),
        ("task.yaml", "resources: [\n"),
    ],
)
def test_what_no_job_installs_is_not_installed(tmp_path, name, text):
    assert release(tmp_path, {name: text}, "train.py") == ""


@pytest.mark.parametrize("kind", ["skypilot", "job"])
def test_jobs_that_differ_leave_it_open(tmp_path, kind):
    files = {f"jobs/{number}.yaml": JOBS[kind].replace("PIN", f"trl=={number}") for number in ("0.15.2", "1.0.0")}
    assert release(tmp_path, files, "train.py") == ""


CI = [
    (".github/workflows/test.yml", "jobs:\n  test:\n    steps:\n    - run: {}\n"),
    (".gitlab-ci.yml", "test:\n  script:\n  - {}\n"),
    (".circleci/config.yml", "jobs:\n  test:\n    steps:\n    - run: {}\n"),
    (".buildkite/pipeline.yml", 'steps:\n- command: "{}"\n'),
    ("Taskfile.yml", 'version: "3"\ntasks:\n  test:\n    cmds:\n    - {}\n'),
]


@pytest.mark.parametrize(("path", "form"), CI)
def test_what_only_ci_installs_is_named_and_decides_nothing(tmp_path, path, form):
    release(tmp_path, {path: form.format(f"pip install {PIN}")}, "train.py")
    project = Project(str(tmp_path), Files(), Settings(str(tmp_path)))
    found = project.environment(str(tmp_path / "train.py")).package("trl")
    assert found.source == "told"
    assert [str(version) for version in found.allowed or ()] == ["0.15.2", NEWEST]
    assert release(tmp_path, {"requirements.txt": "trl==0.18.0\n"}, "train.py") == "0.18.0"


IMAGES_OF_PYTHON = [
    ("FROM python:3.10\n", "3.10"),
    ("FROM python:3.10-slim AS base\nFROM base\n", "3.10"),
    ("FROM python:3.9 AS build\nFROM docker.io/library/python:3.12.4-bookworm\n", "3.12"),
    ("FROM --platform=linux/amd64 python:3.10.14@sha256:0a\n", "3.10"),
    ("FROM ghcr.io/someone/python:3.10\n", "3.10"),
    ("FROM python:3.10 AS a\nFROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n", ""),
    ("FROM python:3\n", ""),
    ("FROM python\n", ""),
    ("FROM python:$VERSION\n", ""),
    ("FROM my-python:3.10\n", ""),
]


def python(root: Path, files: dict[str, str]) -> str:
    release(root, files, "train.py")
    return Project(str(root), Files(), Settings(str(root))).environment(str(root / "train.py")).python


@pytest.mark.parametrize(("head", "expected"), IMAGES_OF_PYTHON)
def test_the_python_of_an_image(tmp_path, head, expected):
    assert python(tmp_path, {"Dockerfile": f"{head}RUN pip install {PIN}\n"}) == expected


CHOSEN = [("3.10\n", "3.10"), ("3.12.4\n3.9\n", "3.12"), ("cpython-3.10", "3.10"), ("pypy3.10\n", ""), ("myenv\n", "")]


@pytest.mark.parametrize(("text", "expected"), [*CHOSEN, ("", ""), ("3.10\n" * 1000, "")])
def test_the_python_that_a_tool_takes(tmp_path, text, expected):
    assert python(tmp_path, {".python-version": text}) == expected


def test_the_nearest_python_counts(tmp_path):
    files = {
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.9"\n',
        "Dockerfile": f"FROM python:3.10\nRUN pip install {PIN}\n",
    }
    assert python(tmp_path, files) == "3.10"
    assert python(tmp_path, {"docker/Dockerfile": f"FROM python:3.12\nRUN pip install {PIN}\n"}) == "3.11"
