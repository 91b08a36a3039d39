"""Releases that calls of Python, job files and image files install, and that comments and pages of other kinds tell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.laid_out import environment

NEWEST = "assumed 1.16.0"
SCRIPT = "from trl import GRPOConfig, TrlParser\n\nparser = TrlParser((GRPOConfig,))\n"


def source(root: Path, files: Mapping[str, str], path: str = "train.py") -> str:
    """Where the release of trl comes from, with the releases."""
    found = environment(root, {"train.py": SCRIPT, **files}, path).package("trl")
    releases = list(map(str, found.allowed or ()))
    return f"{found.source} {releases[0]}" + (f"..{releases[-1]}" if len(releases) > 1 else "") if releases else ""


MODAL = """\
import modal

app = modal.App("grpo")
image = modal.Image.debian_slim(python_version="3.11").apt_install("git").{how}


@app.function(image=image, gpu="H100")
def train():
    from trl import GRPOTrainer
"""
INSTALLS = [
    'pip_install("trl==0.16.0")',
    'pip_install("torch==2.5.1", "trl==0.16.0", extra_options="--no-deps")',
    'pip_install(["torch==2.5.1", "trl==0.16.0"])',
    "pip_install(*PACKAGES)\nPACKAGES = ['trl==0.16.0']",
    'uv_pip_install("trl==0.16.0", "vllm")',
    'run_commands("pip install trl==0.16.0")',
    'run_commands("apt-get update", "uv pip install --system trl==0.16.0")',
    'pip_install("wheel").pip_install("trl==0.16.0")',
]
RAY = [
    'ray.init(runtime_env={"pip": ["trl==0.16.0"]})',
    'ray.init(address="auto", runtime_env={"pip": {"packages": ["trl==0.16.0"], "pip_check": False}})',
    'ENV = {"uv": ["trl==0.16.0"], "env_vars": {"A": "1"}}\nray.init(runtime_env=ENV)',
    'from ray.runtime_env import RuntimeEnv\nray.init(runtime_env=RuntimeEnv(pip=["trl==0.16.0"]))',
    'PINS = ["trl==0.16.0"]\nray.init(runtime_env={"pip": PINS})',
]


@pytest.mark.parametrize("how", INSTALLS)
def test_an_image_of_modal_is_for_its_file_and_what_stands_around(tmp_path: Path, how: str):
    files = {"app.py": MODAL.format(how=how)}
    assert source(tmp_path, files, "app.py") == "pin 0.16.0"
    assert source(tmp_path, files) == "pin 0.16.0"


@pytest.mark.parametrize("call", RAY)
def test_a_runtime_environment_of_ray(tmp_path: Path, call: str):
    files = {"main.py": f"import ray\n\n{call}\n", "sub/a.py": SCRIPT}
    assert source(tmp_path, files, "main.py") == "pin 0.16.0"
    assert source(tmp_path, files, "sub/a.py") == "pin 0.16.0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('import nox\n@nox.session\ndef t(session):\n    session.install("trl==0.16.0")\n', "pin 0.16.0"),
        (
            'import subprocess, sys\nsubprocess.run([sys.executable, "-m", "pip", "install", "trl==0.16.0"])\n',
            "pin 0.16.0",
        ),
        ('import os\nos.system("pip install -q trl==0.16.0")\n', "pin 0.16.0"),
        ('os.system("pip install trl")\n', NEWEST),
        ('image.pip_install("trl==0.16.0")\n', NEWEST),  # nobody knows whose method that is
        ('def pip_install(*names): ...\n\n\nimport modal\n\npip_install("trl==0.16.0")\n', NEWEST),
        ('import ray\n\nray.init(runtime_env={"working_dir": ".", "pip": ["requests"]})\n', NEWEST),
        ('import ray\n\nray.init(runtime_env=read("trl==0.16.0"))\n', NEWEST),
        ('MESSAGE = """\nrun `pip install trl==0.16.0` first"""\n', NEWEST),
        ("# pip install trl==0.16.0\nimport trl\n", "told 0.16.0"),
        ("#   $ pip install -U 'trl==0.16.0' vllm\nimport trl\n", "told 0.16.0"),
        ("# !pip install trl==0.16.0\nimport trl\n", "told 0.16.0"),
        ("# %pip install trl==0.16.0\nimport trl\n", "told 0.16.0"),
        ("import torch\n\n# uv pip install trl==0.16.0\nimport trl\n", "told 0.16.0"),
        ('"""Train.\n\n    pip install trl==0.16.0 transformers==4.49.0\n"""\nimport trl\n', "told 0.16.0"),
        ('"""Train.\n\nInstall with\n\n```\npython -m pip install trl==0.16.0\n```\n"""\nimport trl\n', "told 0.16.0"),
        ('# pip install "trl>=0.15,<0.17"\nimport trl\n', "told 0.15.0..0.16.1"),
        ("# pip install trl==0.16.0 does not work\nimport trl\n", NEWEST),
        ("# pip install trl\nimport trl\n", NEWEST),
        ("x = 1  # pip install trl==0.16.0\nimport trl\n", NEWEST),
    ],
)
def test_what_a_script_installs_or_tells_to_install_is_for_itself(tmp_path: Path, text: str, expected: str):
    assert source(tmp_path, {"own.py": text}, "own.py") == expected
    if not text.startswith("import ray"):
        assert source(tmp_path, {"own.py": text}) == NEWEST


def estimator(arguments: str, call: str = "HuggingFace") -> str:
    module = "huggingface" if call == "HuggingFace" else "pytorch"
    return f"from sagemaker.{module} import {call}\n\njob = {call}(entry_point='train.py', {arguments})\n"


@pytest.mark.parametrize(
    ("arguments", "path", "expected"),
    [
        ("source_dir='scripts', transformers_version='4.49.0'", "scripts/train.py", "4.49.0"),
        ("source_dir='./scripts/', transformers_version='4.46'", "scripts/train.py", "4.46.3"),
        ("source_dir='scripts', transformers_version='4.49.0'", "train.py", ""),
        ("source_dir='scripts', transformers_version='4.49.0'", "start.py", ""),
        ("transformers_version='4.49.0', pytorch_version='2.5.1'", "train.py", "4.49.0"),
        ("transformers_version=VERSION", "train.py", ""),
        ("transformers_version=None", "train.py", ""),
    ],
)
def test_the_container_of_an_estimator_is_for_its_script(tmp_path: Path, arguments: str, path: str, expected: str):
    files = {"start.py": estimator(arguments), "train.py": SCRIPT, "scripts/train.py": SCRIPT}
    found = environment(tmp_path, files, path).package("transformers")
    assert (str(found.resolved) if found.source == "pin" else "") == expected


RAYJOB = """\
apiVersion: ray.io/v1
kind: RayJob
metadata: {{name: grpo}}
spec:
  entrypoint: python main.py
  runtimeEnvYAML: |
{inner}
"""
INLINE = """\
services:
  train:
    build:
      context: .
      dockerfile_inline: |
        FROM python:3.11
        RUN pip install --no-cache-dir \\
            trl==0.16.0
    command: accelerate launch train.py
