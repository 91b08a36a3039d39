"""The documentation site, as far as it can be told without its generator; `make site` builds it and follows links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import ROOT

from trl_lint.knowledge.pages import HOME, all_pages, page
from website.hooks import COPIED, generated, site_target, with_links
from website.links import faults
from website.rule_pages import FRAMEWORKS, frameworks_of, with_site_table

CONFIG = (ROOT / "website" / "mkdocs.yml").read_text("utf-8")


@pytest.mark.parametrize(
    ("target", "source", "shown", "wanted"),
    [
        ("ci.md#a-review", "docs/index.md", "index.md", "ci.md#a-review"),
        ("../rules/pages/TRL101-reference-model-evaluation-mode.md", "docs/rules.md", "rules.md", "rules/TRL101.md"),
        ("TRL602-fp16-for-rl.md", "rules/pages/TRL403.md", "rules/TRL403.md", "TRL602.md"),
        ("../CONTRIBUTING.md", "docs/index.md", "index.md", "contributing.md"),
        ("../rules/pages", "docs/diagnose.md", "diagnose.md", f"{HOME}/tree/main/rules/pages"),
        ("../Makefile", "docs/index.md", "index.md", f"{HOME}/blob/main/Makefile"),
        (f"{HOME}/blob/main/docs/ci.md", "docs/stories/a.md", "stories/a.md", "../ci.md"),
        ("https://example.org/x", "docs/index.md", "index.md", "https://example.org/x"),
        ("#here", "docs/index.md", "index.md", "#here"),
    ],
)
def test_links_lead_to_the_site_or_to_the_repository(target: str, source: str, shown: str, wanted: str):
    assert site_target(target, source, shown) == wanted


def test_links_in_code_stay():
    text = "[a](../CONTRIBUTING.md)\n```md\n[a](../CONTRIBUTING.md)\n```\n"
    assert with_links(text, "docs/x.md", "x.md") == "[a](contributing.md)\n```md\n[a](../CONTRIBUTING.md)\n```\n"


def test_every_rule_has_a_page_and_a_row_that_can_be_filtered():
    pages = dict(generated())
    table = with_site_table((ROOT / "docs" / "rules.md").read_text("utf-8"))
    for rule in all_pages():
        assert f"[{rule.code}](rules/{rule.code}.md)" in table
        assert f"\n# {rule.title} ({rule.code}" in pages[f"rules/{rule.code}.md"]
        assert "[All rules](../rules.md)" in pages[f"rules/{rule.code}.md"]
    assert {row.count("|") for row in table.splitlines() if row.startswith("| [TRL")} == {8}
    assert set(frameworks_of(page("TRL502"))) >= {"TRL", "vLLM"}
    assert {name for rule in all_pages() for name in frameworks_of(rule)} == set(FRAMEWORKS)


def test_every_page_of_the_repository_is_in_the_menu():
    named = set(re.findall(r"- (?:\S+: )?([\w./-]+\.md)$", CONFIG, re.MULTILINE))
    docs = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert named | {"rules.md"} == docs | set(COPIED)  # rules.md: `hooks.on_config`


def test_the_site_asks_no_network(tmp_path: Path):
    (tmp_path / "index.html").write_text(
        '<script src="https://example.org/a.js"></script><a href="b.html#x">b</a><a href="b.html#y">b</a>', "utf-8"
    )
    (tmp_path / "b.html").write_text('<h1 id="x">b</h1><a href="c.html">c</a>', "utf-8")
    found, count = faults(str(tmp_path))
    assert count == 4
    assert found == [
        "b.html: no file for c.html",
        "index.html: no place for b.html#y",
        "index.html: fetches https://example.org/a.js",
    ]
