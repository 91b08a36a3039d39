"""Commands that hand on `"$@"`: each call of their script or function is judged with the words that it gives."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.laid_out import lay_out
from tests.run.test_rules_of_settings import FRAMEWORKS, ONE_LINE, Row, laid_out, told, written
from trl_lint.run.effective import Setting
from trl_lint.run.runs import all_runs

Files = dict[str, str]


def _workflow(command: str) -> str:
    step = f"      - run: |\n          {command}\n"
    return "on: push\njobs:\n  train:\n    runs-on: gpu\n    steps:\n      - uses: actions/checkout@v4\n" + step


ALL = '"$@"'
WRAPPERS: tuple[Callable[[str, str], Files], ...] = (
    lambda command, words: {"run.sh": f'train() {{\n  {command} "$@"\n}}\n\ntrain {words}\n'},
    lambda command, words: {"run.sh": f"function train {{\n  {command} $@ | tee log\n}}\ntrain {words} || exit\n"},
    lambda command, words: {"inner.sh": f"{command} {ALL}\n", "run.sh": f"bash inner.sh {words}\n"},
    lambda command, words: {"inner.sh": f"#!/bin/bash\nset -e\n{command} $@\n", "run.sh": f"./inner.sh {words}\n"},
    lambda command, words: {"inner.sh": f'{command} "${{@}}"\n', "Makefile": f"train:\n\tbash inner.sh {words}\n"},
    lambda command, words: {"inner.sh": f"{command} {ALL}\n", "run.sh": f"sbatch --gres=gpu:8 inner.sh {words}\n"},
    lambda command, words: {
        "s/inner.sh": f'cd ..\n{command} "$@"\n',
        "run.sh": f"cd s\nbash inner.sh {words} &\n",
    },
    lambda command, words: {
        "inner.sh": f"{command} {ALL}\n",
        "start.py": f"import subprocess\nsubprocess.run({['bash', 'inner.sh', *shlex.split(words)]!r}, check=True)\n",
    },
    lambda command, words: {
        "inner.sh": f"{command} {ALL}\n",
        ".github/workflows/a.yml": _workflow(f"bash inner.sh {words}"),
    },
    lambda command, words: {
        "inner.sh": f"{command} {ALL}\n",
        "compose.yaml": (
            "services:\n  train:\n    image: x/y\n    volumes: ['.:/w']\n    working_dir: /w\n"
            f"    command: {json.dumps(f'bash inner.sh {words}')}\n"
        ),
    },
)
SPOKEN = [row for row in ONE_LINE if {"flag", "words"} & {*FRAMEWORKS[row.framework].notations}]


@pytest.mark.parametrize(("number", "row"), list(enumerate(SPOKEN)))
def test_it_is_told_whoever_gives_the_words(tmp_path: Path, number: int, row: Row) -> None:
    notations = FRAMEWORKS[row.framework].notations
    notation = "flag" if "flag" in notations else "words"
    chosen = [("bad", options) for options in row.bad[:1]] + [("fine", options) for options in row.fine[:2]]
    for index, (kind, options) in enumerate(chosen):
        (tmp_path / str(index)).mkdir()
        folder = laid_out(tmp_path / str(index), row, {}, notation)
        command = (folder / "run.sh").read_text().strip()
        words = written(options, notation)
        if row.framework.startswith("openrlhf"):
            words = words.replace("--load_in_4bit true", "--load_in_4bit")
        (folder / "run.sh").unlink()
        for name, text in WRAPPERS[number % len(WRAPPERS)](command, words).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        if words:
            assert bool(told(folder, row.code)) is (kind == "bad"), (number % len(WRAPPERS), options)


TRL = "trl sft --model_name_or_path a/b --dataset_name c/d --output_dir out"


@pytest.mark.parametrize(
    ("inner", "calls", "lengths"),
    [
        (f'{TRL} "$@"', "bash inner.sh --max_length 5\n", {"5"}),
        (f'{TRL} "$@"', "bash inner.sh --max_length 5\nbash inner.sh --max_length 6\n", {"5", "6"}),
        (f'{TRL} "$@"', "bash inner.sh --max_length $N\n", set()),
        (f'{TRL} "$@"', "cat inner.sh --max_length 5\n", set()),
        (f'{TRL} "$@"', "bash other.sh --max_length 5\n", set()),
        (f'{TRL} "$@"', "# bash inner.sh --max_length 5\n", set()),
        (f'shift\n{TRL} "$@"', "bash inner.sh x --max_length 5\n", set()),
        (f'set -- --max_length 7\n{TRL} "$@"', "bash inner.sh --max_length 5\n", set()),
        (f"{TRL} $1", "bash inner.sh --max_length\n", set()),
        (TRL, "bash inner.sh --max_length 5\n", set()),
    ],
)
def test_words_that_a_call_gives(tmp_path: Path, inner: str, calls: str, lengths: set[str]) -> None:
    files = {"inner.sh": f"{inner}\n", "run.sh": calls, "other.sh": "true\n"}
    (run,) = all_runs(lay_out(tmp_path, files))
    said = (one.run.config.given("max_length") for one in run.calls)
    assert {one.value for one in said if isinstance(one, Setting) and one.is_known} == lengths


def test_what_every_call_sets_right_is_not_told(tmp_path: Path) -> None:
    command = f'{TRL.replace("sft", "grpo")} --reward_funcs accuracy_reward --max_grad_norm 0 "$@"'
    (tmp_path / "inner.sh").write_text(f"{command}\n")
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    assert not told(tmp_path, "TRL601")  # it may be given another one
    (tmp_path / "run.sh").write_text("bash inner.sh --max_grad_norm 1\n")
    assert not told(tmp_path, "TRL601")
    (tmp_path / "run.sh").write_text("bash inner.sh --max_grad_norm 1\nbash inner.sh --seed 3\n")
    assert told(tmp_path, "TRL601")
