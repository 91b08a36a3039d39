"""Every row of `rules/bugs`: its releases are those whose archives have the code, its projects tell what they should.

One row alone: `-k NAME`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fixture_cases import run_json
from known_bug_projects import Project, projects_of

from trl_lint.checks.registry import declared_rules
from trl_lint.knowledge import bugs, read_text
from trl_lint.knowledge.bugs import Bug
from trl_lint.knowledge.refresher import bugs_build
from trl_lint.knowledge.refresher.bugs_fields import needed_words

ROWS = [(package, row) for package in bugs.packages() for row in bugs.bugs(package)]
ANSWERS = {package: bugs_build.read_answers(package) for package in bugs.packages()}
EACH = [pytest.param(package, row, id=row.id) for package, row in ROWS]


def projects() -> list[object]:
    return [
        pytest.param(row, project, id=f"{row.id}: {project.name}")
        for package, row in ROWS
        if row.id in ANSWERS[package]
        for project in projects_of(package, row, ANSWERS[package][row.id])
    ]


def test_names_are_unique():
    names = [row.id for _, row in ROWS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("package", "row"), EACH)
def test_a_row_is_what_the_archives_say(package: str, row: Bug):
    """Without a network, by what `refresh bugs` wrote down. Whoever changes `bug.code` runs it again."""
    answer = ANSWERS[package].get(row.id)
    assert answer is not None, f"python -m trl_lint.knowledge.refresh bugs {package}"
    assert answer.digest == bugs_build.digest_of(row), f"python -m trl_lint.knowledge.refresh bugs {package}"
    assert row.releases == bugs_build.range_of(answer.states)
    assert bugs_build.faults_of(package, row, answer) == []


@pytest.mark.parametrize(("package", "row"), EACH)
def test_a_row_is_complete(package: str, row: Bug):
    assert row.id.startswith(f"{package}-") and re.fullmatch(r"[a-z0-9.-]+", row.id)
    assert all(urlsplit(url).scheme == "https" for url in row.evidence)
    assert row.bad and len(row.fine) >= (1 if row.condition != "True" else 0), "a bad project, and a fine one beside it"
    assert not row.title.endswith(".") and not row.message.endswith(".")
    re.compile(row.symptom)


@pytest.mark.parametrize(("row", "project"), projects())
def test_projects(
    row: Bug, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for name, text in project.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    _, report = run_json(["--select", "TRL206", "."], capsys)
    told = [each for each in report["findings"] if f"[{row.id}]" in each["message"]]
    shown = "\n".join(f"--- {name}\n{text}" for name, text in project.files.items())
    assert bool(told) is project.is_bad, shown
    if project.is_bad:
        assert "…" not in told[0]["message"]


@pytest.mark.parametrize("package", bugs.packages())
def test_the_index_is_that_of_the_table(package: str):
    written = read_text(f"{bugs.INDEX}/{package}.txt")
    assert written == bugs.index_text(package, needed_words), "python -m trl_lint.knowledge.refresh bugs --index"
    assert bugs.indexed() == bugs.packages()


def test_answers_are_of_rows_that_are_there():
    folder = Path(bugs_build.answers_path("x")).parent
    assert {os.path.splitext(name)[0] for name in os.listdir(folder)} == set(bugs.packages())
    assert {name for found in ANSWERS.values() for name in found} == {row.id for _, row in ROWS}


def test_the_rule_asks_for_the_files_that_call_what_rows_are_about():
    assert Path(bugs_build.words_path()).read_text("utf-8") == bugs_build.words_text()
    declared = {rule.code: rule for rule in declared_rules()}["TRL206"]
    assert declared.words == bugs.called_words(), "python -m trl_lint.checks.registry --write"
