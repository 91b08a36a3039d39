"""Which folder is the project that a file belongs to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trl_lint.cli import main
from trl_lint.project.roots import find_root, starting_in


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


ARCHIVE = {
    "project/README.md": "```bash\ncd code\npip install -r requirements.txt\n```\n",
    "project/code/requirements.txt": "trl==0.9.6\ntransformers==4.42.0\n",
    "project/scripts/train.py": (
        "from trl import SFTTrainer\n\n\ndef run(model, data, text):\n"
        "    SFTTrainer(model, tokenizer=text, train_dataset=data).train()\n"
    ),
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    for name, text in ARCHIVE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "project"


@pytest.mark.parametrize("start", [".", "scripts", "..", "../elsewhere"])
def test_folder_that_a_run_is_given_is_one_project_from_wherever_it_is_named(
    start: str, archive: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(archive / start)
    with starting_in([str(archive)]):
        assert Path(find_root(str(archive / "scripts"))) == archive
    if start.startswith("..") and start != "..":
        assert Path(find_root(str(archive / "scripts"))) == archive / "scripts"


def test_folder_without_any_mark_is_the_project_of_what_is_below_it(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    with starting_in([str(tmp_path / "a")]):
        assert Path(find_root(str(tmp_path / "a" / "b"))) == tmp_path / "a"
        assert Path(find_root(str(tmp_path))) == tmp_path
    assert Path(find_root(str(tmp_path / "a" / "b"))) == tmp_path / "a" / "b"


@pytest.mark.parametrize("command", ["check", "environment", "upgrade", "runs"])
def test_command_says_the_same_inside_and_outside_of_an_archive(
    command: str, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (archive / "scripts" / "run.sh").write_text("accelerate launch scripts/train.py\n")
    said = []
    for place, name in ((archive, "."), (archive.parent / "elsewhere", "../project")):
        monkeypatch.chdir(place)
        status = main([*COMMANDS[command], name])
        out = capsys.readouterr().out.replace("../project/", "").replace("./ ", " ")
        said.append((status, re.sub(r"fingerprint.*|/[^ ]*/", "", out)))
    assert said[0] == said[1]
    assert said[0][1].strip()


COMMANDS = {
    "check": ["check", "--no-cache", "--hints"],
    "environment": ["environment"],
    "upgrade": ["upgrade", "--to", "trl==0.24.0"],
    "runs": ["runs"],
}
