"""A report says the same wherever the project lies: no absolute path, and nothing twice."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from command_line import Shell

from trl_lint.engine import check
from trl_lint.finding import Finding, Fix, Location, told_once
from trl_lint.settings import Settings

_FIXTURES = Path(__file__).parent.parent / "fixtures"
# Those about commands and configs, whose words are paths.
_FOLDERS = sorted(folder for folder in _FIXTURES.iterdir() if folder.name.startswith(("TRL4", "TRL5")))
_HERE = [
    '"$(cd "$(dirname "$0")" && pwd)"',
    "$(dirname $0)",
    '"$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"',
    '"$(dirname "$(realpath "$0")")"',
    '"$(dirname "$(readlink -f "$0")")"',
]
_COMMANDS = [
    "python $HERE/gone.py",
    "accelerate launch --config_file $HERE/gone.yaml $HERE/train.py",
    "torchrun --nproc_per_node 2 ${HERE}/gone.py --deepspeed ${HERE}/gone.json",
    'cd "$HERE" && python gone.py',
]


@pytest.mark.parametrize("here", _HERE)
@pytest.mark.parametrize("command", _COMMANDS)
def test_no_message_holds_the_folder_of_the_checkout(tmp_path: Path, here: str, command: str):
    script = f"#!/bin/bash\nHERE={here}\n{command}\n"
    (tmp_path / "scripts").mkdir()
    (tmp_path / "README.md").write_text("# A project\n")
    (tmp_path / "scripts" / "run.sh").write_text(script)
    (tmp_path / "scripts" / "train.py").write_text("from trl import SFTTrainer\n")
    report = check([str(tmp_path)], Settings(str(tmp_path)))
    messages = [finding.message for finding in report.findings] + [notice.message for notice in report.notices]
    messages += [place.message for finding in report.findings for place in finding.related]
    assert not any(str(tmp_path) in message for message in messages)


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda folder: folder.name)
def test_fixtures_say_the_same_in_two_folders(sh: Shell, monkeypatch: pytest.MonkeyPatch, folder: Path, step: int):
    """Every 12th of each topic, or all."""
    cases = sorted(path for path in folder.iterdir() if path.is_dir())[::step]
    reports = []
    for name in ("one", "another/place/below"):
        for case in cases:
            shutil.copytree(case, sh.folder / name / "tree" / case.name)
        monkeypatch.chdir(sh.folder / name)
        said = sh("check", "--hints", "--no-cache", "--output-format", "json", "tree")
        assert str(sh.folder) not in said.out + said.err
        reports.append(json.loads(said.out))
    assert reports[0] == reports[1]
    found = Counter((f["path"], f["code"], f["message"], str(f["start"])) for f in reports[0]["findings"])
    assert max(found.values(), default=1) == 1


def test_one_of_those_that_say_the_same_stays():
    place = Location("/p/a.yaml", 3, 9)
    run = Location("/p/run.sh", 0, 4, "the run")
    fix = Fix("Repair it", "safe", ())
    one = Finding("TRL403", "no effect", place, "warning", (run,))
    found = [one, one._replace(related=()), one._replace(severity="error"), one._replace(severity="error", fix=fix)]
    assert told_once(found) == [found[3]]
    other = [one, one._replace(message="else"), one._replace(code="TRL401"), one._replace(location=run)]
    assert told_once(other) == other
