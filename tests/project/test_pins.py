"""Pins in every notation: each test shows a file and the pins that are read from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.project.manifests.reader import read_manifest
from trl_lint.project.pins import Manifest, is_manifest
from trl_lint.sources import Files, SourceError


def read(folder: Path, name: str, text: str) -> Manifest | None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    files = Files()
    return read_manifest(files.get(str(path)), files)


def pins(manifest: Manifest | None) -> list[tuple[str, str, str]]:
    assert manifest is not None
    return [(pin.kind, pin.package, pin.specifier) for pin in manifest.pins]


@pytest.mark.parametrize(
    "name",
    ["requirements.txt", "requirements-dev.txt", "dev_requirements.txt", "requirements/train.txt", "constraints.txt",
     "pyproject.toml", "setup.py", "setup.cfg", "uv.lock", "poetry.lock", "pylock.toml", "pylock.gpu.toml",
     "train.py.lock", "environment.yml", "conda-gpu.yaml", "Dockerfile", "Dockerfile.cuda", "train.py", "nb.ipynb",
     "setup.sh", "README.md"],
)  # fmt: skip
def test_is_manifest(name: str):
    assert is_manifest(f"/p/{name}")


@pytest.mark.parametrize("name", ["notes.txt", "config.yaml", "ds.json", "CHANGELOG.md", "data.csv", "Dockerfile.md"])
def test_is_no_manifest(name: str):
    assert not is_manifest(f"/p/{name}")


def test_python_file_without_block_is_none(tmp_path: Path):
    assert read(tmp_path, "train.py", "import trl\n") is None


def test_requirements_follow_includes_and_mark_constraints(tmp_path: Path):
    (tmp_path / "base.txt").write_text("-r requirements.txt\npeft==0.14.0\n")
    (tmp_path / "pins.txt").write_text("torch==2.5.1\n")
    found = read(tmp_path, "requirements.txt", "-r base.txt\n-c pins.txt\n-r missing.txt\ntrl\n")
    assert pins(found) == [
        ("requirement", "trl", ""), ("requirement", "peft", "==0.14.0"), ("constraint", "torch", "==2.5.1")
    ]  # fmt: skip


def test_malformed_requirement_is_a_problem(tmp_path: Path):
    found = read(tmp_path, "requirements.txt", "trl\npeft\nbitsandbytes=0.43.3\n")
    assert found is not None
    ((location, message),) = found.problems
    assert (location.start, location.end) == (9, 28)
    assert "bitsandbytes" in message


def test_prose_and_conda_exports_named_requirements_are_left_alone(tmp_path: Path):
    assert read(tmp_path, "requirements.txt", "You need a GPU\nand a lot of patience\ntorch\n") is None
    assert read(tmp_path, "requirements.txt", "numpy=1.26=py311\npip=24=pyhd\ntorch\n") is None


def test_one_slip_does_not_hide_the_pin_beside_it(tmp_path: Path):
    """Half of the lines are wrong here, which says little about a file of two."""
    found = read(tmp_path, "requirements.txt", "trl=0.17.0\ntransformers==4.52.4\n")
    assert pins(found) == [("requirement", "transformers", "==4.52.4")]
    assert found is not None and len(found.problems) == 1
    # By another name it may be anything.
    assert read(tmp_path, "dev-requirements.txt", "trl=0.17.0\ntransformers==4.52.4\n") is None


def test_nul_byte_in_requirements(tmp_path: Path):
    with pytest.raises(SourceError):
        read(tmp_path, "requirements.txt", "trl\0\n")


PYPROJECT = """
[project]
name = "My_Trainer"
version = "1.2"
requires-python = ">=3.10"
dependencies = ["trl[vllm]>=0.14,<0.18"]

[project.optional-dependencies]
gpu = ["flash-attn==2.7.4.post1"]

[dependency-groups]
test = ["pytest", {include-group = "Lint"}]
lint = ["ruff==0.8", {include-group = "test"}]

[tool.uv]
constraint-dependencies = ["torch<2.6"]

