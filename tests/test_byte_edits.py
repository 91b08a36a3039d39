"""A few edits of the bytes of every kind of file, and that the many of `make torture` would notice what breaks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count

import pytest

from benchmarks import byte_edits, kinds
from trl_lint.checks.registry import all_rules

_EACH = 3


@pytest.fixture(scope="module")
def cases() -> Iterator[dict[str, byte_edits.Case]]:
    with byte_edits.scratch():
        yield {case.name: case for case in byte_edits.cases()}


NAMES = (*kinds.PROJECT, "settings", "baseline", "log", "log.gz", "cache", "patch", "report", "event")


@pytest.mark.parametrize("name", NAMES)
def test_no_bytes_break_it(name: str, cases: dict[str, byte_edits.Case]):
    with byte_edits.scratch():
        toll = byte_edits.edit(cases[name], _EACH)
    assert toll.failure == "" and toll.cases >= _EACH


def test_there_are_no_others(cases: dict[str, byte_edits.Case]):
    assert set(cases) == set(NAMES)


def edit_recipe(cases: dict[str, byte_edits.Case]) -> str:
    with byte_edits.scratch():
        return byte_edits.edit(cases["recipe.yaml"], 60).failure


def test_a_rule_that_raises_is_noticed(cases: dict[str, byte_edits.Case], monkeypatch: pytest.MonkeyPatch):
    (rule,) = (rule for rule in all_rules() if rule.code == "TRL601")
    monkeypatch.setattr(rule, "check_document", lambda document, project: [1 / 0])
    assert "ZeroDivisionError" in edit_recipe(cases)


def test_a_reader_that_hangs_is_noticed(cases: dict[str, byte_edits.Case], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(byte_edits, "_WAIT", 0.2)
    monkeypatch.setattr("trl_lint.checker.Checker.check_path", lambda *arguments: time.sleep(60))
    assert "0 s of waiting" in edit_recipe(cases)


def test_a_rule_that_works_on_for_ever_is_noticed(cases: dict[str, byte_edits.Case], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(byte_edits, "_SECONDS", 0.2)
    monkeypatch.setattr("trl_lint.checker.Checker.check_path", lambda *arguments: sum(1 for _ in count()))
    assert "0 s of work" in edit_recipe(cases)


def test_a_crash_is_noticed(cases: dict[str, byte_edits.Case], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trl_lint.engine.collect", lambda *arguments: 1 / 0)
    assert "internal error" in edit_recipe(cases)


def test_where_two_files_differ():
    assert byte_edits.difference(b"abcdef", b"abXef") == "byte 2: b'cd' became b'X'"
    assert byte_edits.difference(b"aa", b"a") == "byte 1: b'a' became b''"
