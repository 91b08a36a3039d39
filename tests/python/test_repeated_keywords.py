"""TRL001: a keyword that a call gives twice. Python itself says which of these it compiles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

HEAD = "from trl import SFTConfig\n"
TWICE = [
    "SFTConfig(output_dir='a', output_dir='b')",
    "SFTConfig(\n    output_dir='a',\n    bf16=True,\n    output_dir='a',\n)",
    "f(a=1, b=2, a=3)",
    "g(f(a=1, a=1))",
    "f(a=1, **d, a=2)",
    "class C(metaclass=M, metaclass=M): pass",
    "def h():\n    return f(x, a=1, *y, a=1)",
]
ONCE = [
    "SFTConfig(output_dir='a')",
    "f(a=1, **d)",
    "f(**a, **b)",
    "f(a=1)(a=1)",
    "f(a=g(a=1))",
    "f(**{'a': 1}, a=1)",
    "f(**{'a': 1, 'a': 2})",
    "dict(a=1) | dict(a=2)",
    "f(A=1, a=1)",
    "f(a == 1, a == 1)",
    "class C(metaclass=M): pass",
]


def told(folder: Path, name: str, text: str) -> list[str]:
    (folder / name).write_text(text)
    report = check([str(folder)], Settings(str(folder)))
    return [finding.message for finding in report.findings if finding.code == "TRL001"]


def compiles(text: str) -> bool:
    try:
        compile(text, "train.py", "exec")
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("code", TWICE)
def test_a_keyword_that_is_given_twice(tmp_path: Path, code: str):
    assert not compiles(HEAD + code)
    (message,) = told(tmp_path, "train.py", HEAD + code + "\n")
    assert message.startswith("keyword argument repeated: ")


@pytest.mark.parametrize("code", ONCE)
def test_one_that_is_not(tmp_path: Path, code: str):
    assert compiles(HEAD + code)
    assert told(tmp_path, "train.py", HEAD + code + "\n") == []


def test_a_cell_of_a_notebook(tmp_path: Path):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": HEAD + TWICE[0]}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert told(tmp_path, "train.ipynb", text) == ["keyword argument repeated: output_dir"]