[tool.uv.sources]
peft = { git = "https://github.com/huggingface/peft" }
torch = { index = "pytorch" }
"""


def test_pyproject(tmp_path: Path):
    found = read(tmp_path, "pyproject.toml", PYPROJECT)
    assert found is not None
    assert (found.project, found.version, found.python) == ("my-trainer", "1.2", ">=3.10")
    assert [(pin.kind, pin.group, pin.package, pin.specifier) for pin in found.pins] == [
        ("requirement", "", "trl", ">=0.14,<0.18"),
        ("extra", "gpu", "flash-attn", "==2.7.4.post1"),
        ("group", "test", "pytest", ""),
        ("group", "test", "ruff", "==0.8"),
        ("group", "lint", "ruff", "==0.8"),
        ("group", "lint", "pytest", ""),
        ("constraint", "", "torch", "<2.6"),
    ]
    assert found.pins[0].extras == {"vllm"}


def test_source_table_makes_a_url(tmp_path: Path):
    text = '[project]\nname = "x"\ndependencies = ["trl==0.15.2"]\n[tool.uv.sources]\ntrl = { git = "https://x" }\n'
    assert pins(read(tmp_path, "pyproject.toml", text)) == [("url", "trl", "")]


@pytest.mark.parametrize(
    ("poetry", "pep440"),
    [
        ("^0.9", ">=0.9,<0.10"), ("^1.2.3", ">=1.2.3,<2"), ("^0.0.3", ">=0.0.3,<0.0.4"), ("~0.7.1", ">=0.7.1,<0.8"),
        ("~1", ">=1,<2"), ("1.2.*", "==1.2.*"), ("1.2.3", "==1.2.3"), ("*", ""), (">=4.40 <5", ">=4.40,<5"),
        (">=1,<2", ">=1,<2"), ("~=1.4", "~=1.4"),
    ],
)  # fmt: skip
def test_poetry_versions(tmp_path: Path, poetry: str, pep440: str):
    text = f'[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\npython = "^3.10"\ntrl = "{poetry}"\n'
    assert pins(read(tmp_path, "pyproject.toml", text)) == [("requirement", "trl", pep440)]


def test_poetry_alternatives_are_not_guessed(tmp_path: Path):
    text = '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\ntrl = "^0.9 || ^0.14"\npeft = "*"\n'
    assert pins(read(tmp_path, "pyproject.toml", text)) == [("requirement", "peft", "")]


SETUP = """
import re
from setuptools import setup

_deps = [
    "accelerate>=1.2.1",
    "math-verify==0.5.2",
    "trl @ git+https://github.com/huggingface/trl.git@main",
    "vllm==0.6.6",
]
deps = {b: a for a, b in (re.findall(r"...", x)[0] for x in _deps)}

def deps_list(*pkgs):
    return [deps[pkg] for pkg in pkgs]

extras = {}
extras["eval"] = deps_list("math-verify")
extras["dev"] = extras["eval"] + ["pytest"]
extra_requires = {"ignored": ["never-read"]}
setup(name="open-r1", version="0.1.0.dev0", python_requires=">=3.10",
      install_requires=[deps["accelerate"], deps["trl"]], extras_require=extras)
