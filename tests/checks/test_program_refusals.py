"""Which refusals of a program are told of a command, and how often its settings are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest
from packaging.version import Version

from trl_lint.checks.configs import _program_refusals
from trl_lint.checks.configs._program_refusals import Broken, Reading, Settings, broken
from trl_lint.checks.verdict import Level
from trl_lint.knowledge.condition_language import Block
from trl_lint.knowledge.conditions import Condition
from trl_lint.knowledge.histories import releases
from trl_lint.project.packages import Package
from trl_lint.project.stack import Choice, Choices

OLDER, NEWEST = releases("verl")[-2:]
A, B, EITHER, ALWAYS = (
    Condition("refuse", "a > 0", "ValueError: a of {a + 1}", "check"),
    Condition("refuse", "a > 0 and a < 9", "ValueError: another thing of a", "check"),
    Condition("refuse", "b > 0 and b < 9", "ValueError: another thing of a", "check"),
    Condition("refuse", "1 > 0", "ValueError: never", "check"),
)


def told(
    monkeypatch: pytest.MonkeyPatch, conditions: Mapping[str, tuple[Condition, ...]], is_between: bool = False
) -> tuple[list[Broken], list[str]]:
    """What is told of a command with two settings, and the releases in which its settings were asked for."""
    monkeypatch.setattr(_program_refusals, "conditions_of", lambda package, name, version: conditions.get(version, ()))
    asked: list[str] = []

    def settings_in(version: str) -> Settings:
        asked.append(version)
        whole = Block("", {"a": 1, "b": 2})
        return Settings(whole, (Reading("Program", whole),))

    package = Package("verl", (), tuple(map(Version, (OLDER, NEWEST))), "pin", f">={OLDER}")
    choices = {"verl": Choice(package, (OLDER, NEWEST), complete=True, assumed=False, between=is_between)}
    found = broken("verl", cast("Choices", cast("Any", choices)), settings_in, ["a"], Level("error"), "verl")
    return list(found), asked


def test_each_release_is_read_once_however_much_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Condition("refuse", "b > 0", "ValueError: b", "check")
    found, asked = told(monkeypatch, {OLDER: (A, own), NEWEST: (A, own)})
    assert [one.keys for one in found] == [("a",), ("b",)]
    assert asked.count(NEWEST) == 1 and len(asked) == len(set(asked))


def test_of_refusals_about_the_same_settings_the_first_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = told(monkeypatch, {OLDER: (A, B), NEWEST: (A, B)})
    assert len(found) == 1 and 'ValueError: "a of 2"' in found[0].message


def test_a_refusal_that_is_not_told_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The release between these two may not have the first; the second both have."""
    found, _ = told(monkeypatch, {OLDER: (EITHER,), NEWEST: (A, B)}, is_between=True)
    assert len(found) == 1 and "another thing" in found[0].message


def test_a_refusal_that_no_setting_decides_is_not_told_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = told(monkeypatch, {OLDER: (ALWAYS, A), NEWEST: (ALWAYS, A)})
    assert [one.keys for one in found] == [("a",)]


def test_switches_that_decide_nothing_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """`a` and `b` are one too many, whatever `c` is; without `d` it is another matter."""
    both = Condition("refuse", "sum([a, b, c]) > 1 and not d", "ValueError: only one", "check")
    monkeypatch.setattr(_program_refusals, "conditions_of", lambda package, name, version: (both,))
    whole = Block("", {"a": True, "b": True, "c": False, "d": False})
    package = Package("verl", (), (Version(NEWEST),), "pin", f"=={NEWEST}")
    choices = {"verl": Choice(package, (NEWEST,), complete=True, assumed=False, between=False)}
    settings = Settings(whole, (Reading("Program", whole),))
    (one,) = broken(
        "verl", cast("Choices", cast("Any", choices)), lambda version: settings, ["a", "b"], Level("error"), "verl"
    )
    assert "`a` is True, `b` is True, `d` is False by default (" in one.message
