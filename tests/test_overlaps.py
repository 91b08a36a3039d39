"""One defect, one finding: whatever is wrong in a project, no two rules tell of the same keys at the same place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from documents import Block, blocks, lay_out
from fixture_cases import Case, cases, run_json

from benchmarks import overlaps
from benchmarks.overlaps import overlaps as overlapping

HERE = Path(__file__).resolve().parent

# The other fixtures, and the promises, are looked at where they are run: test_fixtures.py, test_promises.py.
ONE_RULE = [pytest.param(case, id=case.id) for case in cases() if "only" in case.settings()]


def projects(path: Path) -> dict[str, list[Block]]:
    """The projects of a page of `promises`, or of several faults at once, by their heading."""
    files = blocks(path.read_text("utf-8"))
    shared = [block for block in files if not block.section]
    found: dict[str, list[Block]] = {}
    for block in files:
        if block.section:
            found.setdefault(block.section, list(shared)).append(block)
    return found


def told_twice(folder: Path, args: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any) -> list[str]:
    monkeypatch.chdir(folder)
    _, report = run_json(args, capsys)
    return [str(overlap) for overlap in overlapping(report["findings"])]


@pytest.mark.parametrize("case", ONE_RULE)
def test_fixtures(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Those that are about one rule, as all rules see them."""
    folder = case.copy_to(tmp_path / "project")
    assert told_twice(folder, case.settings().get("args", []), monkeypatch, capsys) == []


SEVERAL_FAULTS = projects(HERE / "overlaps.md")


@pytest.mark.parametrize("name", SEVERAL_FAULTS)
def test_several_faults(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert told_twice(lay_out(SEVERAL_FAULTS[name], tmp_path), [], monkeypatch, capsys) == []


def test_each_pair_that_is_let_through_occurs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(overlaps, "_TWO_DEFECTS", ())
    told = ""
    for number, files in enumerate(SEVERAL_FAULTS.values()):
        told += "\n\n".join(["", *told_twice(lay_out(files, tmp_path / str(number)), [], monkeypatch, capsys)])
    pairs = {frozenset(re.findall(r"TRL\d+(?= )", pair)) for pair in told.split("\n\n")}
    monkeypatch.undo()
    for row in overlaps._TWO_DEFECTS:
        assert any(row.code in pair and (not row.others or pair & set(row.others)) for pair in pairs), row.why


def finding(code: str, message: str, line: int, *related: int, column: int = 1) -> dict[str, Any]:
    places = [{"path": "a.json", "start": {"line": number, "column": 1}, "message": ""} for number in related]
    start, end = ({"line": line, "column": at} for at in (column, column + 5))
    return {"code": code, "message": message, "path": "a.json", "start": start, "end": end, "related": places}


def test_the_same_key_at_the_same_place():
    one, other = (
        finding("TRL404", "`gradient_clipping` is 0", 3),
        finding("TRL601", "`x.gradient_clipping` is off", 3),
    )
    assert [str(overlap) for overlap in overlapping([one, other])] == [
        "a.json:3:1: TRL404 `gradient_clipping` is 0\na.json:3:1: TRL601 `x.gradient_clipping` is off"
    ]


def test_the_same_pair_from_both_ends():
    one, other = finding("TRL602", "`fp16` and `bf16` are on", 3, 4), finding("TRL403", "`bf16` beside `fp16`", 4, 3)
    assert len(overlapping([one, other])) == 1


@pytest.mark.parametrize(
    "other",
    [
        finding("TRL404", "`gradient_clipping` is 0", 3),  # one rule may find two things in one place
        finding("TRL601", "`learning_rate` is 0", 3),
        finding("TRL601", "`gradient_clipping` is 0", 3, column=9),
        finding("TRL601", "`gradient_clipping` is 0", 4, 3),  # only one of the two rests on the other
        {**finding("TRL601", "`gradient_clipping` is 0", 3), "path": "b.json"},
    ],
)
def test_two_defects(other: dict[str, Any]):
    assert overlapping([finding("TRL404", "`gradient_clipping` is 1", 3), other]) == []
