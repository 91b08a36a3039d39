"""A baseline hides what was there when it was made, wherever it moves, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import SCRIPT, Shell

from trl_lint.baseline import BaselineError, baseline_text, read_baseline
from trl_lint.finding import Finding, Location
from trl_lint.sources.files import Files


def findings(path: Path, text: str, needle: str = "bad", code: str = "TRL103") -> tuple[list[Finding], Files]:
    """A finding at every place of a word."""
    path.write_text(text, "utf-8")
    found, at = [], text.find(needle)
    while at >= 0:
        found.append(Finding(code, f"wrong at {at}", Location(str(path), at, at + len(needle)), "error"))
        at = text.find(needle, at + 1)
    return found, Files()


def new(path: Path, before: str, after: str, code: str = "TRL103") -> int:
    """How many findings of the text `after` a baseline of the text `before` lets through."""
    known = path.parent / "baseline.json"
    known.write_text(baseline_text(str(known), *findings(path, before)), "utf-8")
    return len(read_baseline(str(known)).new(*findings(path, after, code=code)))


PYTHON = "def f():\n    bad(1)\n"


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.py", PYTHON, PYTHON),
        ("a.py", PYTHON, "import os\n\n\n" + PYTHON),
        ("a.py", PYTHON, "def f():\n    if x:\n        bad(1)\n"),
        ("a.py", PYTHON, "def f():\n    bad(1)  # noqa: E501\n"),
        ("a.py", "bad(1)\nbad(1)\n", "x = 1\nbad(1)\n\nbad(1)\n"),
        ("a.py", PYTHON, "def f():\n    pass\n"),
        ("a.yaml", "a:\n  bad: 1\n", "b: 2\na:\n  c: 3\n  bad: 1\n"),
        ("a.yaml", "bad: [\n", "\nbad: [\n"),
        ("a.json", '{"a": {"bad": 1}}', '{"a": {"bad": 1}}'),
        ("a.json", '{\n "a": {\n  "bad": 1\n }\n}', '{\n "b": 2,\n "a": {\n  "bad": 1\n }\n}'),
        ("a.toml", "[x]\nbad = 1\n", "[y]\nz = 1\n[x]\nbad = 1\n"),
        ("run.sh", "bad\n", "echo\nbad\n"),
    ],
)
def test_what_was_there_stays_hidden(name: str, before: str, after: str, tmp_path: Path):
    assert new(tmp_path / name, before, after) == 0


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.py", PYTHON, PYTHON + "    bad(2)\n"),
        ("a.py", "bad(1)\n", "bad(1)\nbad(1)\n"),
        ("a.py", PYTHON, PYTHON + "\ndef g():\n    bad(1)\n"),
        ("a.yaml", "a:\n  bad: 1\n", "a:\n  bad: 1\nb:\n  bad: 1\n"),
        ("a.json", '{\n"a": {\n"bad": 1}}', '{\n"b": {\n"bad": 1}}'),
        ("run.sh", "bad\n", "bad it\n"),
    ],
)
def test_what_is_new_is_shown(name: str, before: str, after: str, tmp_path: Path):
    assert new(tmp_path / name, before, after) == 1


def test_another_rule_at_the_same_place_is_new(tmp_path: Path):
    assert new(tmp_path / "a.py", PYTHON, PYTHON, code="TRL202") == 1


def test_cells_may_move(tmp_path: Path):
    def notebook(*cells: str) -> str:
        code = [{"cell_type": "code", "source": [cell]} for cell in cells]
        return json.dumps({"cells": code, "metadata": {}, "nbformat": 4})

    path = tmp_path / "nb.ipynb"
    assert new(path, notebook("bad(1)"), notebook("import os", "bad(1)")) == 0
    assert new(path, notebook("bad(1)"), notebook("bad(1)", "bad(2)")) == 1


def test_the_file_is_sorted_and_relative(tmp_path: Path):
    found, files = findings(tmp_path / "a.py", "bad(1)\nbad(1)\n")
    text = baseline_text(str(tmp_path / "sub" / "baseline.json"), reversed(found), files)
    assert text == (
        '{\n  "version": 1,\n  "findings": [\n'
        '    {"path": "../a.py", "code": "TRL103", "place": "", "text": "bad(1)", "count": 2}\n  ]\n}\n'
    )


def test_an_empty_baseline(tmp_path: Path):
    path = tmp_path / "baseline.json"
    path.write_text(baseline_text(str(path), [], Files()), "utf-8")
    assert read_baseline(str(path)).counts == {}


KNOWN = '{"version": 1, "findings": [{"path": "a", "code": "b", "place": "", "text": "c", "count": %s}]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((KNOWN % count, "not a baseline") for count in ("1e999", "-1e999", "NaN", '""', "null", "[]")),
        (None, "no such baseline; `--write-baseline` makes one"),
        ("{", "not a baseline"),
        ("[]", "not a baseline"),
        ('{"version": 2, "findings": []}', "another version"),
        ('{"version": 1, "findings": [{"path": "a"}]}', "not a baseline"),
    ],
)
def test_what_is_no_baseline(text: str | None, message: str, tmp_path: Path):
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(BaselineError, match=message) as caught:
        read_baseline(str(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "2 findings of the baseline are gone: `--write-baseline` drops what is not found any more"),
        (["a.py"], "1 finding of the baseline is gone"),
        (["inner"], "1 finding of the baseline is gone"),
        (["b.py"], ""),
        (["--select", "TRL501"], ""),
        (["--quiet"], ""),
    ],
)
def test_what_is_gone_is_told(sh: Shell, arguments: list[str], expected: str) -> None:
    for name in ("a.py", "b.py", "inner/c.py"):
        sh.write(name, SCRIPT)
    sh("--baseline", "known.json", "--write-baseline")
    for name in ("a.py", "inner/c.py"):
        sh.write(name, "import torch\n")
    run = sh("--baseline", "known.json", *arguments, "--no-cache")
    assert run.status == 0
    assert ("gone" in run.err) is bool(expected) and expected in run.err
    sh("--baseline", "known.json", "--write-baseline")
    assert "gone" not in sh("--baseline", "known.json", *arguments, "--no-cache").err
