"""Releases that are named and not installed: in READMEs, in lists of what was there, in generated code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.laid_out import environment, readme, setup
from trl_lint.checks.verdict import judge_pins

FENCE = "```{}\nPython 3.10\ntorch==2.5.0\ntransformers==4.48.2\ntrl==0.16.0\n```\n"
PROSE = "Everything was tested with PyTorch 2.5.0, TRL 0.16.0 and Transformers v4.48.2.\n"
FROZEN = "accelerate==1.3.0\ntransformers==4.48.2\ntrl==0.16.0\nlocal @ file:///home/me/local\n-e git+https://x.org/y#egg=y\n"
PIP_LIST = "Package      Version\n------------ -------\naccelerate   1.3.0\ntransformers 4.48.2\ntrl          0.16.0\n"
CONDA_LIST = (
    "# packages in environment at /opt/conda:\n#\n# Name    Version    Build  Channel\n"
    "_libgcc_mutex   0.1   main\ntransformers   4.48.2   pypi_0   pypi\ntrl   0.16.0   pypi_0   pypi\n"
)
HEAD = '"""\n2025.3.17\n2025.3.19\n4.48.2\n0.16.0\n__UNSLOTH_VERSIONING__\n"""\nimport torch\n'


def source(root: Path, files: Mapping[str, str], package: str = "trl", path: str = "train.py") -> str:
    """Where the release comes from, with the releases."""
    found = environment(root, files, path).package(package)
    return f"{found.source} {' '.join(map(str, found.allowed or ()))}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("README.md", f"# P\n\n## {title}\n\n{FENCE.format('')}") for title in ("Environment", "环境", "Results")),
        *(("README.md", FENCE.format(language)) for language in ("text", "txt", "bash", "shell", "requirements")),
        ("README.md", "> ```\n> trl==0.16.0\n> transformers==4.48.2\n> ```\n"),
        ("docs/README.md", FENCE.format("")),
        ("README_zh.md", FENCE.format("")),
        ("README.md", "## Requirements\n\n- trl==0.16.0\n- transformers == 4.48.2  # newer ones fail\n"),
        ("README.md", "## Requirements\n\n* **TRL**: 0.16.0\n* **Transformers**: 4.48.2\n"),
        ("README.md", "## Installation\n\n1. `trl` (0.16.0)\n2. `transformers` (4.48.2)\n"),
        ("README.md", "## 依赖\n\n- trl：0.16.0\n- transformers：4.48.2\n"),
        ("README.md", f"## Environment\n\n{PROSE}"),
        (
            "README.md",
            "## Software\n\n| Package | Version |\n|---|---|\n| TRL | 0.16.0 |\n| `transformers` | 4.48.2 |\n",
        ),
        (
            "README.md",
            "## 环境\n\n| 库 | 用途 | 版本 |\n|---|---|---|\n| trl | RL | ==0.16.0 |\n| transformers || v4.48.2 |\n",
        ),
        ("requirements-freeze.txt", FROZEN),
        ("freeze.txt", FROZEN),
        ("pip_freeze.txt", FROZEN),
        ("environment.txt", FROZEN),
        ("pip_list.txt", PIP_LIST),
        ("pip-list.log", PIP_LIST),
        ("conda_list.txt", CONDA_LIST),
        ("unsloth_compiled_cache/UnslothGRPOTrainer.py", HEAD),
    ],
)
def test_every_way_to_tell_a_release(name: str, text: str, tmp_path: Path):
    how = "pin" if name == "requirements-freeze.txt" else "told"
    assert source(tmp_path, {name: text}).startswith(f"{how} 0.16.0")
    assert source(tmp_path, {name: text}, "transformers").startswith(f"{how} 4.48.2")
    assert source(tmp_path, {name: text}, "peft").startswith("assumed " if how == "told" else "unknown ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", f"## Results\n\n{PROSE}"),
        ("README.md", "## Requirements\n\n- trl>=0.16.0\n- transformers >= 4.48.2\n"),
        ("README.md", "## Requirements\n\n- trl 0.16.0 or later\n- transformers 4.48.2+\n"),
        ("README.md", "## Requirements\n\nIt does not work with trl 0.16.0 and transformers 4.48.2.\n"),
        ("README.md", "## Requirements\n\n- trl 0.16.0.1\n- transformers 4.48.2.1\n- my-trl 0.16.0\n"),
        ("README.md", "## Requirements\n\ntrl-0.16.0 and transformers/4.48.2\n"),
        ("README.md", "## Changes from trl 0.16.0 on\n\n### 0.16.0\n"),
        ("README.md", FENCE.format("python")),
        ("README.md", FENCE.format("yaml")),
        ("README.md", "| Model | trl |\n|---|---|\n| transformers | 0.16.0 |\n"),
        ("README.md", "| Package | Version |\n|---|---|\n| trl | >=0.16.0 |\n| transformers | any |\n"),
        ("README.md", "## Requirements\n\n- trl 99.16.0\n- transformers 4.48\n"),
        ("notes.md", FENCE.format("")),
        ("environment.txt", "The environment was built with trl 0.16.0\nand transformers 4.48.2\nby hand\n"),
        ("freeze.txt", "nothing is frozen here\nreally\ntrl==0.16.0\n"),
        ("cache/UnslothGRPOTrainer.py", HEAD),
        ("unsloth_compiled_cache/x.py", '"""\n0.16.0\n"""\n'),
        ("third_party/x/README.md", FENCE.format("")),
    ],
)
def test_what_tells_no_release(name: str, text: str, tmp_path: Path):
    assert source(tmp_path, {name: text}).startswith("assumed ")
    assert source(tmp_path, {name: text}, "transformers").startswith("assumed ")


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("requirements.txt", "trl==0.15.2\n", "pin 0.15.2"),
        ("install.sh", "pip install trl==0.15.2\n", "pin 0.15.2"),
        ("requirements.txt", "trl\n", "told 0.16.0"),
        ("requirements.txt", "git+https://github.com/someone/handbook\n", "told 0.16.0"),
        ("requirements.txt", "git+https://github.com/someone/trl\n", "unknown "),
        (
            "setup.py",
            setup("p", "trl>=0.9,<0.12"),
            "pin 0.9.2 0.9.3 0.9.4 0.9.6 0.10.1 0.11.0 0.11.1 0.11.2 0.11.3 0.11.4",
        ),
        ("sub/README.md", FENCE.format("").replace("0.16.0", "0.15.2"), "told 0.16.0"),
    ],
)
def test_what_is_installed_goes_before_what_is_told(name: str, text: str, found: str, tmp_path: Path):
    assert source(tmp_path, {"README.md": FENCE.format(""), name: text}) == found


def test_the_places_that_disagree_are_alternatives(tmp_path: Path):
    files = {"README.md": FENCE.format(""), "freeze.txt": FROZEN.replace("0.16.0", "0.15.2")}
    assert source(tmp_path, files) == "told 0.15.2 0.16.0"


@pytest.mark.parametrize(
    "name",
    ["README.md", "freeze.txt", "unsloth_compiled_cache/UnslothGRPOTrainer.py"],
)
def test_what_is_told_is_one_level_lower(name: str, tmp_path: Path):
    text = {"README.md": FENCE.format(""), "freeze.txt": FROZEN}.get(name, HEAD)
    verdict = judge_pins(environment(tmp_path, {name: text}), {"trl": ">=0.15"}, "error")
    assert verdict is not None and verdict.severity == "warning"
    assert "nothing here pins trl; 0.16.0 is named elsewhere" in verdict.scope
    assert [place.path for place in verdict.related] == [str(tmp_path / name)]


@pytest.mark.parametrize(
    ("above", "found"),
    [
        ("trl==0.15.2\n", "told 0.15.2 0.16.0"),
        ("trl==0.16.0\n", "pin 0.16.0"),
        ("trl>=0.15.2,<0.17\n", "pin 0.15.2 0.16.0 0.16.1"),
        ("trl<0.12,>=0.11\n", "pin 0.11.0 0.11.1"),
        ("git+https://github.com/someone/trl\n", "unknown "),
    ],
)
def test_a_nearer_page_that_names_another_release_is_an_alternative(above: str, found: str, tmp_path: Path):
    files = {"requirements.txt": above, "sub/README.md": FENCE.format(""), "sub/train.py": ""}
    assert source(tmp_path, files, path="sub/train.py").startswith(found)
    assert source(tmp_path, files).startswith(found.replace("told 0.15.2 0.16.0", "pin 0.15.2"))
    assert source(tmp_path, {**files, "sub/requirements.txt": "trl==0.9.6\n"}, path="sub/train.py") == "pin 0.9.6"


# -- the rest of the tree -------------------------------------------------------------------------------------------

IMAGE = "FROM nvidia/cuda\nCOPY requirements-initial.txt /tmp/\nRUN pip install -r /tmp/requirements-initial.txt\n"
DEFINITION = (
    "Bootstrap: docker\nFrom: nvidia/cuda\n\n%files\n    requirements-initial.txt /opt/\n\n%post\n    apt-get update\n"
    "    pip install -r /opt/requirements-initial.txt\n\n%runscript\n    python train.py\n"
)
PLAIN_DEFINITION = (
    "Bootstrap: docker\nFrom: x\n%post\n    pip3 install trl==0.16.0 \\\n        peft\n"
    "%test\n    pip install trl==0.1.1\n"
)
DEVCONTAINER = '{"image": "x", "postCreateCommand": %s}\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("installation/docker-arm64-cuda/Dockerfile", IMAGE),
        ("envs/apptainer/train.def", DEFINITION),
        ("apptainer.def", PLAIN_DEFINITION),
        ("containers/Singularity", PLAIN_DEFINITION),
        ("containers/Singularity.train", PLAIN_DEFINITION),
        (".devcontainer/devcontainer.json", DEVCONTAINER % '"pip install trl==0.16.0"'),
        (".devcontainer/devcontainer.json", DEVCONTAINER % '["bash", "-c", "pip install trl==0.16.0"]'),
        (".devcontainer/devcontainer.json", DEVCONTAINER % '{"a": "true", "b": "pip install trl==0.16.0"}'),
    ],
)
@pytest.mark.parametrize("path", ["train.py", "src/deep/train.py"])
def test_an_image_is_for_the_code_around_it(name: str, text: str, path: str, tmp_path: Path):
    folder = name.rpartition("/")[0]
    files = {name: text, f"{folder}/requirements-initial.txt".lstrip("/"): "trl==0.16.0\n", path: "import trl\n"}
    if not folder:
        del files["requirements-initial.txt"]
    assert source(tmp_path, files, path=path) == "pin 0.16.0"
    assert source(tmp_path, {**files, "requirements.txt": "trl==0.15.2\n"}, path=path) == "pin 0.15.2"


def test_images_that_differ_are_alternatives(tmp_path: Path):
    files = {
        f"installation/{arch}/{name}": text
        for arch, version in (("arm64", "0.16.0"), ("amd64", "0.15.2"))
        for name, text in (("Dockerfile", IMAGE), ("requirements-initial.txt", f"trl=={version}\n"))
    }
    assert source(tmp_path, {**files, "train.py": ""}) == "told 0.15.2 0.16.0"
    files["installation/amd64/requirements-initial.txt"] = "trl==0.16.0\n"
    assert source(tmp_path, {**files, "train.py": ""}) == "pin 0.16.0"


@pytest.mark.parametrize("name", ["requirements.txt", "Dockerfile", "install.sh", "pyproject.toml", "README.md"])
def test_what_is_pinned_for_other_code_counts_beside_the_newest(name: str, tmp_path: Path):
    """The other code may be another project's, and whoever installs this one today gets the newest release."""
    text = {
        "requirements.txt": "trl==0.16.0\n",
        "Dockerfile": "FROM x\nRUN pip install trl==0.16.0\n",
        "install.sh": "pip install trl==0.16.0\n",
        "pyproject.toml": '[project]\nname = "other"\ndependencies = ["trl==0.16.0"]\n',
        "README.md": readme("pip install trl==0.16.0"),
    }[name]
    found = environment(tmp_path, {f"other/{name}": text, "other/main.py": "", "here/train.py": ""}, "here/train.py")
    trl = found.package("trl")
    assert (trl.source, trl.specifier.split(" | ")[0], len(trl.allowed or ())) == ("told", "==0.16.0", 2)
    assert judge_pins(found, {"trl": "<0.17"}, "error") is None
    verdict = judge_pins(found, {"trl": ">=0.16"}, "error")
    assert verdict is not None and verdict.severity == "warning"
    assert "0.16.0 is named elsewhere, and " in verdict.scope
