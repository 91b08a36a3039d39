# ruff: noqa: E501  a kind is one line
"""Inputs that mean harm for each further reader that docs/runs.md and docs/environment.md name: two of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from benchmarks.hostile_kinds import CALL, CANARY, IMPORT, PINS, Files, kind

_Text = Callable[[int], str]


def _lines(text: Callable[[int], str]) -> _Text:
    return lambda n: "".join(f"{text(i)}\n" for i in range(n))


# By file: a text with a command and a place for more, and two things that there may be many of, each with a size.
READERS: dict[str, tuple[str, dict[str, tuple[int, _Text]]]] = {
    "justfile": (
        f"train:\n  {CANARY}\n{{}}",
        {
            "recipes": (2000, _lines(lambda i: f"r{i} a='1': r{i + 1}\n  echo {i}")),
            "variables of a justfile": (2000, _lines(lambda i: f"v{i} := v{i - 1} + 'x'")),
        },
    ),
    "sky.yaml": (
        f"name: t\nresources:\n  accelerators: A100:8\nrun: |\n  {CANARY}\n{{}}",
        {
            "steps of sky": (3000, _lines(lambda i: f"  echo {i} && cd d{i}")),
            "variables of sky": (3000, lambda n: "envs:\n" + _lines(lambda i: f"  A{i}: $A{i - 1}")(n)),
        },
    ),
    "k8s.yaml": (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: t}\nspec:\n  template:\n    spec:\n      containers:\n"
        f"        - name: c\n          image: x\n          command: [bash, -c, '{CANARY}']\n{{}}",
        {
            "containers": (800, _lines(lambda i: f"        - name: c{i}\n          image: x\n          command: [bash, -c, 'echo {i}']")),
            "variables of a container": (2000, lambda n: "          env:\n" + _lines(lambda i: f"            - {{name: A{i}, value: '$(A{i - 1})'}}")(n)),
        },
    ),
    ".gitlab-ci.yml": (
        f"train:\n  script:\n    - {CANARY}\n{{}}",
        {
            "jobs of gitlab": (800, _lines(lambda i: f"j{i}:\n  extends: j{i + 1}\n  script: [echo {i}]")),
            "lines of a job of gitlab": (3000, _lines(lambda i: f"    - echo {i}")),
        },
    ),
    "Taskfile.yml": (
        f"version: '3'\ntasks:\n  train:\n    cmds:\n      - {CANARY}\n{{}}",
        {
            "tasks": (1000, _lines(lambda i: f"  t{i}:\n    deps: [t{i + 1}]\n    cmds: [echo {i}]")),
            "commands of a task": (3000, _lines(lambda i: f"      - echo {{{{.A{i}}}}}")),
        },
    ),
    "pixi.toml": (
        f"[workspace]\nname = 'x'\nchannels = []\nplatforms = []\n[tasks]\ntrain = '{CANARY}'\n{{}}",
        {
            "tasks of pixi": (2000, _lines(lambda i: f"t{i} = {{cmd = 'echo {i}', depends-on = ['t{i + 1}']}}")),
            "pins of pixi": (2000, lambda n: "[pypi-dependencies]\n" + _lines(lambda i: f"a{i} = '=={i}.*'")(n)),
        },
    ),
    "pyproject.toml": (
        f"[project]\nname = 'x'\nversion = '1'\n[tool.poe.tasks]\ntrain = '{CANARY}'\n{{}}",
        {
            "tasks of poe": (2000, _lines(lambda i: f"t{i} = ['t{i + 1}']")),
            "scripts of hatch and pdm": (1000, lambda n: "[tool.pdm.scripts]\n" + _lines(lambda i: f"p{i} = 'echo {i}'")(n) + "[tool.hatch.envs.default.scripts]\n" + _lines(lambda i: f"h{i} = ['h{i + 1}', 'echo']")(n)),
        },
    ),
    ".vscode/launch.json": (
        '{"configurations": [{"type": "debugpy", "request": "launch", "name": "t", "module": "trl.cli", "args": ' + json.dumps(CANARY.split()[1:]) + "}{}]}",
        {
            "configurations of an editor": (1500, lambda n: "".join(f', {{"type": "debugpy", "request": "launch", "name": "n{i}", "program": "p{i}.py", "args": ["--a", "{i}"]}}' for i in range(n))),
            "words of a configuration": (300, lambda n: ', {"type": "debugpy", "request": "launch", "name": "m", "program": "p.py", "args": ' + json.dumps([f"${{env:A{i}}}" for i in range(n * 10)]) + "}"),
        },
    ),
    "sub.py": (
        f"import os, subprocess\nos.system({CANARY!r})\n{{}}",
        {
            "subprocesses": (1500, _lines(lambda i: f"subprocess.run(['echo', str({i}), *a{i}], check=True)")),
            "words of a subprocess": (3000, lambda n: "w = ['echo']\n" + _lines(lambda i: f"w += ['--a{i}', f'{{x{i}}}']")(n) + "subprocess.run(w)\n"),
        },
    ),
    "submit.sh": (
        f"sbatch --wrap '{CANARY}'\n{{}}",
        {
            "wrapped commands": (1500, _lines(lambda i: f"sbatch --wrap 'srun --ntasks {i} echo {i}'")),
            "parallel jobs": (1500, _lines(lambda i: f"parallel 'echo {{}}' ::: a{i} b{i}; ssh h{i} 'cd d{i} && echo {i}'")),
        },
    ),
}  # fmt: skip


def _files(path: str, text: str, more: _Text, count: int) -> Files:
    return {path: text.replace("{}", more(count), 1)}


for _path, (_text, _rows) in READERS.items():
    for _name, (_size, _more) in _rows.items():
        _made = partial(_files, _path, _text, _more)
        _made.__name__ = f"{_name} in {_path}"  # type: ignore[attr-defined]
        kind(_size, _path)(_made)


# -- pins -------------------------------------------------------------------------------------------------------------


@kind(2000)
def packages_of_uv_lock(n: int) -> Files:
    packages = "".join(
        f'[[package]]\nname = "a{i}"\nversion = "{i}.0"\ndependencies = [{{name = "a{i + 1}"}}]\n' for i in range(n)
    )
    return {
        "requirements.txt": "",
        "pyproject.toml": "[project]\nname = 'x'\nversion = '1'\ndependencies = ['trl']\n",
        "uv.lock": f'version = 1\n[[package]]\nname = "trl"\nversion = "0.20.0"\n{packages}',
    }


@kind(1500)
def markers_of_uv_lock(n: int) -> Files:
    packages = "".join(
        f'[[package]]\nname = "torch"\nversion = "2.{i}.0"\nresolution-markers = ["python_full_version < \'3.{i}\'"]\n'
        for i in range(n)
    )
    return {
        "requirements.txt": "",
        "pyproject.toml": "[project]\nname = 'x'\nversion = '1'\ndependencies = ['trl']\n",
        "uv.lock": f'version = 1\n[[package]]\nname = "trl"\nversion = "0.20.0"\n{packages}',
    }


@kind(2000)
def packages_of_poetry_lock(n: int) -> Files:
    packages = "".join(
        f'[[package]]\nname = "a{i}"\nversion = "{i}.0"\n[package.dependencies]\na{i + 1} = "*"\n' for i in range(n)
    )
    return {
        "requirements.txt": "",
        "pyproject.toml": "[tool.poetry]\nname = 'x'\nversion = '1'\n[tool.poetry.dependencies]\ntrl = '*'\n",
        "poetry.lock": f'[[package]]\nname = "trl"\nversion = "0.20.0"\n{packages}',
    }


@kind(1500)
def packages_of_pipfile(n: int) -> Files:
    return {
        "requirements.txt": "",
        "Pipfile": "[packages]\ntrl = '==0.20.0'\n"
        + "".join(f"a{i} = {{version = '>={i}', markers = \"python_version < '3.{i}'\"}}\n" for i in range(n)),
    }


@kind(1500)
def packages_of_a_pipfile_lock(n: int) -> Files:
    default = {
        "trl": {"version": "==0.20.0"},
        **{f"a{i}": {"version": f"=={i}", "hashes": ["sha256:" + "0" * 64]} for i in range(n)},
    }
    return {
        "requirements.txt": "",
        "Pipfile": "[packages]\ntrl = '*'\n",
        "Pipfile.lock": json.dumps({"default": default}),
    }


@kind(800)
def pins_with_markers_beside_ranges(n: int) -> Files:
    return {
        "requirements.txt": PINS
        + "".join(f"transformers>=4.{i}.0,!=4.{i}.*; python_version < '3.{i}'\n" for i in range(n))
    }


@kind(1500)
def installs_of_a_script(n: int) -> Files:
    return {
        "requirements.txt": "",
        "setup.sh": "pip install trl==0.20.0\n"
        + "".join(f"pip install a{i}=={i} 'b>{i}'\nuv pip install c{i}\n" for i in range(n)),
    }


@kind(1500)
def groups_that_include_groups(n: int) -> Files:
    groups = "".join(f'g{i} = [{{include-group = "g{i + 1}"}}, "a{i}>={i}"]\n' for i in range(n))
    return {
        "requirements.txt": "",
        "pyproject.toml": f"[project]\nname = 'x'\nversion = '1'\ndependencies = ['trl==0.20.0']\n[dependency-groups]\n{groups}g{n} = []\n",
    }


# -- configs of other frameworks, and what is beside them ---------------------------------------------------------------


@kind(3000, "axolotl.yaml")
def data_sets_of_axolotl(n: int) -> Files:
    rows = "".join(f"  - path: d{i}\n    type: chatml.intel\n" for i in range(n))
    return {
        "requirements.txt": "axolotl==0.12.2\n",
        "axolotl.yaml": f"base_model: m\nrl: grpo\nlearning_rate: 1e-6\nmicro_batch_size: 1\nnum_epochs: 1\ndatasets:\n{rows}",
    }


@kind(3000)
def annotations_and_type_aliases(n: int) -> Files:
    return {
        "train.py": f"{IMPORT}{CALL}\n" + "".join(f"x{i}: 'dict[str, list[int | None]]' = {{}}\n" for i in range(n))
    }


@kind(400)
def classes_with_fields(n: int) -> Files:
    classes = "".join(f"@dataclass\nclass A{i}(A{i - 1}):\n    a{i}: int = field(default={i})\n" for i in range(1, n))
    return {
        "train.py": f"from dataclasses import dataclass, field\n{IMPORT}@dataclass\nclass A0:\n    a: int = 0\n{classes}{CALL}\n"
    }