"""
JOBS = {
    "rayjob list": {"job.yaml": RAYJOB.format(inner='    pip: ["trl==0.16.0"]\n    env_vars: {A: "1"}')},
    "rayjob lines": {
        "job.yaml": RAYJOB.format(inner="    pip:\n      - torch==2.5.1\n      - trl==0.16.0  # as the paper")
    },
    "rayjob packages": {"job.yaml": RAYJOB.format(inner="    pip: {packages: ['trl==0.16.0'], pip_check: false}")},
    "anyscale": {"job.yaml": "entrypoint: python a.py\nimage_uri: x\nruntime_env:\n  pip: [trl==0.16.0]\n"},
    "anyscale requirements": {
        "job.yaml": "entrypoint: python a.py\ncompute_config: x\nrequirements: ['trl==0.16.0']\n"
    },
    "compose": {"compose.yaml": INLINE},
    "cog": {"cog.yaml": "build:\n  gpu: true\n  python_packages:\n    - trl==0.16.0\n"},
    "cog run": {"cog.yaml": "build:\n  run:\n    - pip install trl==0.16.0\n"},
    "bento": {"bentofile.yaml": "service: a\npython:\n  packages:\n    - trl==0.16.0\n"},
    "truss": {"config.yaml": "model_name: a\nrequirements:\n  - trl==0.16.0\n"},
}


@pytest.mark.parametrize("name", JOBS)
def test_job_files_and_image_files(tmp_path: Path, name: str):
    assert source(tmp_path, JOBS[name]) == "pin 0.16.0"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"tox.ini": "[testenv]\ndeps =\n    trl==0.16.0\n    pytest\ncommands = pytest\n"}, "told 0.16.0..1.16.0"),
        ({"tox.ini": "[testenv:old]\ndeps = trl==0.16.0\ncommands = pytest\n"}, "told 0.16.0..1.16.0"),
        ({"tox.ini": "[testenv]\ndeps =\n    old: trl==0.16.0\n"}, NEWEST),  # of one factor
        ({"tox.ini": "[gh-actions]\ndeps = trl==0.16.0\n"}, NEWEST),
        ({"a.yaml": "pip:\n  - trl==0.16.0\n"}, NEWEST),  # nobody knows of what
        ({"config.yaml": "trainer: grpo\nrequirements:\n  - trl==0.16.0\n"}, NEWEST),
        ({"compose.yaml": INLINE.replace("dockerfile_inline", "notes")}, NEWEST),
        ({"job.yaml": RAYJOB.format(inner="    pip: [trl]")}, NEWEST),
        ({"job.yaml": RAYJOB.format(inner="    pip: [trl==0.16.0")}, NEWEST),  # broken
        (
            {"job.yaml": RAYJOB.format(inner='    pip: ["trl==0.16.0"]'), "requirements.txt": "trl==0.17.0\n"},
            "pin 0.17.0",
        ),
        ({"app.py": MODAL.format(how=INSTALLS[0]), "requirements.txt": "trl==0.17.0\n"}, "pin 0.17.0"),
        ({"a.py": "# pip install trl==0.16.0\n", "train.py": "# pip install trl==0.17.0\n" + SCRIPT}, "told 0.17.0"),
        ({"requirements.txt": "trl==0.17.0\n", "train.py": "# pip install trl==0.16.0\n" + SCRIPT}, "pin 0.17.0"),
    ],
)
def test_what_is_weaker_or_no_statement(tmp_path: Path, files: dict[str, str], expected: str):
    assert source(tmp_path, files) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"run.sh": "uv run --with trl==0.16.0 train.py --output_dir out\n"}, "pin 0.16.0"),
        ({"run.sh": "uv run --with trl==0.16.0 --with vllm python train.py\n"}, "pin 0.16.0"),
        ({"README.md": "```bash\nuv run --with trl==0.16.0 train.py\n```\n"}, "pin 0.16.0"),
        ({"a.sh": "uv run --with trl==0.16.0 train.py\n", "b.sh": "python train.py\n"}, "told 0.16.0"),
        ({"run.sh": "uv run --with trl==0.16.0 other.py\n", "other.py": SCRIPT}, NEWEST),
        ({"run.sh": "uv run --with trl train.py\n"}, NEWEST),
    ],
)
def test_what_uv_adds_for_one_run(tmp_path: Path, files: dict[str, str], expected: str):
    assert source(tmp_path, files) == expected


RST = """\
Grpo
====

