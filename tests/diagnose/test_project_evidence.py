"""What a project says about a failure: "no" only where all of it was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.diagnose.failures import Failure
from trl_lint.diagnose.project import ProjectEvidence


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "train.py").write_text("model = load()\n")
    return tmp_path


def held(root: Path, pattern: str = "flash_attention_2") -> str:
    return ProjectEvidence(str(root), Failure(1, None, "", 0), {}, {}).mentions(pattern).held


def test_words_of_a_project_that_was_read(project: Path):
    assert held(project) == "no"
    (project / "other.py").write_text('kind = "FLASH_attention_2"\n')
    assert held(project) == "yes"


def test_a_file_that_is_too_large_makes_no_into_unknown(project: Path):
    (project / "large.py").write_text("# " + "x" * 1_100_000 + "\n")
    assert held(project) == "unknown"
    assert held(project, "load") == "yes"


def test_a_file_that_is_no_text_makes_no_into_unknown(project: Path):
    (project / "bad.py").write_bytes(b"\xff\xfe\x00\xd8\x00")
    assert held(project) == "unknown"
