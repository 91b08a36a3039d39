"""One core: flake8 finds in the Python files of all fixtures what the command line finds, at the same places."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import process
from fixture_cases import cases

Entry = tuple[str, int, int, str]


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every fixture as a repository of its own, below one folder."""
    top = tmp_path_factory.mktemp("fixtures")
    for case in cases():
        (case.copy_to(top / case.code / case.folder.name) / ".git").mkdir(exist_ok=True)
    return top


@pytest.mark.usefixtures("registered")
def test_flake8_and_the_command_line_agree(projects: Path):
    files = sorted(str(path.relative_to(projects)) for path in projects.rglob("*.py") if path.is_file())
    assert len(files) > 300
    report = process(["--output-format", "json", "--force-exclude", *files], projects)
    expected: set[Entry] = {
        (found["path"], found["start"]["line"], found["start"]["column"], found["code"])
        for found in json.loads(report.stdout)["findings"]
        if found["path"].endswith(".py")
    }
    command = [sys.executable, "-m", "flake8", "--isolated", "--select=TRL", "--exclude=none", *files]
    done = subprocess.run(command, cwd=projects, capture_output=True, text=True, check=False)
    entries = [re.match(r"(.+?):(\d+):(\d+): (TRL\d+) ", line) for line in done.stdout.splitlines()]
    found = {(match[1], int(match[2]), int(match[3]), match[4]) for match in entries if match}
    assert len(entries) == len(found) and found == expected
    assert len({code for *_, code in found}) > 10