"""


def test_setup_py_with_a_table(tmp_path: Path):
    found = read(tmp_path, "setup.py", SETUP)
    assert found is not None
    assert [(pin.kind, pin.group, pin.package) for pin in found.pins] == [
        ("requirement", "", "accelerate"),
        ("url", "", "trl"),
        ("extra", "eval", "math-verify"),
        ("extra", "dev", "math-verify"),
        ("extra", "dev", "pytest"),
        ("inert", "", "vllm"),
    ]
    assert (found.project, found.version) == ("open-r1", "0.1.0.dev0")
    vllm = found.pins[-1]
    assert SETUP[vllm.location.start : vllm.location.end] == "vllm==0.6.6"


def test_setup_py_spans_behind_wide_characters(tmp_path: Path):
    text = 'from setuptools import setup\nsetup(description="训练 🚀", install_requires=["trl==0.15.2"])\n'
    found = read(tmp_path, "setup.py", text)
    assert found is not None
    place = found.pins[0].specifier_location
    assert place is not None
    assert text[place.start : place.end] == "==0.15.2"


def test_setup_py_version_of_a_helper(tmp_path: Path):
    (tmp_path / "version.txt").write_text("0.3.1")
    text = (
        "from setuptools import setup\n"
        'def name():\n    return "openrlhf-nightly" if nightly() else "openrlhf"\n'
        "setup(name=name(), version=read())\n"
    )
    found = read(tmp_path, "setup.py", text)
    assert found is not None
    assert (found.project, found.version) == ("openrlhf", "0.3.1")


_TABLE = """
from setuptools import setup
_deps = ["filelock", "trl==0.15.2"]
deps = {b: a for a, b in (x.split("=") for x in _deps)}
MARK = ";python_version<'3.8'"
NAME = "trl"
setup(name="x", install_requires=%s)
"""


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("""[deps["filelock"] + ";python_version<'3.8'"]""", [("filelock", "", "python_version<'3.8'")]),
        ("""[deps["trl"] + MARK]""", [("trl", "==0.15.2", "python_version<'3.8'")]),
        ("""[NAME + "==" + "0.15.2"]""", [("trl", "==0.15.2", "")]),
        ("""[f"{NAME}==0.15.2"]""", [("trl", "==0.15.2", "")]),
        ("""[f"trl=={version()}"]""", []),
        ("""["trl==" + version()]""", []),
        ("""[unknown["trl"] + ";python_version<'3.8'"]""", []),
        ("""[deps["nothing"] + ";python_version<'3.8'"]""", []),
        ("""["trl==%s" % "0.15.2"]""", []),
        ("""["trl=={}".format(version()) + MARK]""", []),
        ("""["trl==0.15.2"] + [unknown + MARK]""", [("trl", "==0.15.2", "")]),
        ("""["trl==0.15.2"] + ["peft"]""", [("trl", "==0.15.2", ""), ("peft", "", "")]),
        ("""["trl==0.15.2"] + unknown""", [("trl", "==0.15.2", "")]),
    ],
)
def test_a_requirement_of_setup_py_in_parts_is_whole_or_unknown(value: str, found: list[object], tmp_path: Path):
    manifest = read(tmp_path, "setup.py", _TABLE.replace("%s", value, 1))
    asked = [pin for pin in manifest.pins if pin.kind != "inert"]
    assert [(pin.package, pin.specifier, pin.marker) for pin in asked] == found
    assert not manifest.problems


def test_setup_cfg(tmp_path: Path):
    text = (
        "[metadata]\nname = tools\nversion = 1.0\n[options]\ninstall_requires =\n    trl>=0.9  # comment\n    peft; "
        'python_version<"3.12"\n[options.extras_require]\nfast = vllm==0.7.2\n'
    )
    assert pins(read(tmp_path, "setup.cfg", text)) == [
        ("requirement", "trl", ">=0.9"), ("requirement", "peft", ""), ("extra", "vllm", "==0.7.2")
    ]  # fmt: skip


def test_setup_cfg_that_repeats_an_option(tmp_path: Path):
    """As TRL 0.18 to 0.23 do; their wheels hold the requirements of all extras in `dev`."""
    text = "[options.extras_require]\npeft =\n    peft>=0.8.0\ndev =\n    %(peft)s\n    pytest\n    100%\n"
    found = read(tmp_path, "setup.cfg", text)
    assert found is not None
    assert [(pin.group, pin.package) for pin in found.pins] == [("peft", "peft"), ("dev", "pytest")]
    assert [message for _, message in found.problems] == ["pip refuses '100%': unexpected '%'"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_script_block(tmp_path: Path, newline: str):
    lines = [
        "# /// script",
        '# requires-python = ">=3.11"',
        "# dependencies = [",
        '#     "trl[vllm]==0.15.2",',
        "# ]",
        "# ///",
    ]
    text = newline.join([*lines, "import trl", ""])
    found = read(tmp_path, "train.py", text)
    assert pins(found) == [("requirement", "trl", "==0.15.2")]
    assert found is not None and found.python == ">=3.11"
    place = found.pins[0].specifier_location
    assert place is not None
    assert text[place.start : place.end] == "==0.15.2"


def test_broken_script_block_names_the_place(tmp_path: Path):
    text = "# /// script\n# dependencies = [\n#   'trl\n# ]\n# ///\n"
    with pytest.raises(SourceError, match="script block") as error:
        read(tmp_path, "train.py", text)
    assert 0 < error.value.offset <= len(text)


UV_LOCK = """version = 1
requires-python = ">=3.10"

