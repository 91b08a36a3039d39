"""Every rule page: its facts, its headings, and its examples, which are run."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from documents import Block, blocks, headings, lay_out
from fixture_cases import FIXTURES, run_json
from packaging.requirements import Requirement

from trl_lint.checks.registry import all_rules
from trl_lint.finding import SEVERITIES
from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.pages import FIXES, IMPACTS, Page, all_pages, page_files

HEADINGS = ["What it does", "Why is this bad?", "Versions", "Example", "Use instead", "Fix safety"]
PAGES = [pytest.param(page, id=page.code) for page in all_pages()]
RULE_CODES = {rule.code for rule in all_rules()}
WITH_EXAMPLES = [pytest.param(page, id=page.code) for page in all_pages() if page.code in RULE_CODES]


def test_every_file_in_the_folder_is_a_page():
    folder = Path(rules_dir(), "pages")
    assert sorted(f"pages/{path.name}" for path in folder.iterdir()) == sorted(page_files().values())


@pytest.mark.parametrize("page", PAGES)
def test_front_matter(page: Page):
    assert page_files()[page.code].endswith(f"/{page.code}-{page.name}.md")
    assert page.title and page.title[0].isupper() and not page.title.endswith(".")
    assert page.severity in SEVERITIES
    assert page.impact in IMPACTS
    assert page.fix in FIXES
    assert page.fix_safety in (("",) if page.fix == "none" else ("safe", "unsafe"))
    assert re.fullmatch(r"\d+\.\d+\.\d+", page.since)
    assert page.default is not page.code.startswith("TRL9")


@pytest.mark.parametrize("page", PAGES)
def test_versions_are_requirements(page: Page):
    for version in page.versions:
        requirement = Requirement(version)
        assert requirement.specifier, f"{version}: says nothing about versions"
        assert requirement.url is None and requirement.marker is None


@pytest.mark.parametrize("page", PAGES)
def test_references_are_addresses(page: Page):
    assert len(set(page.references)) == len(page.references)
    for reference in page.references:
        parts = urlsplit(reference)
        assert parts.scheme == "https" and parts.netloc and " " not in reference, reference


@pytest.mark.parametrize("page", PAGES)
def test_symptoms_are_regular_expressions(page: Page):
    for symptom in page.symptoms:
        pattern = re.compile(symptom.pattern)
        assert not pattern.search(""), f"{symptom.pattern!r} matches every line"


@pytest.mark.parametrize("page", PAGES)
def test_headings(page: Page):
    wanted = HEADINGS if page.code in RULE_CODES else [h for h in HEADINGS if h in headings(page.body)]
    assert headings(page.body) == wanted
    assert wanted[:2] == HEADINGS[:2]


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_example_fires(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(lay_out(named_blocks(page, "Example"), tmp_path))
    _, report = run_json([], capsys)
    assert page.code in {finding["code"] for finding in report["findings"]}


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_use_instead_is_silent(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(lay_out(named_blocks(page, "Use instead"), tmp_path))
    _, report = run_json([], capsys)
    assert [f for f in report["findings"] if f["code"] in (page.code, "TRL001", "TRL003")] == []


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_fix_says_what_the_fixtures_show(page: Page):
    fixed = list((FIXTURES / page.code).rglob("*.fixed"))
    assert bool(fixed) is (page.fix != "none")


def named_blocks(page: Page, section: str) -> list[Block]:
    """The files of a section; a block without a file name could not be run, so there are none."""
    found = [block for block in blocks(page.body) if block.section == section]
    assert found, f"no example under {section!r}"
    assert all(block.title for block in found), f"a block under {section!r} names no file"
    return found
