"""Each folder in `fixtures/<CODE>/` is a small project: what is found in it, and what the fixes make of it."""

from __future__ import annotations

import ast
import json
import os
from collections import Counter
from pathlib import Path

import pytest
import tomli
import yaml
from fixture_cases import Case, cases, found, run_json, snapshot, unmatched

from benchmarks.overlaps import overlaps
from trl_lint.project import Project, find_root
from trl_lint.project.launch_table import all_launches
from trl_lint.settings import settings_for
from trl_lint.sources import Files

CASES = [pytest.param(case, id=case.id) for case in cases()]
REPAIRED = [pytest.param(case, id=case.id) for case in cases() if any(case.folder.rglob("*.fixed"))]
FIX = ("--fix", "--unsafe-fixes")
# Every eighth bad case without a repair, or all.
UNREPAIRED = [
    pytest.param(case, id=case.id, marks=[pytest.mark.slow] if number % 8 else [])
    for number, case in enumerate(case for case in cases() if case.is_bad and not any(case.folder.rglob("*.fixed")))
]


@pytest.mark.parametrize("case", CASES)
def test_findings(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """What is expected and nothing else; nothing is told twice; and no repair is offered where none is shown."""
    expected = case.expectations()
    if case.is_bad:
        assert any(e.code == case.code for e in expected), f"a bad case expects {case.code} somewhere"
    else:
        assert not any(e.code == case.code for e in expected), f"an ok case never expects {case.code}"
    project = case.copy_to(tmp_path / "project")
    monkeypatch.chdir(project)
    status, report = run_json(case.args(), capsys)
    missing, extra = unmatched(expected, found(report))
    messages = [f"{f['path']}:{f['start']['line']}: {f['code']} {f['message']}" for f in report["findings"]]
    assert (missing, extra) == ([], []), "\n".join(["the tool said:", *messages, *map(str, report["errors"])])
    assert status == any(finding["severity"] != "info" for finding in report["findings"])
    if "only" not in case.settings():  # test_overlaps.py has all rules look at those
        assert list(map(str, overlaps(report["findings"]))) == []
    if not case.fixed():
        fixes = [message for f, message in zip(report["findings"], messages, strict=True) if f["fix"]]
        assert fixes == [], "a fix is offered: put the file as `--fix --unsafe-fixes` leaves it into `FILE.fixed`"


@pytest.mark.parametrize("case", UNREPAIRED)
def test_nothing_is_written_where_nothing_is_offered(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    project = case.copy_to(tmp_path / "project")
    monkeypatch.chdir(project)
    original = snapshot(project)
    run_json([*case.args(), *FIX], capsys)
    assert snapshot(project) == original


@pytest.mark.parametrize("case", REPAIRED)
def test_fixes(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The fixes write exactly the `.fixed` files, touch nothing else, remove their findings, and are then at rest."""
    project = case.copy_to(tmp_path / "project")
    monkeypatch.chdir(project)
    original = snapshot(project)
    _, before = run_json(case.args(), capsys)

    run_json([*case.args(), *FIX], capsys)
    fixed = snapshot(project)
    assert shown(fixed) == shown({**original, **case.fixed()}), "the `.fixed` files are not what the fixes write"
    assert fixed == {**original, **case.fixed()}
    for path in case.fixed():
        if parses(path, original[path]):
            assert parses(path, fixed[path]), f"{path} cannot be parsed any more"

    _, after = run_json(case.args(), capsys)
    left = Counter((f["path"], f["code"]) for f in before["findings"] if f["fix"] is None)
    assert Counter((f["path"], f["code"]) for f in after["findings"]) == left
    run_json([*case.args(), *FIX], capsys)
    assert snapshot(project) == fixed


@pytest.mark.parametrize("case", REPAIRED)
def test_commands_after_a_fix(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As many commands as before, and the same scripts: a repair that trl-lint cannot read itself helps nobody."""
    project = case.copy_to(tmp_path / "project")
    monkeypatch.chdir(project)
    before = programs()
    for path, data in case.fixed().items():
        (project / path).write_bytes(data)
    assert programs() == before


def shown(files: dict[str, bytes]) -> list[str]:
    """The lines of files, each behind its path, so that a difference is told with its place."""
    return [f"{path}: {line!r}" for path, data in sorted(files.items()) for line in data.splitlines(keepends=True)]


def programs() -> Counter[tuple[str, str, tuple[str, ...]]]:
    """What the commands of the project in the working directory start, also those in its documentation."""
    root = find_root(os.getcwd())
    ((settings, _),) = settings_for([root])
    launches = all_launches(Project(root, Files({}), settings))
    return Counter(
        (os.path.relpath(launch.source.path), launch.module or launch.subcommand or "", launch.candidates)
        for launch in launches
    )


def parses(path: str, data: bytes) -> bool:
    """Whether the content is what the file's name says it is; names that say nothing always are."""
    readers = {
        ".py": ast.parse,
        ".json": json.loads,
        ".ipynb": json.loads,
        ".toml": lambda data: tomli.loads(data.decode()),
        ".yaml": lambda data: list(yaml.compose_all(data, yaml.SafeLoader)),
        ".yml": lambda data: list(yaml.compose_all(data, yaml.SafeLoader)),
    }
    read = readers.get(Path(path).suffix)
    try:
        if read is not None:
            read(data)
    except (SyntaxError, ValueError, yaml.YAMLError):
        return False
    return True