[[package]]
name = "trl"
version = "0.15.2"
source = { registry = "https://pypi.org/simple" }
dependencies = [{ name = "torch" }]

[[package]]
name = "peft"
version = "0.15.0"
source = { git = "https://github.com/huggingface/peft#abc" }

[[package]]
name = "mine"
source = { editable = "." }
"""

POETRY_LOCK = """[[package]]
name = "trl"
version = "0.15.2"
description = ""
files = []

[[package]]
name = "peft"
version = "0.15.0"
files = []

[package.source]
type = "git"
url = "https://github.com/huggingface/peft"

[metadata]
lock-version = "2.0"
"""

PYLOCK = """lock-version = "1.0"

[[packages]]
name = "trl"
version = "0.15.2"
index = "https://pypi.org/simple"

[[packages]]
name = "peft"
version = "0.15.0"
vcs = { type = "git", url = "https://github.com/huggingface/peft", commit-id = "abc" }
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [("uv.lock", UV_LOCK), ("train.py.lock", UV_LOCK), ("poetry.lock", POETRY_LOCK), ("pylock.toml", PYLOCK)],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_locks(tmp_path: Path, name: str, text: str, newline: str):
    found = read(tmp_path, name, text.replace("\n", newline))
    assert pins(found) == [("lock", "trl", "==0.15.2"), ("url", "peft", "")]
    assert found is not None and found.is_lock


def test_conda(tmp_path: Path):
    text = (
        "name: rl\ndependencies:\n  - python=3.11\n  - pytorch=2.3.1=py3.11_cuda\n  - conda-forge::numpy<2\n"
        "  - transformers 4.44.0\n  - trl=0.9\n  - pip:\n      - vllm>=0.7 # why\n      - -r requirements.txt\n"
        "      - git+https://github.com/x/y.git\n"
    )
    found = read(tmp_path, "environment.yml", text)
    assert pins(found) == [
        ("requirement", "torch", "==2.3.1"),
        ("requirement", "numpy", "<2"),
        ("requirement", "transformers", "==4.44.0.*"),
        ("requirement", "trl", "==0.9.*"),
        ("requirement", "vllm", ">=0.7"),
        ("url", "y", ""),
    ]
    assert found is not None and found.python == "==3.11.*"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "Dockerfile",
            'FROM x\nRUN pip install --no-cache-dir -U \\\n    "trl>=0.9" vllm==0.7.2 -r requirements.txt\n',
        ),
        ("setup.sh", "set -e\nuv pip install --python 3.11 'trl>=0.9' && python -m pip install vllm==0.7.2\n"),
        ("Makefile", "install:\n\t@uv venv && uv pip install 'trl>=0.9' && \\\n\tpip3 install vllm==0.7.2\n"),
        ("README.md", "Run:\n\n```bash\n$ pip install 'trl>=0.9'\n$ pip install vllm==0.7.2 $EXTRA\n```\n"),
    ],
)
def test_install_commands(tmp_path: Path, name: str, text: str):
    found = read(tmp_path, name, text)
    assert pins(found) == [("command", "trl", ">=0.9"), ("command", "vllm", "==0.7.2")]
    assert found is not None
    quoted, plain = found.pins
    assert quoted.specifier_location is not None
    assert text[quoted.specifier_location.start : quoted.specifier_location.end] == ">=0.9"
    assert plain.specifier_location is None, "`>` in a bare word would be a redirection"


