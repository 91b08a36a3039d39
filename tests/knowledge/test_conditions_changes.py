"""What a release refuses since an older one, as a command tells it to who reads a new release."""

from __future__ import annotations

import pytest

from trl_lint.knowledge import refresh
from trl_lint.knowledge.refresher import conditions_changes
from trl_lint.knowledge.refresher.conditions_changes import changes


def test_a_release_of_trl_is_told_in_a_screenful(capsys: pytest.CaptureFixture[str]) -> None:
    assert refresh.main(["changes", "trl", "1.15.0", "1.16.0"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == "trl 1.15.0 -> 1.16.0"
    assert 0 < len(lines) < 24
    assert any(line.startswith("+ RewardTrainer refuses: ") for line in lines)
    assert changes("trl", "1.16.0", "1.16.0") == []


def test_what_is_new_gone_and_other_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {"A": {("refuses", "x"): {"a"}, ("warns", "y"): {"b"}}, "B": {("refuses", "x"): {"a"}}}
    after = {"A": {("refuses", "x"): {"c"}}, "C": {("refuses", "z"): {"d"}, ("warns", "z"): {"d"}}}
    monkeypatch.setattr(conditions_changes, "_said", lambda package, version: {"1": before, "2": after}[version])
    assert changes("any", "1", "2") == [
        "+ C: refuses in 1 and warns in 1 sentences",
        "- B: refuses in 1 and warns in 0 sentences",
        "- A warns: y",
        "~ A refuses: x",
    ]


@pytest.mark.parametrize("given", [["3"], ["1.15.0", "99.0"], ["1.14.0", "1.15.0", "1.16.0"]])
def test_only_two_releases_that_were_read_are_compared(given: list[str]) -> None:
    assert refresh.main(["changes", "trl", *given]) == 2
