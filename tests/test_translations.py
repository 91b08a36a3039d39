"""The pages in Chinese keep step with the English ones: as many headings, the same code, links to the same pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import ROOT, blocks, headings, translations

CODE = re.compile(r"`([^`]+)`")
PAGE = re.compile(r"\]\((?:https://github\.com/trl-lint/trl-lint/blob/main/docs/)?(?:\.\./)*([\w/.-]+\.md)(#[\w-]+)?\)")
PAIRS = [pytest.param(*pair, id=pair[0].relative_to(ROOT / "docs").as_posix()) for pair in translations()]
MOST_FREQUENT = (ROOT / "tests" / "frequent_rules.txt").read_text("utf-8").split()


@pytest.mark.parametrize(("chinese", "english"), PAIRS)
def test_a_chinese_page_keeps_step(chinese: Path, english: Path):
    """`make docs` copies code blocks that are others today; the sentences beside them are for people."""
    here, there = chinese.read_text("utf-8"), _body(english)
    assert [len(headings(here, level)) for level in (2, 3)] == [len(headings(there, level)) for level in (2, 3)]
    assert [block[:3] for block in blocks(here)] == [block[:3] for block in blocks(there)]
    assert _code(here) == _code(there)
    assert _pages(here) == _pages(there)


def test_the_guide_and_the_most_frequent_rules_are_there():
    """The twenty rules that speak in most of 95 public trees, counted on 23 November 2026."""
    assert len(MOST_FREQUENT) == 20
    names = {chinese.stem for chinese, _ in translations()}
    assert {"README.zh-CN", "index", "diagnose"} <= names
    assert set(MOST_FREQUENT) <= names


def _body(english: Path) -> str:
    return english.read_text("utf-8").rpartition("\n+++\n")[2]


def _pages(page: str) -> set[tuple[str, str]]:
    found = {(name.rpartition("/")[2], anchor) for name, anchor in PAGE.findall(page)}
    return {pair for pair in found if not re.match(r"README\.zh-CN\.md|TRL\d+\.md", pair[0])}


def _code(page: str) -> set[str]:
    for block in reversed(blocks(page)):
        page = page[: block.start] + page[block.end :]
    page = re.sub(r"<!--.*?-->|```.*?\n", "", page, flags=re.DOTALL)
    return {" ".join(text.split()) for text in CODE.findall(page)}
