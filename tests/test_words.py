"""Words that are nearly the same: as difflib counts, in a fraction of its time."""

from __future__ import annotations

import random
import time
from difflib import get_close_matches

import pytest

from trl_lint.words import nearest


def by_difflib(word: str, choices: frozenset[str], likeness: float) -> str:
    lowered = {choice.lower(): choice for choice in sorted(choices)}
    if word.lower() in lowered:
        return lowered[word.lower()]
    found = get_close_matches(word.lower(), lowered, 1, likeness)
    return lowered[found[0]] if found else ""


@pytest.mark.parametrize("likeness", [0.5, 0.6, 0.75, 0.85])
@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_is_that_of_difflib(likeness: float, seed: int):
    chance = random.Random(seed)
    words = ["".join(chance.choice("abcdE_é") for _ in range(chance.randint(0, 14))) for _ in range(200)]
    for _ in range(200):
        choices = frozenset(chance.sample(words, chance.randint(0, 40)))
        word = chance.choice(words)[: chance.randint(0, 14)] + chance.choice(("", "a", "Zz"))
        assert nearest(word, choices, likeness) == by_difflib(word, choices, likeness)


def test_words_without_end_are_no_slips():
    began = time.process_time()
    assert nearest("a" * 1_000_000, {"a" * 999_999, "b"}) == ""
    assert nearest("a" * 1_000_000, {"a" * 1_000_000}) == "a" * 1_000_000
    assert time.process_time() - began < 2
