"""Patterns with many wildcards fit what their regular expression fits, and take no time."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from trl_lint.paths import Glob, Globs, as_regex, is_quick, matcher
from trl_lint.project.discovery import collect
from trl_lint.settings import Settings
from trl_lint.wildcards import ANYTHING, FOLDERS, NAME

PIECES = (NAME, ANYTHING, FOLDERS, "a", "b", "/", "[^/]", "(?!/)[^b]", "(?!/)[ab]")


@pytest.mark.parametrize("seed", range(40))
def test_they_fit_what_their_expression_fits(seed: int):
    chance = random.Random(seed)
    for _ in range(40):
        pieces = [chance.choice(PIECES) for _ in range(chance.randint(3, 9))] + [NAME, "a", ANYTHING, FOLDERS]
        chance.shuffle(pieces)
        assert not is_quick(pieces)
        fits = matcher(pieces)
        for _ in range(40):
            text = "".join(chance.choice("aab/\n") for _ in range(chance.randint(0, 9)))
            assert bool(fits(text)) == (re.match(as_regex(pieces), text, re.DOTALL) is not None), (pieces, text)


def test_few_wildcards_are_a_regular_expression():
    assert is_quick([NAME, "a", NAME]) and matcher([NAME, "a"])("ba") and not matcher([NAME, "a"])("b/a")


def test_many_wildcards_take_no_time():
    fits = matcher([NAME, "a"] * 200 + ["b"])
    began = time.process_time()
    assert not fits("a" * 4000)
    assert time.process_time() - began < 2


LONG = f"{'a' * 200}.py"


def test_a_gitignore_that_tries_for_ever(tmp_path: Path):
    (tmp_path / ".gitignore").write_text("*a" * 20 + "b.py\n" + "*a" * 20 + ".md\n", "utf-8")
    for name in (LONG, "b.py", f"{'a' * 30}.md"):
        (tmp_path / name).write_text("x = 1\n", "utf-8")
    began = time.process_time()
    files, _ = collect([str(tmp_path)], Settings(str(tmp_path)))
    assert time.process_time() - began < 2
    assert {Path(path).name for path, _ in files} == {LONG, "b.py"}


@pytest.mark.parametrize("pattern", ["*a" * 20 + "b.py", "**/" * 20 + "a*" * 20 + "b.py"])
def test_a_setting_that_tries_for_ever(pattern: str):
    began = time.process_time()
    assert not Glob(pattern, "/p").matches(f"/p/{'a/' * 100}{LONG}")
    assert time.process_time() - began < 2


@pytest.mark.parametrize("seed", range(20))
def test_many_patterns_at_once_fit_what_each_of_them_fits(seed: int):
    chance = random.Random(seed)
    words = ("a", "b", "ab", "*", "**/", "/", "?", "[ab]", "[!a]", "[z-a]", "./", ".py", "é")
    roots = ("/p", "/p/q", "/", "/p[x]")
    globs = [
        Glob("".join(chance.choice(words) for _ in range(chance.randint(1, 6))), chance.choice(roots))
        for _ in range(chance.randint(17, 60))
    ] + [Glob("/p/*a", "/q"), Glob("", "/p")]
    together = Globs(globs)
    for _ in range(60):
        path = chance.choice(roots).rstrip("/") + "/" + "".join(chance.choice("aab/é.p") for _ in range(6))
        assert together.fitting(path) == [number for number, glob in enumerate(globs) if glob.matches(path)], path
