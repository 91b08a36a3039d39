"""Every log of `fixtures/logs`: the right cause first, and never a wrong one called likely.

A case is a folder: `run.log`, a small `project` where one is relevant, and `expected.toml` with `first` (the code that
must come first; "" where nothing in the log or the project explains the end), `likelihood`, and where given
`exception`, `rank`, `also` (codes that are right as well), `alone` (the code that must come first without the project)
and `not_the_cause` (part of a claim).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tomli
from documents import ROOT

from trl_lint import tracked
from trl_lint.cli import main

LOGS = ROOT / "fixtures" / "logs"
CASES = sorted(path.name for path in LOGS.iterdir())


def expectation(name: str) -> dict[str, Any]:
    return tomli.loads((LOGS / name / "expected.toml").read_text("utf-8"))


def diagnosed(
    name: str, with_project: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """The JSON that `trl-lint diagnose` prints for a case, run in a folder of its own."""
    tracked.forget()
    shutil.copytree(LOGS / name, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    arguments = ["diagnose", "run.log", "--output-format", "json"]
    if with_project and (tmp_path / "project").is_dir():
        (tmp_path / "project" / "trl-lint.toml").write_text("")
        arguments += ["--project", "project"]
    status = main(arguments)
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert status == (0 if any(cause["likelihood"] == "likely" for cause in report["causes"]) else 1)
    return report


@pytest.mark.parametrize("name", CASES)
def test_the_right_cause_is_first(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    wanted = expectation(name)
    report = diagnosed(name, True, tmp_path, monkeypatch, capsys)
    causes = report["causes"]
    likely = [cause["code"] for cause in causes if cause["likelihood"] == "likely"]
    allowed = {wanted["first"], *wanted.get("also", ())}
    assert set(likely) <= allowed, "a wrong cause is called likely"
    if wanted["first"]:
        assert causes, "no cause was found"
        assert (causes[0]["code"], causes[0]["likelihood"]) == (wanted["first"], wanted["likelihood"])
        assert causes[0]["why"] and causes[0]["evidence"]
        assert all(one["path"] and one["line"] >= 1 for cause in causes for one in cause["evidence"])
    if "exception" in wanted:
        assert report["failure"]["exception"] == wanted["exception"]
    if "rank" in wanted:
        assert report["failure"]["rank"] == wanted["rank"]
    if "not_the_cause" in wanted:
        assert any(wanted["not_the_cause"].lower() in one["claim"].lower() for one in report["not_the_cause"])


@pytest.mark.parametrize("name", [name for name in CASES if (LOGS / name / "project").is_dir()])
def test_the_log_alone_names_nothing_wrong(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    wanted = expectation(name)
    causes = diagnosed(name, False, tmp_path, monkeypatch, capsys)["causes"]
    likely = {cause["code"] for cause in causes if cause["likelihood"] == "likely"}
    assert likely <= {wanted["first"], wanted.get("alone", ""), *wanted.get("also", ())}
    if "alone" in wanted:
        assert causes[0]["code"] == wanted["alone"]


def test_there_are_enough_cases():
    negatives = [name for name in CASES if name.startswith("neg_")]
    assert len(CASES) >= 60 and len(negatives) >= 15
