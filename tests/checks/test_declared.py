"""The table of what rules ask for: in a checkout a rule that was edited since speaks for itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from trl_lint.checks import registry
from trl_lint.checks.declared import DECLARED
from trl_lint.checks.registry import TABLES, DeclaredRule, declarations, shared_modules

NAME = "trl_lint.checks.numerics.fp16_for_rl"
SHARED, SAID = DECLARED[NAME]
LATER = max(os.stat(registry._path(name)).st_mtime_ns for name in (NAME, *SHARED))


@pytest.mark.parametrize("written", [LATER, LATER + 1, sys.maxsize])
def test_a_module_as_old_as_the_table_is_spared(written: int):
    assert isinstance(registry._declared(NAME, (SHARED, SAID), written), DeclaredRule)


@pytest.mark.parametrize("written", [0, LATER - 1])
def test_an_edited_rule_speaks_for_itself(written: int, capsys: pytest.CaptureFixture[str]):
    rule = registry._declared(NAME, (SHARED, SAID), written)
    assert not isinstance(rule, DeclaredRule) and declarations(rule) == SAID
    assert capsys.readouterr().err == "", "nothing that the table holds has changed"


def test_a_rule_that_asks_for_more_is_told(capsys: pytest.CaptureFixture[str]):
    rule = registry._declared(NAME, (SHARED, {**SAID, "triggers": ()}), LATER - 1)
    assert declarations(rule) == SAID
    assert (
        capsys.readouterr().err == f"trl-lint: {NAME} asks for something else than declared.py says: run `make docs`\n"
    )


def test_an_installed_package_goes_by_its_table(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "rules_dir", lambda: os.path.join(registry._PACKAGE, "rules"))
    monkeypatch.setattr(registry, "_path", lambda name: "/gone")
    assert {type(rule) for rule in registry.declared_rules.__wrapped__()} == {DeclaredRule}


def test_a_rule_that_no_table_knows_is_there():
    assert declarations(registry._declared(NAME, None, 0)) == SAID


def test_a_new_clone_spares_every_module():
    """git writes files by their names, and a table that is written later than a module has been held against it."""
    last = Path(registry._path(TABLES[-1]))
    sources = {name for module, (shared, _) in DECLARED.items() for name in (module, *shared)}
    assert len(sources) > 90 and all(Path(registry._path(name)).parts < last.parts for name in sources)


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
