"""No rule without its page, fixtures, symptoms and change log entry; no page without its rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import ROOT
from fixture_cases import cases
from new_rule import to_fill_in

from trl_lint.checks.registry import TABLES, all_rules, rule_modules, tables_text
from trl_lint.checks.rule import Rule
from trl_lint.knowledge import read_text
from trl_lint.knowledge.pages import all_pages, page_files

RULES = [pytest.param(rule, id=rule.code) for rule in all_rules()]
FLAKE8_CODE = re.compile(r"^[A-Z]{1,3}[0-9]{0,3}$")


def test_codes_are_unique():
    codes = [rule.code for rule in all_rules()]
    assert len(codes) == len(rule_modules()) == len(set(codes))


def test_what_rules_ask_for_is_written_down():
    """The tables that save the import of rules with nothing to do; `make docs` writes them."""
    paths = [ROOT / f"{name.replace('.', '/')}.py" for name in TABLES]
    assert [path.read_text("utf-8") for path in paths] == list(tables_text()), "run `make docs`"


@pytest.mark.parametrize("rule", RULES)
def test_code_is_one_flake8_accepts(rule: Rule):
    assert FLAKE8_CODE.match(rule.code) and rule.code.startswith("TRL")


@pytest.mark.parametrize("rule", RULES)
def test_page_is_named_after_the_module(rule: Rule):
    module = type(rule).__module__.rpartition(".")[2]
    assert Path(page_files()[rule.code]).name == f"{rule.code}-{module.replace('_', '-')}.md"
    assert type(rule).__name__ == "".join(part.capitalize() for part in module.split("_"))


@pytest.mark.parametrize("rule", RULES)
def test_more_fixtures_are_fine_than_bad(rule: Rule):
    """What must stay silent is the harder half, so it gets more examples."""
    bad = [case for case in cases() if case.code == rule.code and case.is_bad]
    fine = [case for case in cases() if case.code == rule.code and not case.is_bad]
    assert bad, "no fixture where the rule fires"
    assert len(fine) > len(bad)


@pytest.mark.parametrize("rule", RULES)
def test_symptoms_are_stated(rule: Rule):
    """`symptoms = "none"` is an answer; leaving the key out is not."""
    front_matter = read_text(page_files()[rule.code]).split("+++\n")[1]
    assert re.search(r'^(symptoms = "none"|\[\[symptoms\]\])$', front_matter, re.MULTILINE)


@pytest.mark.parametrize("rule", RULES)
def test_change_log_mentions_the_rule(rule: Rule):
    assert rule.code in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_nothing_is_left_to_fill_in():
    """`make rule` marks what is yours in the files that it writes."""
    left = to_fill_in(ROOT)
    assert not left, "\n".join(("these places are still to be filled in:", *left))


def test_every_page_has_a_rule_except_those_of_the_tool():
    rules = {rule.code for rule in all_rules()}
    assert {page.code for page in all_pages() if not page.code.startswith("TRL0")} == rules


def test_fixture_folders_belong_to_pages():
    assert {case.code for case in cases()} <= set(page_files())
    assert all(case.folder.name.startswith(("ok", "bad")) for case in cases())
