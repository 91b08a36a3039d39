"""With which releases a command runs that stands in another file than its script, and whose own build a pin names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.test_pin_rules import RANGE, UNSATISFIABLE, check
from trl_lint.project import Project
from trl_lint.project.launch_table import all_launches
from trl_lint.settings import Settings
from trl_lint.sources import Files

START = "python train.py"
IMAGE = ["FROM python:3.11", "RUN pip install trl==0.15.2"]


def released(root: Path, files: dict[str, str], package: str = "trl") -> str:
    """The release that the one command runs with, "" where none is sure."""
    for file, text in {"train.py": "import trl\n", "requirements.txt": "trl==0.19.1\n", **files}.items():
        place = root / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    project = Project(str(root), Files(), Settings(str(root)))
    (launch,) = (one for one in all_launches(project) if one.script_path is not None)
    found = project.environment_of(launch).package(package)
    return str(found.resolved) if found.source == "pin" else ""


@pytest.mark.parametrize("name", ["Dockerfile", "docker/Dockerfile", "Dockerfile.train"])
@pytest.mark.parametrize("start", [f"CMD {START}", f"RUN {START}", 'ENTRYPOINT ["python", "train.py"]'])
@pytest.mark.parametrize(
    ("lines", "release"),
    [
        (IMAGE, "0.15.2"),  # the image installs
        ([*IMAGE, "RUN pip install 'trl<0.15'"], "0.14.0"),  # the later command replaces what the first one left
        (["FROM python:3.11", "RUN pip install 'trl>=0.14'", "RUN pip install 'trl<0.16'"], "0.15.2"),
        (["FROM python:3.11", "RUN pip install 'trl[peft]==0.15.2'"], "0.15.2"),
        (["FROM python:3.11", "COPY . .", "RUN pip install -r requirements.txt"], "0.19.1"),
        (["FROM python:3.11", "COPY . ."], "0.19.1"),  # it installs nothing: what the script is pinned with
        (["FROM python:3.11", "RUN apt-get install -y git"], "0.19.1"),
        (["FROM python:3.11", "RUN pip install wandb", "COPY . .", "RUN pip install -r requirements.txt"], "0.19.1"),
    ],
)
def test_a_command_of_an_image_runs_with_what_the_image_installs(tmp_path, name, start, lines, release):
    assert released(tmp_path, {name: "\n".join([*lines, start]) + "\n"}) == release


@pytest.mark.parametrize("name", ["run.sh", "README.md", "Makefile"])
def test_a_command_elsewhere_runs_with_what_its_script_is_pinned_with(tmp_path, name):
    text = {"README.md": f"```bash\n{START}\n```\n", "Makefile": f"train:\n\t{START}\n"}.get(name, f"{START}\n")
    assert released(tmp_path, {name: text}) == "0.19.1"


PLATFORMS = ["cu124", "cu118", "cu12torch2.6cxx11abifalse", "cpu", "rocm6.3", "xpu", "computecanada", "pt26", "CU126"]
BUILDS = ["gptoss", "local", "fork.1", "git1a2b3c4", "ascend", "precompiled", "mycompany"]


@pytest.mark.parametrize("notation", ["{}=={}", "{}== {}", "{}[flashinfer]=={}", "{}=={}  # built by us"])
@pytest.mark.parametrize(("label", "is_told"), [*((p, True) for p in PLATFORMS), *((b, False) for b in BUILDS)])
def test_what_the_index_says_of_a_release_holds_for_its_platforms_and_not_for_other_builds(
    tmp_path, notation, label, is_told
):
    """vllm 0.10.1 requires torch==2.7.1."""
    text = "torch==2.8.0\n" + notation.format("vllm", f"0.10.1+{label}") + "\n"
    found = [
        finding for rule in (RANGE, UNSATISFIABLE) for finding in check(rule, tmp_path, {"requirements.txt": text})
    ]
    assert bool(found) is is_told
    again = check(RANGE, tmp_path, {"install.sh": f"pip install torch==2.8.0 vllm==0.10.1+{label}\n"}, "install.sh")
    assert bool(again) is is_told


@pytest.mark.parametrize("label", [*PLATFORMS, *BUILDS])
@pytest.mark.parametrize("torch", ["torch==2.7.1", "torch==2.7.1+{}"])
def test_a_label_of_what_is_required_excludes_nothing(tmp_path, label, torch):
    text = f"{torch.format(label)}\nvllm==0.10.1\n"
    assert check(UNSATISFIABLE, tmp_path, {"requirements.txt": text}) == []
    assert check(RANGE, tmp_path, {"requirements.txt": text}) == []
