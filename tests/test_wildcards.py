"""Patterns with many wildcards: what the regular expression matches, without its endless trying."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trl_lint.paths import Glob
from trl_lint.project.discovery import collect
from trl_lint.settings import Settings
from trl_lint.wildcards import ANY, FOLDERS, NAME, Wildcards, expression, is_simple

pieces = st.lists(st.sampled_from([ANY, NAME, FOLDERS, "a", "b", "/", "[^/]", "[ab]"]), max_size=9)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(pattern=pieces, path=st.text("ab/\n", max_size=10))
@example(pattern=[FOLDERS, NAME, FOLDERS, "a"], path="b/a")
@example(pattern=[ANY, FOLDERS, ANY], path="")
def test_it_matches_what_the_expression_matches(pattern: list[str], path: str):
    expected = re.compile(expression(pattern), re.DOTALL).match(path) is not None
    assert Wildcards(pattern).matches(path) == expected
    assert Wildcards(pattern)._ends(path) == expected


def test_which_ones_are_simple():
    assert is_simple(["a", NAME, "b", FOLDERS]) and not is_simple([NAME, "a", NAME, "a", ANY])


NAME_OF_A = f"{'a' * 200}.py"


def test_a_gitignore_that_tries_for_ever(tmp_path: Path):
    (tmp_path / ".gitignore").write_text("*a" * 20 + "b.py\n" + "*a" * 20 + ".md\n", "utf-8")
    for name in (NAME_OF_A, "b.py", f"{'a' * 30}.md"):
        (tmp_path / name).write_text("x = 1\n", "utf-8")
    start = time.process_time()
    files, _ = collect([str(tmp_path)], Settings(str(tmp_path)))
    assert time.process_time() - start < 2
    assert {Path(path).name for path, _ in files} == {NAME_OF_A, "b.py"}


@pytest.mark.parametrize("pattern", ["*a" * 20 + "b.py", "**/" * 20 + "a*" * 20 + "b.py"])
def test_a_setting_that_tries_for_ever(pattern: str):
    start = time.process_time()
    assert not Glob(pattern, "/p").matches(f"/p/{'a/' * 100}{NAME_OF_A}")
    assert time.process_time() - start < 2