def test_a_version_in_a_shell_redirect_is_not_a_pin(tmp_path: Path):
    assert pins(read(tmp_path, "setup.sh", "pip install vllm>=0.7\n")) == [("command", "vllm", "")]


def test_notebook_cells(tmp_path: Path):
    text = (
        '{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": '
        '["!pip install -q \\"trl==0.14.0\\"\\n", "%pip install vllm==0.7.0"]}], "metadata": {}, "nbformat": 4}'
    )
    found = read(tmp_path, "train.ipynb", text)
    assert pins(found) == [("command", "trl", "==0.14.0"), ("command", "vllm", "==0.7.0")]
    assert found is not None
    place = found.pins[0].specifier_location
    assert place is not None
    assert text[place.start : place.end] == "==0.14.0"


PIPFILE = """\
[[source]]
url = "https://pypi.org/simple"

[packages]
trl = "==0.15.2"
transformers = "*"
accelerate = {version = ">=1.0, <1.5", extras = ["deepspeed"]}
peft = {git = "https://github.com/huggingface/peft", ref = "v0.13.2"}

[dev-packages]
pytest = "*"
"""
PIPFILE_LOCK = """\
{
    "_meta": {"pipfile-spec": 6},
    "default": {
        "accelerate": {"index": "pypi", "version": "==1.2.1", "markers": "python_version >= '3.9'"},
        "peft": {"git": "https://github.com/huggingface/peft", "ref": "abc"},
        "trl": {"version": "==0.15.2"}
    },
    "develop": {"ruff": {"version": "==0.5.0"}}
}
"""


def test_a_pipfile_and_its_lock_are_read(tmp_path):
    from trl_lint.project.manifests.reader import read_manifest
    from trl_lint.sources import Files

    for name, text in (("Pipfile", PIPFILE), ("Pipfile.lock", PIPFILE_LOCK)):
        (tmp_path / name).write_text(text)
    files = Files({})
    asked = read_manifest(files.get(str(tmp_path / "Pipfile")), files)
    assert asked is not None
    assert {(pin.package, pin.specifier, pin.kind) for pin in asked.pins} == {
        ("trl", "==0.15.2", "requirement"),
        ("transformers", "", "requirement"),
        ("accelerate", ">=1.0,<1.5", "requirement"),
        ("peft", "", "url"),
        ("pytest", "", "group"),
    }
    locked = read_manifest(files.get(str(tmp_path / "Pipfile.lock")), files)
    assert locked is not None
    assert {(pin.package, pin.specifier, pin.kind, pin.marker) for pin in locked.pins} == {
        ("accelerate", "==1.2.1", "lock", ""),
        ("peft", "", "url", ""),
        ("trl", "==0.15.2", "lock", ""),
        ("ruff", "==0.5.0", "lock", ""),
    }


def test_the_lock_of_pipenv_decides_what_its_pipfile_leaves_open(tmp_path, monkeypatch, capsys):
    from trl_lint.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "Pipfile").write_text('[packages]\ntrl = "*"\n')
    (tmp_path / "Pipfile.lock").write_text('{"default": {"trl": {"version": "==0.15.2"}}}')
    (tmp_path / "train.py").write_text("import trl\n")
    main(["environment"])
    assert "trl  0.15.2  lock\n         Pipfile.lock:1:14: trl 0.15.2" in capsys.readouterr().out


@pytest.mark.parametrize("source", ["virtual", "editable"])
def test_the_project_of_a_lock_brings_nothing_that_the_lock_has_not(tmp_path, monkeypatch, capsys, source):
    from trl_lint.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    entry = '[[package]]\nname = "{}"\nversion = "{}"\nsource = {{ {} = "{}" }}\n'
    lock = entry.format("mine", "0.1.0", source, ".") + entry.format("trl", "0.15.2", "registry", "https://pypi.org")
    (tmp_path / "uv.lock").write_text(f"version = 1\n{lock}")
    (tmp_path / "train.py").write_text("import transformers\nimport trl\n")
    main(["."])
    said = capsys.readouterr()
    assert "may bring any release" not in said.out + said.err
