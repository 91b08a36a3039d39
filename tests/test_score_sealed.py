"""Scoring cases that nobody reads: what counts as found and as accused, and that nothing of a case is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import score_sealed
from benchmarks.score_sealed import Case, Score, Told, interval, pack, read_cases, score, totals

GONE = 'from trl import SFTConfig\nargs = SFTConfig(output_dir="x", max_seq_length=5)\n'
FINE = 'from trl import SFTConfig\nargs = SFTConfig(output_dir="x", max_length=5)\n'
PIN = "trl==1.16.0\n"
TOOL = [score_sealed.sys.executable, "-m", "trl_lint"]


def case(before: str, after: str, **wanted: object) -> Case:
    files = [{"train.py": text, "requirements.txt": PIN} for text in (before, after)]
    return Case("one", "1", *files, [], [wanted] if wanted else [])


@pytest.mark.parametrize(
    ("given", "is_found", "is_accused"),
    [
        (case(GONE, FINE, path="train.py", line=2, codes=""), True, False),
        (case(GONE, FINE, path="train.py", line=0, codes="TRL301"), True, False),
        (case(GONE, FINE, path="train.py", line=2, codes="TRL302"), False, False),
        (case(GONE, FINE, path="train.py", line=20, codes=""), False, False),
        (case(GONE, GONE, path="train.py", line=2, codes=""), False, True),
        (case(GONE, FINE, path="", words=["max_SEQ_length"]), True, False),
        (case(GONE, FINE, path="", words=["packing"]), False, False),
        (case(FINE, FINE), False, False),
        (case(GONE, FINE), False, True),
    ],
)
def test_a_case_is_found_where_its_twin_is_not_told_the_same(given, is_found, is_accused):
    result = score(given, TOOL)
    assert (result.is_found, result.is_accused) == (is_found, is_accused)


@pytest.mark.parametrize(
    ("beside", "is_beside"),
    [
        ({"also_right": [{"path": "train.py", "line": 2}]}, True),
        ({"also_right": [{"path": "train.py", "line": 9}]}, False),
        ({"also_right": [{"path": "requirements.txt", "line": 1}]}, False),
        ({"or_lines": [2]}, True),
        ({"or_lines": [9, 19]}, False),
        ({}, False),
    ],
)
def test_places_that_are_as_right_are_counted_beside(beside, is_beside):
    wanted = {"path": "train.py", "line": 20, "codes": "", **{k: v for k, v in beside.items() if k == "or_lines"}}
    row = {**case(GONE, FINE)._asdict(), "wanted": [wanted], **beside}
    (read,) = read_cases(json.dumps([row]))
    result = score(read, TOOL)
    assert (result.is_found, result.is_beside) == (False, is_beside)
    assert totals([result])["beside"] == is_beside


def test_the_totals_count_by_kind_and_name_no_case():
    told = (Told("TRL301", "train.py", 2, "secret"),)
    one = case(GONE, FINE, path="train.py")
    scores = [Score(one, found, False, not found, not found, told, ()) for found in (True, False, True)]
    result = totals(scores)
    assert result["by_kind"] == {"1": [2, 3]}
    assert (result["found"], result["hinted"], result["faults"], result["accused"]) == (2, 1, 3, 1)
    assert "secret" not in json.dumps(result)
    assert "train.py" not in json.dumps(result)


def test_the_interval_narrows_with_the_number_of_cases():
    assert interval(0, 0) == (0.0, 1.0)
    few, many = interval(5, 10), interval(500, 1000)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]


def test_a_packed_draw_is_scored_without_being_shown(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(score_sealed, "FOLDER", tmp_path / "sealed")
    monkeypatch.setattr(score_sealed, "LOG", tmp_path / "sealed" / "log.jsonl")
    rows = [case(GONE, FINE, path="train.py", line=2, codes="")._asdict()]
    path = pack(json.dumps(rows), "draw")
    assert b"SFTConfig" not in path.read_bytes()
    monkeypatch.setattr("sys.argv", ["score_sealed", "draw"])
    assert score_sealed.main() == 0
    shown = capsys.readouterr().out
    assert json.loads(shown)["found"] == 1
    assert "SFTConfig" not in shown
    assert score_sealed.LOG.read_text("utf-8") == shown


def test_a_case_that_lacks_something_is_refused():
    with pytest.raises(ValueError, match="case x has no 'kind'"):
        read_cases('[{"id": "x"}]')
