"""No page claims a figure of speed, precision or coverage that no result records; `benchmarks/results/claims.json`.

A claim says on which page it stands, when and at which commit it was measured, and what the record of it says word for
word. The records are docs/validation.md and docs/benchmarks.md, which other tests hold against the data; all other
pages are searched for figures here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT, blocks, pages

CLAIMS: list[dict[str, Any]] = json.loads((ROOT / "benchmarks" / "results" / "claims.json").read_text("utf-8"))
RECORDS = {"validation.md", "benchmarks.md", "api-histories.md"}
FIGURE = re.compile(
    r"(?<![\w.])\d[\d.,]*\s?(?:%|×|ms\b|s\b|seconds?\b|minutes?\b|MB\b|kB\b|GB\b|times\b|of (?:the )?\d+)"
)
# Settings of the tool and no measurements, with the place of the value.
BOUNDS = {
    ("docs/diagnose.md", "20 seconds"): ("trl_lint/diagnose/follow.py", "SETTLE = 20.0\n"),
    ("docs/settings.md", "100 MB"): ("trl_lint/cache/folder.py", "_MOST_BYTES = 100_000_000\n"),
}
GUIDE = [path for path in pages() if path.name not in RECORDS]


def _prose(path: Path) -> str:
    text = path.read_text("utf-8")
    for block in reversed(blocks(text)):
        text = text[: block.start] + text[block.end :]
    return " ".join(text.split())


@pytest.mark.parametrize("path", GUIDE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_figure_is_a_claim_with_a_record(path: Path):
    page = path.relative_to(ROOT).as_posix()
    text = _prose(path)
    covered = [text.find(claim["says"]) for claim in CLAIMS if claim["page"] == page]
    spans = [(at, at + len(claim["says"])) for at, claim in zip(covered, _of(page), strict=True)]
    for figure in FIGURE.finditer(text):
        is_claim = any(start <= figure.start() and figure.end() <= end for start, end in spans)
        is_name = text[figure.end() : figure.end() + 1] == "-"  # the `0.9.5, ms` of a list with ms-swift
        assert is_claim or is_name or (page, figure[0]) in BOUNDS, text[figure.start() - 60 : figure.end() + 30]


def _of(page: str) -> list[dict[str, Any]]:
    return [claim for claim in CLAIMS if claim["page"] == page]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["says"][:40])
def test_every_claim_is_what_its_record_says(claim: dict[str, Any]):
    assert claim["says"] in _prose(ROOT / claim["page"])
    assert re.fullmatch(r"2026-\d\d-\d\d", claim["date"]) and re.fullmatch(r"[0-9a-f]{8}", claim["commit"])
    record = _prose(ROOT / claim["recorded"])
    for words in claim["as"]:
        assert words in record, words
    told = {number.rstrip(".,") for number in re.findall(r"\d[\d.,]*", " ".join(claim["as"]))}
    computed = {"119": "96 14 5 4", "15": "10 5"}  # sums of the numbers of their record
    for number in re.findall(r"\d[\d.,]*", claim["says"]) if claim["recorded"] != claim["page"] else ():
        number = number.rstrip(".,")
        parts = computed.get(number, "").split()
        is_sum = bool(parts) and set(parts) <= told and sum(map(int, parts)) == int(number)
        assert is_sum or any(each == number or each.startswith(f"{number}.") for each in told), number


@pytest.mark.parametrize(("bound", "code"), BOUNDS.items(), ids=lambda part: part[1])
def test_bounds_are_those_of_the_code(bound: tuple[str, str], code: tuple[str, str]):
    assert bound[1] in _prose(ROOT / bound[0])
    assert code[1] in (ROOT / code[0]).read_text("utf-8")
