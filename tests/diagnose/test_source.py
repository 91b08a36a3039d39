"""The condition of a line that raised, read in the file that the traceback names."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from trl_lint import tracked
from trl_lint.diagnose.causes import diagnose
from trl_lint.diagnose.first import first_failure
from trl_lint.diagnose.reader import read_log
from trl_lint.diagnose.source import condition_of

SCORES = """\
def _default_compute_score(data_source, solution_str):
    if data_source == 'openai/gsm8k':
        return 1
    elif data_source in ['lighteval/MATH', 'maze2']:
        return 2
    else:
        raise NotImplementedError
"""
MANAGER = """\
class Naive:
    def __call__(self, data):
        for item in data:
            data_source = item.non_tensor_batch['data_source']
            score = self.compute_score(
                data_source=data_source,
                solution_str=item.text,
            )
"""


@pytest.fixture(autouse=True)
def _nothing_remembered():
    tracked.forget()


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / "site-packages" / "verl" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def trace(exception: str, *frames: tuple[Path, int, str]) -> str:
    lines = ["Traceback (most recent call last):"]
    for path, line, function in frames:
        lines += [
            f'  File "{path}", line {line}, in {function}',
            f"    {path.read_text().splitlines()[line - 1].strip()}",
        ]
    return "\n".join([*lines, exception, ""])


def condition(log: str) -> str:
    failure = first_failure(read_log(io.BytesIO(log.encode())))
    assert failure is not None
    return condition_of(failure)


def test_no_branch_for_the_column_of_the_data(tmp_path: Path):
    scores, manager = write(tmp_path, "scores.py", SCORES), write(tmp_path, "manager.py", MANAGER)
    log = trace("NotImplementedError", (manager, 5, "__call__"), (scores, 7, "_default_compute_score"))
    (cause,) = diagnose(read_log(io.BytesIO(log.encode())), "run.log").causes
    assert cause.likelihood == "likely"
    assert (
        "It does so where `data_source is none of 'openai/gsm8k', 'lighteval/MATH', 'maze2'`, and `data_source` is "
        "`item.non_tensor_batch['data_source']`." in cause.why
    )


@pytest.mark.parametrize(
    ("body", "line", "told"),
    [
        ("if a > 1:\n        raise ValueError(a)", 3, "`a > 1`"),
        ("if a:\n        if b:\n            raise ValueError(a)", 4, "`a` and `b`"),
        ("if a:\n        return 1\n    raise ValueError(a)", 4, ""),  # what stands before is not followed
        ("if a:\n        return 1\n    else:\n        raise ValueError(a)", 5, "`not (a)`"),
        ("for x in a:\n        if x in b:\n            raise ValueError(x)", 4, "`x in b`"),
        ("assert a == b, 'no'", 2, "`not (a == b)`"),
        ("try:\n        if a:\n            raise ValueError(a)\n    except KeyError:\n        pass", 4, "`a`"),
        ("with a:\n        if b:\n            raise ValueError(a)", 4, "`b`"),
        ("return a / b", 2, ""),
        ("raise ValueError(a)", 2, ""),
    ],
)
def test_the_tests_above_a_line(body: str, line: int, told: str, tmp_path: Path):
    path = write(tmp_path, "x.py", f"def f(a, b):\n    {body}\n")
    assert condition(trace("ValueError: no", (path, line, "f"))) == (f"it does so where {told}" if told else "")


def test_what_the_call_gives(tmp_path: Path):
    text = (
        "def f(a, b):\n    if a > b:\n        raise ValueError\n\n\ndef g(cfg):\n    n = cfg.heads\n    f(n, cfg.tp)\n"
    )
    path = write(tmp_path, "x.py", text)
    log = trace("ValueError", (path, 8, "g"), (path, 3, "f"))
    assert condition(log) == "it does so where `a > b`, and `a` is `cfg.heads`, and `b` is `cfg.tp`"


def test_another_file_than_the_one_that_ran_says_nothing(tmp_path: Path):
    path = write(tmp_path, "x.py", "def f(a):\n    if a:\n        raise ValueError(a)\n")
    log = trace("ValueError: no", (path, 3, "f"))
    assert condition(log)
    assert condition(log.replace("in f", "in g")) == ""
    assert condition(log.replace("line 3", "line 2")) == ""
    assert condition(log.replace("raise ValueError(a)", "raise ValueError(b)")) == ""
    assert condition(log.replace("x.py", "y.py")) == ""
    path.write_text("def f(a):\n    if a\n        raise ValueError(a)\n")
    tracked.forget()
    assert condition(log) == ""
    path.write_text(f"def f(a):\n    if {'(' * 3000}a{')' * 3000}:\n        raise ValueError(a)\n")
    tracked.forget()
    assert condition(log) == ""
