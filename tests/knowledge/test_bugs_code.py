"""How the faulty code of a row of `rules/bugs` is told from other code."""

import pytest

from trl_lint.knowledge.bugs import Bug, Code, Elsewhere
from trl_lint.knowledge.refresher.bugs_code import ABSENT, FAULTY, OTHER, is_in, state_of

LINES = ("if side == 'left'", "text = text[:most]", "elif side == 'right'", "text = text[-most:]")


@pytest.mark.parametrize(
    ("part", "stands"),
    [
        ("text[:most]", True),
        ('side == "left"', True),
        ("side == 'left'\ntext[:most]", True),
        ("side == 'left'\ntext[-most:]", False),
        ("text[-most:]\nside", False),
        ("side == 'right'\ntext[-most:]\n", False),
    ],
)
def test_parts_of_lines_that_follow_each_other(part: str, stands: bool):
    assert is_in(part, LINES) is stands


CODE = Code("a.py", "f", ("x = 1",), ("x = 2",), (Elsewhere("b.yaml", "on: true", "off"),))


@pytest.mark.parametrize(
    ("a", "b", "state"),
    [
        ("def f():\n    x = 1", "on: true", FAULTY),
        ("def f():\n    x = 1", "on: true\noff: 1", OTHER),
        ("def f():\n    x = 1", "# on: true", OTHER),
        ("def f():\n    x = 1; x = 2", "on: true", OTHER),
        ("def f():\n    'x = 1'", "on: true", OTHER),
        ("def g():\n    x = 1", "on: true", ABSENT),
    ],
)
def test_the_state_of_a_release(a: str, b: str, state: str):
    row = Bug("trl-x", ("trl.SFTTrainer",), "True", "t", "m", "silent", ("https://x",), "both", CODE)
    members = {"a.py": (0, a.encode()), "b.yaml": (0, b.encode())}
    assert state_of(row, members) == state
