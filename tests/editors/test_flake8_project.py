"""What the flake8 plugin keeps of the project around a buffer, and when it looks at the disk again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flake8_cases import FAULT, PINNED, age, codes

from trl_lint.cli import main
from trl_lint.editors import context
from trl_lint.editors.flake8_plugin import findings


def test_a_project_is_read_once_for_all_its_files(project: Path, monkeypatch: pytest.MonkeyPatch):
    (project / "requirements.txt").write_text("trl==0.18.0\n")
    for number in range(3):
        (project / f"train_{number}.py").write_text(PINNED)
    age(project)
    kept = []
    for number in range(3):
        assert codes(project / f"train_{number}.py") == ["TRL301"]
        kept.append(context.context_for(str(project / "train_0.py")).workspace.project(str(project / "train_0.py")))
    assert kept[0] is kept[1] is kept[2]


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "requirements.txt").write_text("trl==1.16.0\n"),
        lambda folder: (folder / "requirements.txt").unlink(),
        lambda folder: (folder / "notes.txt").write_text("trl==0.17.0\n"),
        lambda folder: (folder / "trl-lint.toml").write_text('ignore = ["TRL301"]\n'),
        lambda folder: (folder / "README.md").write_text("```\npip install trl==0.17.0\n```\n"),
    ],
    ids=["changed", "gone", "other", "settings", "README"],
)
def test_it_is_read_anew_when_something_changes(project: Path, change):
    (project / "requirements.txt").write_text("trl==0.18.0\n")
    path = project / "train.py"
    path.write_text(PINNED)
    age(project)

    def messages() -> list[str]:
        return [message for _, _, message in findings(str(path), PINNED)]

    before = messages()
    assert messages() == before and "pinned: trl 0.18.0" in before[0]
    change(project)
    context.context_for(str(path))._next_look = 0.0
    after = messages()
    context.forget()
    assert after == messages()
    assert (after != before) is not any((project / name).exists() for name in ("README.md", "notes.txt"))


def test_what_lies_outside_of_the_repository_is_not_read(project: Path):
    inner = project / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "requirements.txt").write_text("-r ../common.txt\n")
    (inner / "train.py").write_text("from trl import GRPOConfig\n")
    seen = []
    for release in ("0.13.0", "0.18.0"):
        (project / "common.txt").write_text(f"trl=={release}\n")
        age(project)
        seen.append(codes(inner / "train.py"))
        context.context_for(str(inner / "train.py"))._next_look = 0.0
    assert seen == [[], []]  # by trl 0.13.0 the import would fail


def releases(path: Path) -> set[str]:
    """The releases that the findings in a file name."""
    return {
        word for _, _, message in findings(str(path), path.read_text()) for word in re.findall(r"0\.1\d\.0", message)
    }


def test_a_run_sees_one_state_of_the_project_and_who_comes_back_a_new_one(project: Path):
    pins = project / "requirements.txt"
    pins.write_text("trl==0.18.0\n")
    for name in ("a.py", "b.py"):
        (project / name).write_text(PINNED)
    age(project)
    assert releases(project / "a.py") == {"0.18.0"}
    pins.write_text("trl==0.17.0\n")
    assert releases(project / "b.py") == {"0.18.0"}
    context.context_for(str(project / "b.py"))._next_look = 0.0
    assert releases(project / "a.py") == {"0.17.0"}  # it was there before


def test_after_a_break_every_file_is_checked_with_a_new_state(project: Path):
    pins = project / "requirements.txt"
    pins.write_text("trl==0.18.0\n")
    for name in ("a.py", "b.py"):
        (project / name).write_text(PINNED)
    age(project)
    assert releases(project / "a.py") == {"0.18.0"}
    first = context.context_for(str(project / "a.py"))
    pins.write_text("trl==0.17.0\n")
    first._last_use -= 60
    first._next_look = 0.0
    assert releases(project / "b.py") == {"0.17.0"}


def test_a_changed_pin_changes_the_findings(project: Path):
    pins = project / "requirements.txt"
    train = project / "train.py"
    train.write_text(FAULT)
    pins.write_text("trl==0.18.0\n")
    assert "TRL203" not in codes(train)
    train.write_text(PINNED.replace("max_completion_len", "use_liger_loss"))
    seen = []
    for release in ("0.18.0", "0.13.0", "0.18.0"):
        pins.write_text(f"trl=={release}\n")
        seen.append(codes(train))
    assert seen[0] == seen[2] != seen[1]


def test_an_unsaved_buffer_leaves_nothing_behind(project: Path):
    train = project / "train.py"
    train.write_text("x = 1\n")
    age(project)
    assert codes(train) == []
    assert codes(train, FAULT) == ["TRL103"]
    assert codes(train) == []


def test_the_baseline_of_the_project_holds(project: Path):
    (project / "train.py").write_text(FAULT)
    (project / "trl-lint.toml").write_text('baseline = "known.json"\n')
    assert main(["--write-baseline", "--quiet"]) == 0
    assert codes(project / "train.py") == []
    assert codes(project / "train.py", FAULT + FAULT.replace("mask", "other")) == ["TRL103"]
