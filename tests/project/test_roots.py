"""Which folder is the project that a file belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.project import find_root


@pytest.mark.parametrize(
    ("files", "root"),
    [
        ([".git/HEAD", "a/requirements.txt", "a/b/train.py"], ""),
        (["a/requirements.txt", "a/b/train.py"], "a"),
        (["setup.py", "a/requirements.txt", "a/b/train.py"], ""),
        ([".git/HEAD", "a/trl-lint.toml", "a/b/train.py"], "a"),
        ([".git/HEAD", "trl-lint.toml", "a/pyproject.toml", "a/b/train.py"], ""),
        (["trl-lint.toml", "a/b/.trl-lint.toml"], "a/b"),
    ],
    ids=[
        "repository",
        "manifest",
        "package above a manifest",
        "own settings in a repository",
        "settings of the whole",
        "nearest settings",
    ],
)
def test_root_of_a_folder_two_levels_down(files: list[str], root: str, tmp_path: Path):
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert Path(find_root(str(tmp_path / "a" / "b"))) == tmp_path / root
