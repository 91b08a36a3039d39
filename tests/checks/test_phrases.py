"""Phrases that several rules put together."""

from __future__ import annotations

import pytest

from trl_lint.checks._phrases import before_scope


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("it stops", "it stops, so"),
        ("it stops (pinned: trl 1.0.0)", "it stops, so (pinned: trl 1.0.0)"),
        ('it stops (Error: "size (4) is odd"; pinned)', 'it stops, so (Error: "size (4) is odd"; pinned)'),
        ("`f(x)`", "`f(x)`, so"),
        ("it calls f(x)", "it calls f(x), so"),
        ("x) y)", "x) y), so"),
    ],
)  # fmt: skip
def test_more_is_said_before_the_brackets_at_the_end(message: str, expected: str):
    assert before_scope(message, ", so") == expected
