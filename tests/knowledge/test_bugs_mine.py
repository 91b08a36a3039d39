"""Candidates for known bugs out of the commits of a clone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import tomli

from trl_lint.knowledge.refresher import bugs_mine
from trl_lint.knowledge.refresher.bugs_build import Answer
from trl_lint.knowledge.refresher.bugs_code import FAULTY, OTHER

OLD = '''class Trainer:
    """Trains."""

    def loss(self, scores, mask):
        """The mean."""
        return scores.sum() / scores.numel()

    def log(self):
        print("a line that stays as it is")
'''
NEW = OLD.replace("scores.numel()", "mask.sum()  # the others are padding")


@pytest.mark.parametrize(
    ("subject", "is_one"),
    [
        ("Fix the mean of the loss (#12)", True),
        ("🐛 fixed wrong mask", True),
        ("Ensure that seeds differ", True),
        ("Fix typo in docs", False),
        ("Fix flaky tests", False),
        ("Add a trainer", False),
        ("prefix tuning for everybody", False),
        ("", False),
    ],
)
def test_what_speaks_of_a_repair(subject: str, is_one: bool):
    assert bugs_mine.is_repair(subject) is is_one


def test_the_innermost_function_that_differs():
    found = list(bugs_mine.repaired(OLD, NEW))
    gone, come = ("return scores.sum() / scores.numel()",), ("return scores.sum() / mask.sum()",)
    assert found == [("Trainer.loss", gone, come)]


@pytest.mark.parametrize(
    "after",
    [
        OLD,
        OLD.replace("Trains.", "Trains a model."),
        OLD.replace("The mean.", "Of all."),
        OLD + "\n\nMORE = 1\n",
        "def (",
    ],
    ids=["nothing", "a docstring of a class", "a docstring", "beside functions", "no Python"],
)
def test_what_is_no_repair_of_code(after: str):
    assert list(bugs_mine.repaired(OLD, after)) == []


@pytest.fixture
def clone(tmp_path: Path) -> str:
    """A clone with two tags and three commits between them, one of which repairs."""

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True)

    def commit(name: str, text: str, subject: str) -> None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
        git("add", "-A")
        git("commit", "-qm", subject)

    git("init", "-q")
    commit("trl/trainer.py", OLD, "Begin")
    git("tag", "v1")
    commit("README.md", "x\n", "Fix a wrong word")
    commit("tests/test_trainer.py", NEW, "Fix wrong test helper")
    commit("trl/trainer.py", NEW, 'Fix the mean of the loss: "mask" counts (#12)')
    git("tag", "v2")
    return str(tmp_path / ".git")


@pytest.mark.parametrize(("state", "count"), [(FAULTY, 1), (OTHER, 0)], ids=["released", "never in a release"])
def test_a_row_to_be_edited(state: str, count: int, clone: str, monkeypatch: pytest.MonkeyPatch):
    def answered(package: str, rows: list[bugs_mine.Bug], known: dict[str, Answer]) -> dict[str, Answer]:
        return {row.id: Answer("", {"1.0": state, "2.0": OTHER}) for row in rows}

    monkeypatch.setattr(bugs_mine, "answers", answered)
    rows = list(bugs_mine.mine("trl", clone, "v1..v2"))
    assert len(rows) == count
    for text in rows:
        (row,) = tomli.loads(text)["bug"]
        assert row["id"] == "trl-fix-the-mean-of-the-loss"
        assert (row["releases"], row["consequence"]) == ("==1.0", "silent")
        assert row["evidence"] == ["https://github.com/huggingface/trl/pull/12"]
        assert row["code"]["function"] == "Trainer.loss"


def test_commits_that_were_judged_are_left_out(clone: str, monkeypatch: pytest.MonkeyPatch):
    shas = frozenset(one.sha[:10] for one in bugs_mine.commits_of(clone, "v1..v2"))
    monkeypatch.setattr(bugs_mine, "judged", lambda package: shas)
    assert len(shas) == 3 and list(bugs_mine.mine("trl", clone, "v1..v2")) == []
