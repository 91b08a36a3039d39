"""Which files are looked at."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from laid_out import resolved

from trl_lint.engine import check
from trl_lint.paths import Glob
from trl_lint.project import discovery
from trl_lint.project.discovery import collect, is_source
from trl_lint.settings import Settings


def tree(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf-8")
    return folder


def found(folder: Path, *paths: str, **settings: object) -> list[str]:
    """Relative paths of what is collected; those named by the user in brackets."""
    files, missing = collect([str(folder / path) for path in paths] or [str(folder)], Settings(str(folder), **settings))  # type: ignore[arg-type]
    assert missing == []
    names = [(os.path.relpath(path, folder).replace(os.sep, "/"), explicit) for path, explicit in files]
    return [f"[{name}]" if explicit else name for name, explicit in names]


UNDERSTOOD = """
    train.py nb.ipynb recipe.yaml ci.yml ds.json pyproject.toml README.md run.sh job.slurm job.sbatch x.bash Makefile
    Dockerfile Dockerfile.cuda train.dockerfile Containerfile requirements.txt requirements-dev.txt constraints.txt
    dev-requirements.in setup.cfg uv.lock poetry.lock train.py.lock pylock.toml pylock.dev.toml requirements/dev.txt
"""


@pytest.mark.parametrize("name", UNDERSTOOD.split())
def test_names_that_some_reader_understands(name: str):
    assert is_source(f"/p/{name}")


@pytest.mark.parametrize(
    "name", ["notes.txt", "data.csv", "a.lock", "model.safetensors", "train.pyc", "MANIFEST.in", "x.cfg"]
)
def test_names_that_none_does(name: str):
    assert not is_source(f"/p/{name}")


def test_folders_are_searched_in_a_fixed_order(tmp_path: Path):
    tree(tmp_path, "b.py", "a/z.yaml", "a/b.py", "data.csv", "c/d/e/run.sh")
    assert found(tmp_path) == ["a/b.py", "a/z.yaml", "b.py", "c/d/e/run.sh"]


RUN = "run-20241122_233822-xmxpmw8u"
RECORDS = [
    *(f"wandb/{RUN}/files", f"wandb/{RUN}/files/code", f"logs/wandb/{RUN}/tmp", f"wandb/offline-{RUN}/files"),
    *("lightning_logs/version_0", "mlruns/0/3f2a/artifacts/model", "outputs/2025-01-01/12-00-00/.hydra"),
    *("out/checkpoint-500", "multirun/0/.hydra", "ray_results/PPO_1"),
]
NO_RECORDS = [
    *("wandb", "wandb/sweeps", "run-all", "run-20241122", "run-2024_233822-x", f"my-{RUN}", "hydra", "outputs/mine"),
    *("checkpoint", "checkpoints", "checkpoint-utils", "checkpoint-500b", "lightning", "mlflow"),
]


@pytest.mark.parametrize("folder", RECORDS)
def test_records_of_past_runs_are_left_out(tmp_path: Path, folder: str):
    names = ["requirements.txt", "conda-environment.yaml", "config.yaml", "hparams.yaml", "train.py", "README.md"]
    tree(tmp_path, "a.py", *(f"{folder}/{name}" for name in names))
    assert found(tmp_path) == ["a.py"]
    assert found(tmp_path, f"{folder}/config.yaml") == [f"[{folder}/config.yaml]"]


@pytest.mark.parametrize("folder", NO_RECORDS)
def test_folders_called_much_like_records_are_not(tmp_path: Path, folder: str):
    tree(tmp_path, f"{folder}/requirements.txt", f"{folder}/config.yaml")
    assert found(tmp_path) == [f"{folder}/config.yaml", f"{folder}/requirements.txt"]


@pytest.mark.parametrize("folder", RECORDS)
def test_no_release_is_taken_from_a_record(tmp_path: Path, folder: str):
    tree(tmp_path, f"{folder}/requirements.txt", "requirements.txt", "train.py")
    (tmp_path / folder / "requirements.txt").write_text("trl==0.7.11\n")
    assert resolved(tmp_path, {"train.py": "import trl\n"}, "trl") == "assumed"
    assert resolved(tmp_path, {"requirements.txt": "trl==0.19.1\n"}, "trl") == "0.19.1"


def test_the_usual_folders_are_left_out(tmp_path: Path):
    tree(tmp_path, "a.py", ".git/a.py", ".venv/a.py", "node_modules/a.json", "x/__pycache__/a.py", "x.egg-info/a.toml")
    tree(tmp_path, "my-env/pyvenv.cfg", "my-env/lib/a.py", "build/lib/a.py", "lib/site-packages/x/a.py")
    assert found(tmp_path) == ["a.py"]


def test_exclude_and_extend_exclude(tmp_path: Path):
    tree(tmp_path, "a.py", "old/a.py", "build/a.py", "x/old/a.py", "x/gen_a.py")
    everywhere = [Glob("old", str(tmp_path)), Glob("gen_*", str(tmp_path))]
    assert found(tmp_path, extend_exclude=everywhere) == ["a.py"]
    assert found(tmp_path, extend_exclude=[Glob("x/old", str(tmp_path))]) == ["a.py", "old/a.py", "x/gen_a.py"]
    assert found(tmp_path, exclude=everywhere) == ["a.py", "build/a.py"]


def test_what_the_user_names_is_taken(tmp_path: Path):
    tree(tmp_path, "build/a.py", "notes.txt")
    assert found(tmp_path, "build/a.py", "notes.txt") == ["[build/a.py]", "[notes.txt]"]
    assert found(tmp_path, "build") == ["build/a.py"]
    assert found(tmp_path, "build/a.py", force_exclude=True) == []


def test_named_twice_is_checked_once(tmp_path: Path):
    tree(tmp_path, "a.py")
    assert found(tmp_path, ".", "a.py", "./a.py") == ["[a.py]"]


def test_symbolic_links(tmp_path: Path):
    project = tree(tmp_path / "project", "a/b.py", "kept/c.py")
    tree(tmp_path, "outside.py")
    (project / "a" / "loop").symlink_to(project, target_is_directory=True)
    (project / "same.py").symlink_to(project / "a" / "b.py")  # checked under its own name
    (project / "away.py").symlink_to(tmp_path / "outside.py")
    (project / "nowhere.py").symlink_to(project / "gone.py")
    (project / "notes.txt").write_text("x", "utf-8")
    (project / "linked.sh").symlink_to(project / "notes.txt")  # only the link has a name that says what it is
    assert found(project) == ["a/b.py", "kept/c.py", "linked.sh"]


def test_a_named_link_to_a_folder_is_followed(tmp_path: Path):
    tree(tmp_path / "real", "a.py")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert found(tmp_path, "link") == ["link/a.py"]


def test_missing_paths(tmp_path: Path):
    tree(tmp_path, "a.py")
    files, missing = collect([str(tmp_path / "b.py"), str(tmp_path / "a.py")], Settings())
    assert files == [(str(tmp_path / "a.py"), True)]
    assert missing == [(str(tmp_path / "b.py"), "no such file or directory")]


def test_a_name_with_a_nul_byte():
    _, missing = collect(["a\0b.py"], Settings())
    assert len(missing) == 1 and "null" in missing[0][1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.py")
    assert found(tmp_path) == []
    _, missing = collect([str(tmp_path / "pipe.py")], Settings())
    assert "not a file" in missing[0][1]


def test_unsaved_files_exist(tmp_path: Path):
    path = str(tmp_path / "new.py")
    assert collect([path], Settings(), {path: b""}) == ([(path, True)], [])


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that cannot be listed; tests that run as root cannot make a real one."""
    tree(tmp_path, "a.py", "locked/b.py")
    real = os.scandir

    def refusing(path: str):
        if os.path.basename(path) == "locked":
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(discovery.os, "scandir", refusing)
    return tmp_path


def test_a_folder_that_cannot_be_listed_is_handed_on_once(locked: Path):
    assert found(locked) == ["a.py", "locked"]


def test_a_named_folder_that_cannot_be_listed(locked: Path):
    files, missing = collect([str(locked / "locked")], Settings())
    assert (files, missing) == ([], [(str(locked / "locked"), "cannot be listed: permission denied")])


def test_a_search_without_end_is_cut_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(60):
        (tmp_path / f"{number:02}.py").write_text("x = 1\n")

    def slow(path: str) -> bool:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        return True

    monkeypatch.setattr(discovery, "is_source", slow)
    monkeypatch.setattr(discovery, "SEARCH_SECONDS", 0.5)
    found = check([str(tmp_path)], Settings(str(tmp_path)))
    assert [problem.message for problem in found.problems] == ["the search for files took more than 0.5 s"]
    assert found.problems[0].path == str(tmp_path) and 0 < found.checked < 60
