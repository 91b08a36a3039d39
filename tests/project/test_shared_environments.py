"""Folders without a statement of their own share the environment of the one above, and answer as if they did not."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from trl_lint.project import Project
from trl_lint.project.folders import Folders
from trl_lint.settings import Settings
from trl_lint.sources import Files

PIN, OTHER = "trl==0.15.2", "trl==1.0.0"
STATEMENTS = {
    "list": ("requirements.txt", "{pin}\n"),
    "side list": ("requirements-train.txt", "{pin}\n"),
    "inner list": ("requirements/base.txt", "{pin}\n"),
    "project": ("pyproject.toml", '[project]\nname = "x"\nversion = "1"\ndependencies = ["{pin}"]\n'),
    "lock": ("poetry.lock", '[[package]]\nname = "trl"\nversion = "{version}"\n'),
    "conda": ("environment.yml", "dependencies:\n  - pip:\n    - {pin}\n"),
    "image": ("Dockerfile", "FROM x\nRUN pip install {pin}\n"),
    "image beside": ("docker/Dockerfile", "FROM x\nRUN pip install {pin}\n"),
    "image elsewhere": ("install/gpu/Dockerfile", "FROM x\nRUN pip install {pin}\n"),
    "image of a part": ("install/gpu/Dockerfile", "FROM x\nCOPY part /app\nWORKDIR /app\nRUN pip install {pin}\n"),
    "script": ("setup.sh", "pip install {pin}\n"),
    "script for a part": ("setup.sh", "cd part\npip install {pin}\n"),
    "page": ("README.md", "## Environment\n\n```\n{pin}\n```\n"),
    "freeze": ("freeze.txt", "{pin}\nnumpy==1.26.4\n"),
    "freeze below": ("docs/freeze.txt", "{pin}\nnumpy==1.26.4\n"),
    "job": ("task.yaml", "resources:\n  accelerators: A100\nsetup: pip install {pin}\nrun: python train.py\n"),
    "job below": (
        "jobs/task.yaml",
        "resources:\n  accelerators: A100\nsetup: pip install {pin}\nrun: python train.py\n",
    ),
    "workflow": (".github/workflows/t.yml", "jobs:\n  a:\n    steps:\n      - run: pip install {pin}\n"),
    "notebook": ("a.ipynb", '{{"cells": [{{"cell_type": "code", "source": ["!pip install {pin}"]}}], "nbformat": 4}}'),
    "block": ("tool.py", '# /// script\n# dependencies = ["{pin}"]\n# ///\n'),
}
CODE = ("train.py", "part/train.py", "part/inner/train.py", "part/inner/deep/train.py", "other/train.py")


def answers(root: Path) -> list[str]:
    project = Project(str(root), Files(), Settings(str(root)))
    found = []
    for path in CODE:
        environment = project.environment(str(root / path))
        for name in ("trl", "transformers"):
            package = environment.package(name)
            shown = (
                package.source,
                package.specifier,
                str(package.resolved),
                len(package.allowed or ()),
                package.is_own,
            )
            found.append(f"{path} {name} {shown}")
    return found


@pytest.mark.parametrize("place", ["", "part/", "part/inner/"])
@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("beside", ["", "list", "lock", "page"])
def test_shared_environments_answer_alike(tmp_path, monkeypatch, statement, place, beside):
    files = dict.fromkeys(CODE, "import trl\n")
    name, text = STATEMENTS[statement]
    files[f"{place}{name}"] = text.format(pin=PIN, version="0.15.2")
    if beside:
        name, text = STATEMENTS[beside]
        files.setdefault(name, text.format(pin=OTHER, version="1.0.0"))
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    shared = answers(tmp_path)
    monkeypatch.setattr(Folders, "stating", lambda self, folder: folder)
    assert shared == answers(tmp_path)


@pytest.mark.parametrize(("statement", "place"), list(product(["list", "image", "page"], ["", "part/"])))
def test_folders_without_a_statement_share_one_object(tmp_path, statement, place):
    name, text = STATEMENTS[statement]
    for file in CODE:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("import trl\n")
    (tmp_path / f"{place}{name}").write_text(text.format(pin=PIN))
    project = Project(str(tmp_path), Files(), Settings(str(tmp_path)))
    deep, inner = (project.environment(str(tmp_path / f"part/{where}")) for where in ("inner/deep/a.py", "inner/a.py"))
    assert deep is inner
    assert (project.environment(str(tmp_path / "other/a.py")) is inner) == (place == "")
