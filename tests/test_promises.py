"""What a page promises, a rule sees: each form that a page names has a small project with that form alone.

`promises/<CODE>.md` belongs to the page of that code. A heading is a passage of the page ("…" stands for what is left
out); the blocks below it are a project in which the rule must speak, and `level: warning` says how loud. Blocks above
the first heading belong to every project. Under `Not forms` stand the words of the page that promise nothing, and why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from documents import Block, blocks, headings, lay_out
from fixture_cases import run_json

from benchmarks.overlaps import overlaps
from trl_lint.knowledge.condition_tables import LEAD
from trl_lint.knowledge.pages import Page, all_pages

FOLDER = Path(__file__).resolve().parent / "promises"
REST = "Not forms"
# TRL003 tells of faults of the tool, and no file is meant to show it.
PAGES = {page.code: page for page in all_pages() if page.code != "TRL003"}

# Sentences, and lists below them, that say where a rule is silent.
_SILENT = re.compile(
    r"\b(?:silent|silence|nothing is (?:said|claimed)|(?:says?|said) nothing|nor|left alone|leaves? .* alone"
    r"|(?:is|are) (?:fine|unknown|never reported|not (?:judged|counted|looked at|reported))"
    r"|no (?:fault|exception)|allowed by)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.:;]) (?=[A-Z`*])")
_SPAN = re.compile(r"``.+?``|`[^`]+`")
_LEVEL = re.compile(r"^level: (error|warning|info)$", re.MULTILINE)


class Promise(NamedTuple):
    """A passage of a page, and a project in which the rule must speak because of it; `level`: "" where any will do."""

    page: Page
    passage: str
    level: str
    project: list[Block]


def promises_of(page: Page) -> Iterator[Promise]:
    text = (FOLDER / f"{page.code}.md").read_text("utf-8")
    files = blocks(text)
    shared = [block for block in files if not block.section]
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        passage = part.partition("\n")[0].strip()
        if passage != REST:
            level = _LEVEL.search(part)
            own = [block for block in files if block.section == passage]
            yield Promise(page, passage, level[1] if level else "", [*shared, *own])


def unpromising(page: Page) -> list[str]:
    """The words under `Not forms`."""
    text = (FOLDER / f"{page.code}.md").read_text("utf-8")
    _, found, rest = text.partition(f"## {REST}\n")
    return _SPAN.findall(rest) if found else []


def plain(text: str) -> str:
    return " ".join(text.split())


def pattern(passage: str) -> re.Pattern[str]:
    """What a heading matches: itself, with anything in place of each `…`."""
    return re.compile(".*?".join(map(re.escape, re.split(r" *… *", passage))))


class Unit(NamedTuple):
    """A row, a bullet or a paragraph of a page. A "form" is one of a list of them, so it must have a case."""

    text: str
    kind: Literal["form", "prose", "silence"]


def units(page: Page) -> list[Unit]:
    """What a page says it does, and the tables of releases below."""
    sections = dict(zip(headings(page.body), re.split(r"^## .*$", page.body, flags=re.MULTILINE)[1:], strict=True))
    found = [*_units(sections["What it does"])]
    written = sections.get("Versions", "").partition(LEAD)[0]  # the table below has a test of its own
    found += [unit for unit in _units(written) if unit.text.startswith("|")]
    return found


def _units(section: str) -> Iterator[Unit]:
    lead = ""
    for part in re.split(r"\n\s*\n", section.strip()):
        if part.startswith("|"):
            yield from (Unit(plain(row), "form") for row in part.splitlines()[2:])
        elif part.startswith("* "):
            is_silent = _SILENT.search(_SENTENCE.split(lead)[-1])
            for item in map(plain, re.split(r"^\* ", part, flags=re.MULTILINE)[1:]):
                yield Unit(item, "silence" if is_silent or _SILENT.match(item) else "form")
        elif not part.startswith("#"):
            lead = plain(part)
            yield Unit(lead, "prose")


def forms(unit: Unit) -> list[tuple[int, int]]:
    """The stretches of code in a unit that stand for something the rule looks at."""
    spans = [span.span() for span in _SPAN.finditer(unit.text)]
    if unit.kind != "prose":
        return spans if unit.kind == "form" else []
    ends = [found.start() for found in _SENTENCE.finditer(_SPAN.sub(lambda span: "`" * len(span[0]), unit.text))]
    promising, start = [], 0
    for end in (*ends, len(unit.text)):
        if not _SILENT.search(unit.text[start:end]):
            promising += [span for span in spans if start <= span[0] < end]
        start = end
    return promising


PROMISES = [promise for page in PAGES.values() for promise in promises_of(page)]


@pytest.mark.parametrize("promise", [pytest.param(p, id=f"{p.page.code}: {p.passage}") for p in PROMISES])
def test_the_rule_speaks(
    promise: Promise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(lay_out(promise.project, tmp_path))
    _, report = run_json([], capsys)
    levels = {finding["severity"] for finding in report["findings"] if finding["code"] == promise.page.code}
    assert levels, "the rule says nothing"
    assert promise.level in ("", *levels)
    assert list(map(str, overlaps(report["findings"]))) == []


@pytest.mark.parametrize("page", [pytest.param(page, id=page.code) for page in PAGES.values()])
def test_every_form_has_a_case(page: Page):
    """Each row and bullet of the page is quoted by a case, and so is each piece of code that stands for a form."""
    passages = [promise.passage for promise in promises_of(page)]
    assert passages and len(set(passages)) == len(passages)
    told = {plain(words) for words in unpromising(page)}
    text = plain(page.body)
    assert [passage for passage in passages if not pattern(passage).search(text)] == [], "not on the page"
    assert [words for words in told if words not in text] == [], "not on the page"
    missing = []
    for unit in units(page):
        quoted = [match.span() for passage in passages for match in pattern(passage).finditer(unit.text)]
        code = [(start, end, unit.text[start:end]) for start, end in forms(unit)]
        if unit.kind == "form" and not quoted and not (code and all(words in told for _, _, words in code)):
            missing.append(unit.text)
        for start, end, words in code:
            if words not in told and not any(a <= start and end <= b for a, b in quoted):
                missing.append(f"{words} in: {unit.text[max(0, start - 40) : end + 40]}")
    assert not missing, "\n".join(missing)
