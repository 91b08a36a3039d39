"""Patterns with many wildcards fit what their regular expression fits, and take no time."""

from __future__ import annotations

import random
import re
import time

import pytest

from trl_lint.paths import ANYTHING, FOLDERS, NAME, as_regex, is_quick, matcher

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