{title}
{line}

Tested on Linux.

{body}
"""


@pytest.mark.parametrize("name", ["README.rst", "README.txt", "INSTALL.rst", "readme.txt", "README.md"])
@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Installation", ".. code-block:: bash\n\n   pip install trl==0.16.0"),
        ("Usage", "Run::\n\n    $ pip install trl==0.16.0"),
        ("Requirements", "* trl==0.16.0\n* torch==2.5.1"),
        ("Requirements", "- ``trl==0.16.0``"),
        ("Environment", "Everything was run with TRL 0.16.0."),
    ],
)
def test_pages_of_other_kinds(tmp_path: Path, name: str, title: str, body: str):
    text = RST.format(title=title, line="-" * len(title), body=body)
    assert source(tmp_path, {name: text}) == "told 0.16.0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Requirements\n\n- trl>=0.15,<0.17\n- torch\n", "told 0.15.0..0.16.1"),
        ("## Requirements\n\n- `trl >= 0.15, < 0.17`\n", "told 0.15.0..0.16.1"),
        ("- trl<0.17\n- trl>=0.15\n", "told 0.0.1..0.16.1"),
        ("- trl>=0.15\n", NEWEST),  # which is what it comes to
        ("# pip install 'trl>=0.15'\n", NEWEST),
        ("* TRL ~= 0.16.0  # as in the paper\n", "told 0.16.0..0.16.1"),
        ("- trl>=0.15\n- trl==0.16.0\n", "told 0.16.0"),
        ("- trl>=0.15 breaks the trainer\n", NEWEST),
        ("- trl>=99\n", NEWEST),
        ("- accuracy>=0.15\n", NEWEST),
        ("```python\nassert trl >= 0.15\n```\n", NEWEST),
    ],
)
def test_a_range_in_a_list(tmp_path: Path, text: str, expected: str):
    assert source(tmp_path, {"README.md": text}) == expected
