"""One core: the command line, flake8 and the review find the same in all fixtures, at the same places."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_line import process
from fixture_cases import cases

from trl_lint.cli import main

Entry = tuple[str, int, int, str]
# What a command of verl says of the script that makes its data, which it does not start: flake8 does not ask for it.
OF_ANOTHER_COMMAND = ("TRL402", "prepare.py")


@pytest.fixture(scope="module", params=[30, pytest.param(1, marks=pytest.mark.slow)], ids=["a thirtieth", "all"])
def step(request: pytest.FixtureRequest) -> int:
    """Every how many of the fixtures are looked at, beside those with notebooks, whose findings are in the summary."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def projects(step: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each of these fixtures as a repository of its own, below one folder."""
    top = tmp_path_factory.mktemp("fixtures")
    found = cases()
    for case in (one for one in found if one in found[::step] or any(one.folder.rglob("*.ipynb"))):
        (case.copy_to(top / case.code / case.folder.name) / ".git").mkdir(exist_ok=True)
    return top


@pytest.fixture(scope="module")
def told(projects: Path) -> list[dict[str, Any]]:
    """What the command line finds."""
    return json.loads(process([".", "--output-format", "json"], projects).stdout)["findings"]  # type: ignore[no-any-return]


def entries(findings: list[dict[str, Any]]) -> list[Entry]:
    return sorted(
        (found["path"], found["start"]["line"], found["start"]["column"], found["code"]) for found in findings
    )


def in_python(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those in Python files that flake8 has to show."""
    return [
        found
        for found in findings
        if found["path"].endswith(".py") and (found["code"], Path(found["path"]).name) != OF_ANOTHER_COMMAND
    ]


@pytest.fixture(scope="module")
def shown(projects: Path, step: int, registered: None) -> list[Entry]:
    """What flake8 finds in the Python files."""
    files = sorted(str(path.relative_to(projects)) for path in projects.rglob("*.py") if path.is_file())
    assert len(files) > 300 // step
    options = ["--isolated", "--select=TRL", "--exclude=none", "--trl-hints"]
    command = [sys.executable, "-m", "flake8", *options, *files]
    done = subprocess.run(command, cwd=projects, capture_output=True, text=True, check=False)
    matches = [re.fullmatch(r"(.+?):(\d+):(\d+): (TRL\d+) .*", line) for line in done.stdout.splitlines()]
    assert all(matches)
    return sorted((match[1], int(match[2]), int(match[3]), match[4]) for match in matches if match)


def test_flake8_and_the_command_line_agree(told: list[dict[str, Any]], shown: list[Entry]):
    assert sorted(set(entries(in_python(told)))) == shown
    assert len({code for *_, code in shown}) > 10


def test_the_command_line_flake8_and_the_review_agree(
    projects: Path,
    step: int,
    told: list[dict[str, Any]],
    shown: list[Entry],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """A pull request that adds the fixtures: each finding is in a comment or in the summary, and nothing else is."""
    pytest.importorskip("github", reason="PyGithub is in the extra `test`")
    pytest.importorskip("jsonschema", reason="jsonschema is in the extra `test`")
    from github_server import NUMBER, REPOSITORY, TOKEN, GitHub

    from trl_lint.review import github, markdown, plan
    from trl_lint.review.report import read_report

    monkeypatch.setattr(plan, "Options", partial(plan.Options, most=10_000))
    monkeypatch.setattr(github, "BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(markdown, "MAX_BODY", 10_000_000)
    monkeypatch.setattr(markdown, "_ROOM", 10_000_000)
    hub = GitHub()
    hub.push_folder(projects)
    for name, value in (("TOKEN", TOKEN), ("REPOSITORY", REPOSITORY), ("API_URL", hub.url), ("EVENT_PATH", "")):
        monkeypatch.setenv(f"GITHUB_{name}", value)
    monkeypatch.chdir(projects)
    assert main(["review", ".", "--pull-request", str(NUMBER), "--dry-run"]) == 1
    hub.close()
    review, summary = json.loads(capsys.readouterr().out)
    bodies = {markdown.read_mark(one["body"]).fingerprint: one for one in review["body"]["comments"]}  # type: ignore[union-attr]
    assert len(bodies) == len(review["body"]["comments"]) > 300 // step and not hub.violations
    rows = [line for line in summary["body"]["body"].splitlines() if line.startswith("- ")]
    web = markdown.Web(f"https://github.com/{REPOSITORY}", hub.head)
    text = json.dumps({"version": 1, "findings": told, "errors": []})
    commented, uncommented = [], []
    for found, reported in zip(told, read_report(text.encode(), "told").findings, strict=True):
        if (comment := bodies.pop(found["fingerprint"], None)) is None:
            assert "cell" in found["start"]  # every line of every other file is in the diff
            uncommented.append(reported)
            continue
        commented.append(found)
        assert comment["path"] == found["path"] and comment["body"].startswith(markdown._headline(reported))
        if "suggestion\n" not in comment["body"]:
            assert comment["line"] == found["start"]["line"] and "start_line" not in comment
    items = [f"- {item}" for item in markdown._items(uncommented, web)]  # one for a cause; notices follow them
    assert not bodies and items and sorted(rows[: len(items)]) == sorted(items)
    assert not any(row.startswith("- **TRL") for row in rows[len(items) :])
    assert sorted(set(entries(in_python(commented)))) == shown
