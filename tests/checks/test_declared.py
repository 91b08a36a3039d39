"""The table of what rules ask for: in a checkout a rule that was edited since speaks for itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trl_lint.checks import registry
from trl_lint.checks.declared import DECLARED
from trl_lint.checks.registry import DeclaredRule, checksum_of, declarations, shared_modules

NAME = "trl_lint.checks.numerics.fp16_for_rl"
CHECKSUM, SHARED, SAID = DECLARED[NAME]


def test_a_row_that_is_right_spares_the_module():
    for written in (0, sys.maxsize):
        assert isinstance(registry._declared(NAME, (CHECKSUM, SHARED, SAID), written), DeclaredRule)


def test_an_edited_rule_speaks_for_itself(capsys: pytest.CaptureFixture[str]):
    rule = registry._declared(NAME, (CHECKSUM + 1, SHARED, SAID), 0)
    assert not isinstance(rule, DeclaredRule) and declarations(rule) == SAID
    assert capsys.readouterr().err == "", "nothing that the table holds has changed"


def test_a_rule_that_asks_for_more_is_told(capsys: pytest.CaptureFixture[str]):
    rule = registry._declared(NAME, (CHECKSUM + 1, SHARED, {**SAID, "triggers": ()}), 0)
    assert declarations(rule) == SAID
    assert (
        capsys.readouterr().err == f"trl-lint: {NAME} asks for something else than declared.py says: run `make docs`\n"
    )


def test_an_installed_package_goes_by_its_table():
    assert isinstance(registry._declared(NAME, (CHECKSUM + 1, SHARED, SAID), sys.maxsize), DeclaredRule)


def test_a_rule_that_no_table_knows_is_there():
    assert declarations(registry._declared(NAME, None, 0)) == SAID


def test_the_checksum_is_of_the_sources_and_of_no_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "_PACKAGE", str(tmp_path))
    for text, name in ((b"a\nb\n", "one"), (b"a\r\nb\r\n", "two"), (b"a\nc\n", "other")):
        (tmp_path / f"{name}.py").write_bytes(text)
    one, two, other = (checksum_of([f"trl_lint.{name}"]) for name in ("one", "two", "other"))
    assert one == two != other != checksum_of(["trl_lint.other", "trl_lint.one"])


def test_the_modules_that_hold_the_triggers_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "_PACKAGE", str(tmp_path))
    folder = tmp_path / "checks" / "topic"
    folder.mkdir(parents=True)
    for name in ("_words", "_helper", "_calls"):
        (folder / f"{name}.py").write_text("")
    (folder / "some_rule.py").write_text(
        "from trl_lint.checks.topic import _words\n"
        "from trl_lint.checks.topic._calls import CALLS\n"
        "from trl_lint.checks.topic._helper import work\n"
        "import os\n"
        "class SomeRule:\n"
        "    triggers = (*CALLS, 'x')\n"
        "    needles = _words.NEEDLES\n"
        "    def check(self):\n"
        "        return work()\n"
    )
    assert shared_modules("trl_lint.checks.topic.some_rule") == (
        "trl_lint.checks.topic._calls", "trl_lint.checks.topic._words",
    )  # fmt: skip
