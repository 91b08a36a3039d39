"""The bundled project: it shows exactly the faults it was made for, and `make demo` runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from documents import DEMO, ROOT, tool_folder
from fixture_cases import Expectation, found, run_json, snapshot, unmatched

LINE = re.compile(r"(?P<path>[^:]+):(?P<line>\d+) (?P<code>TRL\d+)\[(?P<level>\w+)\]")


def expectations() -> list[Expectation]:
    """fixtures/demo.expect: one `path:line CODE[level]` on each line."""
    lines = (ROOT / "fixtures" / "demo.expect").read_text("utf-8").splitlines()
    matches = [LINE.fullmatch(line) for line in lines if line and not line.startswith("#")]
    assert all(matches)
    return [Expectation(m["path"], None, int(m["line"]), m["code"], m["level"]) for m in matches if m]


def test_findings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(DEMO)
    status, report = run_json([], capsys)
    assert unmatched(expectations(), found(report)) == ([], [])
    assert status == 1


def test_fixes_come_to_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """One is left: a newer TRL would need a newer transformers, so that fix would only trade one fault for another."""
    project = shutil.copytree(DEMO, tmp_path / "demo")
    monkeypatch.chdir(project)
    run_json(["--fix", "--unsafe-fixes"], capsys)
    once = snapshot(project)
    _, after = run_json(["--fix", "--unsafe-fixes"], capsys)
    assert snapshot(project) == once
    assert [(f.path, f.line, f.code) for f in found(after)] == [("requirements.txt", 7, "TRL201")]


def test_make_demo(tmp_path: Path):
    """The set-up is left out here (`make -o`): the tests already run in an environment that has everything."""
    before = snapshot(DEMO)
    folder = tool_folder(tmp_path / "bin")
    done = subprocess.run(
        ["make", "--no-print-directory", "-o", ".venv-demo/.installed", "demo", f"DEMO_LINT={folder}/trl-lint"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for wanted in expectations():
        assert wanted.code in done.stdout or wanted.level == "info"
    assert re.search(r"^\+.*device_placement=True", done.stdout, re.MULTILINE)
    assert snapshot(DEMO) == before
