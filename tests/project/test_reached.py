"""Modules that nothing runs are one level lower; what anything may run is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.project.roots import starting_in
from trl_lint.selection import Selection
from trl_lint.settings import Settings

BODY = "    return SFTTrainer(model=model, args=args, tokenizer=tok)\n"
MODULE = f"from trl import SFTTrainer\n\n\ndef build(model, args, tok):\n{BODY}"
MAIN = "if __name__ == '__main__':\n    print('trains')\n"
ENTRY = {"README.md": "# Mine\n", "requirements.txt": "trl==1.16.0\n", "train.py": f"import os\n\n{MAIN}"}


def module(*more: str) -> str:
    return "\n".join([*more, MODULE])


IDLE: dict[str, dict[str, str]] = {
    "nothing names it": {"build.py": MODULE},
    "in a package": {"lib/__init__.py": "", "lib/build.py": MODULE},
    "constants": {"build.py": module("LENGTH = 8", "NAMES: list[str] = ['a']")},
    "logger": {"build.py": module("import logging", "logger = logging.getLogger(__name__)")},
    "tried import": {"build.py": module("try:", "    import wandb", "except ImportError:", "    wandb = None")},
    "types alone": {"build.py": module("from typing import TYPE_CHECKING", "if TYPE_CHECKING:", "    import torch")},
    "class": {
        "build.py": f"from trl import SFTTrainer\n\n\nclass Build:\n    def run(self, model, args, tok):\n    {BODY}"
    },
    "dataclass": {"build.py": module("from dataclasses import dataclass", "@dataclass", "class A:", "    x: int = 1")},
    "imported by another that is idle": {"build.py": MODULE, "other.py": "from build import build\n\n\ndef f(): ...\n"},
    "in a tree of a page": {"build.py": MODULE, "README.md": "# Mine\n```\n├── build.py\n├── train.py\n```\n"},
    "in a list of a page": {"build.py": MODULE, "README.md": "# Mine\n```\nbuild.py   makes the trainer\n```\n"},
    "in the words of a page": {"build.py": MODULE, "README.md": "# Mine\n`build.py` makes the trainer.\n"},
    "a comment": {"build.py": MODULE, "train.py": f"# build comes later\n{MAIN}"},
    "another name": {"build.py": MODULE, "train.py": f"import rebuild\n\n{MAIN}"},
    "not built": {"build.py": MODULE, "pyproject.toml": "[project]\nname = 'mine'\nversion = '1'\n"},
    "replaced": {"train_old.py": f"{MODULE}\nbuild(1, 2, 3)\n"},
    "backup": {"train_bak2.py": f"{MODULE}\n{MAIN}"},
}
RUN: dict[str, dict[str, str]] = {
    "main": {"build.py": f"{MODULE}\n{MAIN}"},
    "call": {"build.py": f"{MODULE}\nbuild(1, 2, 3)\n"},
    "result": {"build.py": f"{MODULE}\ntrainer = build(1, 2, 3)\n"},
    "loop": {"build.py": f"{MODULE}\nfor size in SIZES:\n    build(size, 2, 3)\n"},
    "decorated": {"build.py": MODULE.replace("def build", "@app.command()\ndef build")},
    "hydra": {"build.py": MODULE.replace("def build", "@hydra.main(config_path='.')\ndef build")},
    "registered": {"build.py": MODULE.replace("def build", "@register('sft')\ndef build")},
    "imported": {"build.py": MODULE, "train.py": f"from build import build\n\n{MAIN}"},
    "imported module": {"build.py": MODULE, "train.py": f"import build as b\n\n{MAIN}"},
    "imported in a function": {"build.py": MODULE, "train.py": f"def f():\n    from build import build\n\n\n{MAIN}"},
    "imported from a package": {
        "lib/__init__.py": "", "lib/build.py": MODULE, "train.py": f"from lib.build import build\n\n{MAIN}",
    },
    "handed on by a package": {
        "lib/__init__.py": "from .build import build\n", "lib/build.py": MODULE,
        "train.py": f"from lib import build\n\n{MAIN}",
    },
    "star": {
        "lib/__init__.py": "from .build import *\n", "lib/build.py": MODULE, "train.py": f"from lib import *\n\n{MAIN}",
    },
    "lazy": {
        "lib/__init__.py": "_NAMES = {'build': ['x']}\n", "lib/build.py": MODULE, "train.py": f"import lib\n\n{MAIN}",
    },
    "through another": {
        "build.py": MODULE, "other.py": "from build import build\n\n\ndef f(): ...\n",
        "train.py": f"import other\n\n{MAIN}",
    },
    "by a string": {"build.py": MODULE, "train.py": f"import importlib\nm = importlib.import_module('build')\n{MAIN}"},
    "by a name that shows later": {
        "build.py": MODULE, "train.py": f"import importlib\nm = importlib.import_module(name)\n{MAIN}",
    },
    "by a name with a blank": {
        "build.py": MODULE, "train.py": f"import importlib\nm = importlib.import_module(f'lib.{{name}}')\n{MAIN}",
    },
    "all modules of a folder": {"build.py": MODULE, "train.py": f"import pkgutil\npkgutil.walk_packages(p)\n{MAIN}"},
    "run by path": {"build.py": MODULE, "train.py": f"import runpy\nrunpy.run_path(p)\n{MAIN}"},
    "registry": {"build.py": MODULE, "train.py": f"TRAINERS = {{'sft': 'build.build'}}\n{MAIN}"},
    "hydra target": {"build.py": MODULE, "conf/a.yaml": "trainer:\n  _target_: build.build\n"},
    "config in JSON": {"build.py": MODULE, "conf.json": '{"reward": "build.py:build"}\n'},
    "script": {"build.py": MODULE, "run.sh": "python -c 'import build; build.build(1, 2, 3)'\n"},
    "reward of a command": {"build.py": MODULE, "run.sh": "python train.py --reward build.py\n"},
    "make": {"build.py": MODULE, "Makefile": "train:\n\tpython -m build\n"},
    "Dockerfile": {"build.py": MODULE, "Dockerfile": "FROM python\nCMD python -m build\n"},
    "workflow": {"build.py": MODULE, ".github/workflows/a.yml": "jobs:\n  a:\n    steps:\n    - run: python build\n"},
    "entry point": {
        "build.py": MODULE, "pyproject.toml": "[project]\nname = 'm'\nversion = '1'\n[project.scripts]\nx='build:f'\n",
    },
    "notebook": {
        "build.py": MODULE,
        "a.ipynb": (
            '{"cells": [{"cell_type": "code", "source": ["from build import build"], "metadata": {}, "outputs": []}],'
            ' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
        ),
    },
    "test": {"build.py": MODULE, "tests/test_build.py": "from build import build\n\n\ndef test_it(): ...\n"},
    "is a test": {"tests/helpers.py": MODULE},
    "conftest": {"conftest.py": MODULE},
    "loaded by a server": {"handler.py": MODULE},
    "page shows it": {"build.py": MODULE, "README.md": "# Mine\n```python\nfrom build import build\n```\n"},
    "page starts it": {"build.py": MODULE, "README.md": "# Mine\n```bash\npython train.py --reward build.py\n```\n"},
    "built": {"build.py": MODULE, "pyproject.toml": "[build-system]\nrequires = []\n[project]\nname = 'm'\n"},
    "setup": {"build.py": MODULE, "setup.py": "from setuptools import setup\nsetup(name='mine')\n"},
    "poetry": {"build.py": MODULE, "pyproject.toml": "[tool.poetry]\nname = 'mine'\nversion = '1'\n"},
    "a library": {"build.py": MODULE, "train.py": "def f(): ...\n"},
    "alone": {"build.py": MODULE, "train.py": "", "README.md": ""},
    "old, and imported": {"trainer_old.py": f"{MODULE}\nbuild(1, 2, 3)\n", "train.py": f"import trainer_old\n\n{MAIN}"},
    "old, and started": {"train_old.py": f"{MODULE}\nbuild(1, 2, 3)\n", "run.sh": "python train_old.py\n"},
    "like an old one": {"threshold.py": f"{MODULE}\n{MAIN}"},
}  # fmt: skip


def found(folder: Path, files: dict[str, str]) -> list[Finding]:
    for name, text in {**ENTRY, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with starting_in([str(folder)]):
        result = check([str(folder)], Settings(str(folder), layers=[Selection(select=("TRL301",))]))
    assert not result.problems
    return list(result.findings)


@pytest.mark.parametrize("name", IDLE)
def test_idle(name: str, tmp_path: Path) -> None:
    (finding,) = found(tmp_path, IDLE[name])
    assert finding.severity == "warning"
    assert ("nothing in this project imports this module" in finding.message) is (name not in ("replaced", "backup"))


@pytest.mark.parametrize("name", RUN)
def test_run(name: str, tmp_path: Path) -> None:
    (finding,) = found(tmp_path, RUN[name])
    assert finding.severity == "error" and "imports this module" not in finding.message


def test_there_are_more_that_run() -> None:
    assert len(RUN) > 2 * len(IDLE)


def test_part_of_a_repository_is_not_judged(tmp_path: Path) -> None:
    """Others of the repository may import what stands in a project of its own inside."""
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "inner"
    for name, text in {**ENTRY, "build.py": MODULE, "trl-lint.toml": ""}.items():
        inner.mkdir(exist_ok=True)
        (inner / name).write_text(text)
    with starting_in([str(inner)]):
        result = check([str(inner)], Settings(str(inner), layers=[Selection(select=("TRL301",))]))
    assert [finding.severity for finding in result.findings] == ["error"]


def test_what_is_idle_is_judged_anew_when_something_imports_it(tmp_path: Path) -> None:
    assert [finding.severity for finding in found(tmp_path, {"build.py": MODULE})] == ["warning"]
    assert [finding.severity for finding in found(tmp_path, {"train.py": f"import build\n\n{MAIN}"})] == ["error"]
