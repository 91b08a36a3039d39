"""Pins in every notation, moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from trl_lint.fixes.apply import edited
from trl_lint.project import Project
from trl_lint.settings import Settings
from trl_lint.sources import Files
from trl_lint.upgrade.pins import decisions_on_pins, edits_of_pins, moved_specifier

RELEASES = {"trl": Version("1.16.0"), "transformers": Version("5.23.0")}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("==0.9.6", "==1.16.0"),
        ("===0.9.6", "===1.16.0"),
        ("== 0.9.6", "== 1.16.0"),
        ("==0.9.*", "==1.16.0"),
        ("~=0.9.0", "~=1.16.0"),
        (">=0.9", ">=1.16.0"),
        (">0.8", ">=1.16.0"),
        (">=0.9,<0.13", ">=1.16.0,<1.17"),
        (">= 0.9, < 0.13.0", ">= 1.16.0, < 1.17.0"),
        (">=0.9,<1.0", ">=1.16.0,<2.0"),
        (">=0.9,<2", ">=1.16.0,<2"),
        ("<0.12", ">=1.16.0,<1.17"),
        ("<=0.11.3", "==1.16.0"),
        (">=0.8,!=0.9.1,!=1.17.0", ">=1.16.0,!=1.17.0"),
        ("^0.9", "^1.16.0"),
        ("~0.9", "~1.16.0"),
        ("=0.9", "=1.16.0"),
        ("0.9.6", "1.16.0"),
    ],
)
def test_a_specifier_keeps_its_form(before: str, after: str):
    assert moved_specifier(before, Version("1.16.0")) == after


@pytest.mark.parametrize("text", ["", "latest || 1", ">=0.9 | <0.8", "^0.9,<2", "$VERSION"])
def test_what_is_not_understood_is_left(text: str):
    assert moved_specifier(text, Version("1.16.0")) is None


FILES = {
    "requirements.txt": (
        "trl[vllm]==0.9.6  # a comment\ntorch==2.6.0\n",
        "trl[vllm]==1.16.0  # a comment\ntorch==2.6.0\n",
    ),
    "constraints.txt": ("trl<0.12\n", "trl>=1.16.0,<1.17\n"),
    "setup.py": (
        'from setuptools import setup\nsetup(name="x", install_requires=["trl==0.9.6", "transformers>=4.41"])\n',
        'from setuptools import setup\nsetup(name="x", install_requires=["trl==1.16.0", "transformers>=5.23.0"])\n',
    ),
    "pyproject.toml": (
        '[project]\nname = "x"\nversion = "1"\ndependencies = ["trl ~= 0.9.0"]\n',
        '[project]\nname = "x"\nversion = "1"\ndependencies = ["trl ~= 1.16.0"]\n',
    ),
    "environment.yml": (
        "dependencies:\n  - transformers=4.41\n  - pip:\n    - trl==0.9.6\n",
        "dependencies:\n  - transformers=5.23.0\n  - pip:\n    - trl==1.16.0\n",
    ),
    "Dockerfile": ("FROM x\nRUN pip install trl==0.9.6 peft\n", "FROM x\nRUN pip install trl==1.16.0 peft\n"),
    "install.sh": ('pip install "trl==0.9.6"\n', 'pip install "trl==1.16.0"\n'),
    "README.md": ("```sh\npip install trl==0.9.6\n```\n", "```sh\npip install trl==1.16.0\n```\n"),
    "train.py": (
        '# /// script\n# dependencies = ["trl==0.9.6"]\n# ///\nprint(1)\n',
        '# /// script\n# dependencies = ["trl==1.16.0"]\n# ///\nprint(1)\n',
    ),
}


def project_of(folder: Path, name: str, text: str) -> Project:
    (folder / ".git").mkdir()
    (folder / name).write_text(text)
    return Project(str(folder), Files(), Settings(str(folder)))


@pytest.mark.parametrize("name", FILES)
def test_every_notation(name: str, tmp_path: Path):
    before, after = FILES[name]
    project = project_of(tmp_path, name, before)
    path = str(tmp_path / name)
    edits = list(edits_of_pins(project, [path], RELEASES))
    assert edited(before, edits) == after
    (tmp_path / name).write_text(after)
    moved = Project(str(tmp_path), Files(), Settings(str(tmp_path)))
    assert list(edits_of_pins(moved, [path], RELEASES)) == []
    assert list(decisions_on_pins(moved, [path], RELEASES)) == []


def test_poetry_keeps_its_own_signs(tmp_path: Path):
    text = '[tool.poetry.dependencies]\npython = "^3.10"\ntrl = "^0.9"\ntransformers = {version = "4.41.2"}\n'
    project = project_of(tmp_path, "pyproject.toml", text)
    path = str(tmp_path / "pyproject.toml")
    edits = list(edits_of_pins(project, [path], RELEASES))
    after = edited(text, edits)
    assert after == text.replace("^0.9", "^1.16.0").replace("4.41.2", "5.23.0")


def test_a_commit_of_the_own_repository_becomes_the_release(tmp_path: Path):
    text = "trl[vllm] @ git+https://github.com/huggingface/trl.git@69ad852e5654a77f1695eb4c608906fe0c7e8624\n"
    project = project_of(tmp_path, "requirements.txt", text)
    path = str(tmp_path / "requirements.txt")
    assert edited(text, list(edits_of_pins(project, [path], RELEASES))) == "trl[vllm]==1.16.0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trl @ git+https://github.com/huggingface/trl.git@main\n", "is installed from an address"),
        ("trl @ git+https://github.com/me/trl.git@v1.0.0\n", "is installed from an address"),
    ],
)
def test_a_branch_and_a_fork_are_left_to_a_person(text: str, message: str, tmp_path: Path):
    project = project_of(tmp_path, "requirements.txt", text)
    path = str(tmp_path / "requirements.txt")
    assert list(edits_of_pins(project, [path], RELEASES)) == []
    (decision,) = decisions_on_pins(project, [path], RELEASES)
    assert message in decision.text


@pytest.mark.parametrize(
    "head",
    [
        "#\n# This file is autogenerated by pip-compile with Python 3.10\n# by the following command:\n",
        "# This file was autogenerated by uv via the following command:\n",
        "# This file is @generated by PDM.\n",
    ],
)
def test_requirements_that_a_program_compiled_are_compiled_anew(tmp_path: Path, head: str):
    project = project_of(tmp_path, "requirements.txt", f"{head}trl==0.9.6\n    # via -r requirements.in\n")
    path = str(tmp_path / "requirements.txt")
    assert list(edits_of_pins(project, [path], RELEASES)) == []
    assert [(one.kind, one.text) for one in decisions_on_pins(project, [path], RELEASES)] == [("lock", "lock trl anew")]


def test_a_lock_is_locked_anew_by_its_program(tmp_path: Path):
    text = 'version = 1\n\n[[package]]\nname = "trl"\nversion = "0.9.6"\n'
    project = project_of(tmp_path, "uv.lock", text)
    path = str(tmp_path / "uv.lock")
    assert list(edits_of_pins(project, [path], RELEASES)) == []
    assert [(one.kind, one.text) for one in decisions_on_pins(project, [path], RELEASES)] == [("lock", "lock trl anew")]


def test_a_python_that_the_release_refuses_is_told(tmp_path: Path):
    text = '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.8"\ndependencies = ["trl==1.16.0"]\n'
    project = project_of(tmp_path, "pyproject.toml", text)
    path = str(tmp_path / "pyproject.toml")
    assert any(
        "trl 1.16.0 needs Python >=3.11, and Python >=3.8 is promised" in one.text
        for one in decisions_on_pins(project, [path], RELEASES)
    )
