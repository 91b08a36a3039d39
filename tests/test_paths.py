"""What the folders of a path say about a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint import tracked
from trl_lint.paths import is_retired, is_test_file


@pytest.mark.parametrize(
    ("path", "is_so"),
    [
        ("/p/examples/archived/train.py", True),
        ("/p/Legacy/a/b/train.py", True),
        ("/p/attic/README.md", True),
        ("/p/docs/.archive/runs.md", True),
        ("/p/_old/train.py", True),
        ("/p/bak/train.py", True),
        ("/p/Backup/train.sh", True),
        ("/p/backup_jobs/train.sh", False),
        ("/p/docs/Scratchpad.md", True),
        ("/p/CHANGELOG.md", True),
        ("/p/docs/changelog/train.md", False),
        ("/p/scratch.py", False),
        ("/p/archived_runs/train.py", False),
        ("/p/src/old.py", False),
        ("/p/train.py", False),
        ("/p/docs/plans/2026-02-23-master.md", True),
        ("/p/docs/V2_OPTIMIZATION_PLAN.md", True),
        ("/p/ROADMAP.md", True),
        ("/p/docs/training-roadmap.md", True),
        ("/p/TODO.md", True),
        ("/p/rfcs/0001-data.md", True),
        ("/p/docs/2025-06-30-plan-for-rl.mdx", True),
        ("/p/plans/train.sh", False),
        ("/p/plan.py", False),
        ("/p/configs/plan.yaml", False),
        ("/p/docs/planning.md", False),
        ("/p/docs/explanation.md", False),
        ("/p/docs/planner_model.md", False),
        ("/p/docs/floor_plane.md", False),
        ("/p/airplanes/README.md", False),
        ("/p/docs/plan/README.md", False),
        ("/elsewhere/old/train.py", False),
    ],
)
def test_folders_kept_for_the_record(path: str, is_so: bool):
    assert is_retired(path, "/p") is is_so


def test_a_folder_above_the_project_says_nothing():
    assert not is_retired("/home/me/old/project/train.py", "/home/me/old/project")


@pytest.mark.parametrize(
    ("folder", "is_repository", "expected"),
    [
        ("tests/project", True, False),  # somebody's folder of checkouts
        ("tests", False, False),
        ("project/tests", False, True),
        ("testing/a/b", True, False),
        ("project", True, False),
    ],
)
def test_what_lies_above_a_project_makes_no_tests_of_its_files(
    folder: str, is_repository: bool, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / folder
    place.mkdir(parents=True)
    if is_repository:
        (place / ".git").mkdir()
    elif expected:
        monkeypatch.chdir(place.parent)
    else:
        monkeypatch.chdir(place)
    tracked.forget()
    assert is_test_file(str(place / "train.py")) is expected
    assert is_test_file(str(place / "test_train.py")) and is_test_file(str(place / "tests" / "train.py"))
    assert is_test_file("tests/train.py")
