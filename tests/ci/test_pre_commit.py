"""pre-commit itself, with the hook from a local clone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from command_line import FIXED, SCRIPT
from documents import ROOT, tool_folder

HOOKS = ROOT / ".pre-commit-hooks.yaml"
PINNED = "from trl import GRPOConfig\n\nconfig = GRPOConfig(output_dir='out')\n"  # since TRL 0.14

pytest.importorskip("pre_commit", reason="pre-commit is in the extra `test`")


class Repository:
    """A repository that uses the hook. Its environment is not built but the tool of this checkout is on the path."""

    def __init__(self, folder: Path, args: list[str]) -> None:
        self.folder = folder / "project"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "PRE_COMMIT_HOME": str(folder / "home"),
            "PATH": f"{tool_folder(folder / 'bin')}{os.pathsep}{os.environ['PATH']}",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        hooks = folder / "hooks"
        hooks.mkdir()
        (hooks / HOOKS.name).write_text(HOOKS.read_text("utf-8"))
        revision = self._commit(hooks)
        hook = {"id": "trl-lint", "language": "system", "args": args}
        config = {"repos": [{"repo": str(hooks), "rev": revision, "hooks": [hook]}]}
        self.write(".pre-commit-config.yaml", yaml.safe_dump(config))

    def write(self, name: str, text: str) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)

    def _git(self, folder: Path, *args: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *args]
        done = subprocess.run(command, cwd=folder, env=self.environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def _commit(self, folder: Path) -> str:
        self._git(folder, "init", "--quiet")
        self._git(folder, "add", ".")
        self._git(folder, "commit", "--quiet", "--message", "x")
        return self._git(folder, "rev-parse", "HEAD")

    def commit(self) -> None:
        self._commit(self.folder)

    def run(self, *staged: str) -> tuple[int, str]:
        """What `git commit` would be told about the staged files."""
        self._git(self.folder, "add", *staged)
        command = [sys.executable, "-m", "pre_commit", "run", "--color=never"]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def test_the_manifest_is_valid():
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(HOOKS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_finding_stops_the_commit(tmp_path: Path):
    repository = Repository(tmp_path, [])
    repository.commit()
    repository.write("train.py", SCRIPT)
    status, out = repository.run("train.py")
    assert status == 1 and "train.py:6:17: TRL103" in out
    repository.write("train.py", FIXED)
    status, out = repository.run("train.py")
    assert status == 0 and "Passed" in out


def test_a_changed_pin_is_held_against_files_that_did_not_change(tmp_path: Path):
    repository = Repository(tmp_path, [])
    repository.write("requirements.txt", "trl==0.18.0\n")
    repository.write("train.py", PINNED)
    repository.commit()
    repository.write("requirements.txt", "trl==0.13.0\n")
    status, out = repository.run("requirements.txt")
    assert status == 1 and "train.py:1:17: TRL302" in out


def test_only_what_is_staged_counts(tmp_path: Path):
    repository = Repository(tmp_path, [])
    repository.write("train.py", FIXED)
    repository.commit()
    repository.write("other.py", "x = 1\n")
    repository.write("train.py", SCRIPT)
    assert repository.run("other.py")[0] == 0


def test_files_that_nobody_reads_start_nothing(tmp_path: Path):
    repository = Repository(tmp_path, [])
    repository.commit()
    repository.write("picture.svg", "<svg/>\n")
    status, out = repository.run("picture.svg")
    assert status == 0 and "Skipped" in out


def test_with_fix_the_repair_is_left_to_be_staged(tmp_path: Path):
    repository = Repository(tmp_path, ["--fix", "--exit-non-zero-on-fix"])
    repository.commit()
    repository.write("train.py", SCRIPT)
    status, out = repository.run("train.py")
    assert status == 1 and "files were modified by this hook" in out
    assert (repository.folder / "train.py").read_text() == FIXED
    assert repository.run("train.py")[0] == 0
