"""The pages in Chinese keep step with the English ones: as many headings, the same code, links to the same pages."""

from __future__ import annotations

import re

from documents import ROOT, blocks, headings

CODE = re.compile(r"`([^`]+)`")
PAGE = re.compile(r"\]\((?:https://github\.com/trl-lint/trl-lint/blob/main/docs/)?([\w-]+\.md)(#[\w-]+)?\)")


def test_the_chinese_readme_keeps_step():
    english = (ROOT / "README.md").read_text("utf-8")
    chinese = (ROOT / "docs" / "README.zh-CN.md").read_text("utf-8")
    assert [len(headings(page, 2)) for page in (english, chinese)] == [4, 4]
    assert [block.content for block in blocks(chinese)] == [block.content for block in blocks(english)]
    assert _code(chinese) == _code(english)
    assert set(PAGE.findall(chinese)) == set(PAGE.findall(english)) - {("README.zh-CN.md", "")}


def _code(page: str) -> set[str]:
    for block in reversed(blocks(page)):
        page = page[: block.start] + page[block.end :]
    page = re.sub(r"<!--.*?-->|```.*?\n", "", page, flags=re.DOTALL)
    return {" ".join(text.split()) for text in CODE.findall(page)}
