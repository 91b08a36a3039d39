"""Which branches a line of a notebook cell stands in."""

from __future__ import annotations

import time

import pytest

from trl_lint.sources.python_branches import branches_of


def shape(text: str) -> list[tuple[tuple[int, int], ...]]:
    """The branches of each line that begins with `!`, decisions numbered from 0 in the order of their appearance."""
    offsets = [index for index in range(len(text)) if text[index] == "!"]
    numbers: dict[int, int] = {}
    found = []
    for branch in branches_of(text, offsets):
        found.append(tuple((numbers.setdefault(number, len(numbers)), way) for number, way in branch))
    return found


@pytest.mark.parametrize(
    ("text", "branches"),
    [
        ("!a\n!b\n", [(), ()]),
        ("if x:\n    !a\nelse:\n    !b\n!c\n", [((0, 0),), ((0, 1),), ()]),
        ("if x:\n    !a\nelif y:\n\n    # no\n    !b\nelse:\n    !c\n", [((0, 0),), ((0, 1),), ((0, 2),)]),
        ("if x:\n  if y:\n    !a\n  !b\n!c\n", [((0, 0), (1, 0)), ((0, 0),), ()]),
        ("if x:\n\t!a\nif x:\n\t!b\n", [((0, 0),), ((1, 0),)]),
        ("try:\n    import x\nexcept ImportError:\n    !a\n", [((0, 1),)]),
        ("for x in y:\n    !a\nelse:\n    !b\n", [(), ()]),
        ("import os\nif x:\n    y = 1\n!a\n", [()]),
    ],
)
def test_branches(text: str, branches: list[tuple[tuple[int, int], ...]]):
    assert shape(text) == branches


def test_a_long_cell_takes_linear_time():
    text = "if x:\n    !a\nelse:\n    !b\n" * 20_000
    start = time.process_time()
    assert len(shape(text)) == 40_000
    assert time.process_time() - start < 5
