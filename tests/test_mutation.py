"""The mutants that score the tests of rules: small faults in functions, and the same ones every time."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT

from benchmarks import mutation

MODULE = '''\
"""Nothing here is changed: 1 == 1."""
LIMIT = 1


def f(x: "int" = 1) -> str:
    """Nor here."""
    if x == LIMIT and not g(x):
        return f"{x == 1} of them"
    return "a message of words" if any(n for n in x if n) else "word"
'''


def test_each_mutant_has_one_fault_in_a_function():
    made = mutation.mutants(MODULE)
    assert [one.fault.partition(" -> ")[0] for one in made] == [
        "7: x == LIMIT and not g(x)",
        "7: x == LIMIT",
        "7: not g(x)",
        '8: return f"{x == 1} of them"',
        '9: return "a message of words" if any(n for n in x if n) els...',
        "9: any(n for n in x if n)",
        "9: any(n for n in x if n)",
        "9: n",
        '9: "word"',
    ]
    assert len({one.text for one in made}) == len(made)
    assert all(ast.parse(one.text) for one in made) and MODULE not in {one.text for one in made}


@pytest.mark.parametrize("code", mutation.SAMPLE)
def test_the_sample_has_modules_and_mutants(code: str):
    module = mutation.module_of(ROOT, code)
    text = module.read_text("utf-8")
    chosen = mutation.sample(code, text, 15, seed=1)
    assert chosen == mutation.sample(code, text, 15, seed=1) and 5 < len(chosen) <= 15
    selected, own = mutation.tests_of(ROOT, code)
    assert selected[-1] == code and all(Path(ROOT, name).is_file() for name in own)


@pytest.mark.slow
def test_what_tests_notice_is_counted():
    command = [sys.executable, "-m", "benchmarks.mutation", "TRL109", "--mutants", "2", "--tests", "not slow"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.search(r"^TRL109 [012]/2 in \d+ s$", done.stdout, re.MULTILINE)
