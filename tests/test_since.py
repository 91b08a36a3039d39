"""`--since REF`, in repositories of git that try to have something run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from command_line import FIXED, SCRIPT, Shell

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
CONFIG = "from trl import GRPOConfig\n\n\nargs = GRPOConfig(output_dir='out', nonsense=1)\n"


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *IDENTITY, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x", "--allow-empty")


@pytest.fixture
def repository(sh: Shell) -> Shell:
    """One finding in `old.py`, committed on `main`."""
    git(sh.folder, "init", "--quiet")
    sh.write("old.py", SCRIPT)
    commit(sh.folder)
    return sh


def codes(sh: Shell, *words: str) -> list[str]:
    return sh("--output-format", "json", "--no-cache", *words).codes


def test_only_changed_lines_count(repository: Shell):
    assert codes(repository, "--since", "main") == []
    repository.write("old.py", SCRIPT + "\n# more\n")
    assert codes(repository, "--since", "HEAD") == [], "a line elsewhere in the file"
    repository.write("old.py", SCRIPT.replace("torch.arange(", "torch.arange( "))
    assert codes(repository, "--since", "HEAD") == ["TRL103"], "not committed yet"
    commit(repository.folder)
    assert codes(repository, "--since", "HEAD") == []
    assert codes(repository, "--since", "HEAD~1") == ["TRL103"]


def test_a_new_file_and_a_changed_pin_count(repository: Shell):
    repository.write("new.py", SCRIPT)
    assert codes(repository, "--since", "main") == ["TRL103"], "not even added"
    repository.write("new.py", CONFIG)
    repository.write("requirements.txt", "trl==0.15.2\n")
    commit(repository.folder)
    assert codes(repository, "--since", "HEAD", "new.py") == []
    repository.write("requirements.txt", "trl==1.16.0\n")
    assert codes(repository, "--since", "HEAD", "new.py") == ["TRL301"], "it rests on the pin"


def test_what_another_branch_did_meanwhile_does_not_count(repository: Shell):
    git(repository.folder, "switch", "--quiet", "--create", "work")
    git(repository.folder, "switch", "--quiet", "main")
    repository.write("old.py", FIXED)
    commit(repository.folder)
    git(repository.folder, "switch", "--quiet", "work")
    assert codes(repository, "--since", "main") == []


def test_line_ends_alone_are_no_change_and_the_status_follows_what_is_shown(repository: Shell):
    repository.write("old.py", SCRIPT.replace("\n", "\r\n"))
    done = repository("--since", "HEAD", "--no-cache")
    assert (done.status, "2 findings in what has not changed left out" in done.err) == (0, True)
    assert repository("--no-cache").status == 1


@pytest.mark.skipif(os.name == "nt", reason="the baits are shell scripts")
def test_git_runs_nothing_of_the_repository(repository: Shell, tmp_path_factory: pytest.TempPathFactory):
    bait = tmp_path_factory.mktemp("bait")
    script = bait / "run"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> "{bait}/ran"\ncat\n')
    script.chmod(0o755)
    hooks = repository.folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "fsmonitor-watchman", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(script.read_text())
        (hooks / name).chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "diff.bait.command", "diff.bait.textconv", "filter.bait.clean",
                "filter.bait.smudge", "filter.bait.process", "core.pager", "core.sshCommand", "core.askPass",
                "credential.helper", "core.alternateRefsCommand", "core.editor", "gpg.program"):  # fmt: skip
        git(repository.folder, "config", key, str(script))
    repository.write(".gitattributes", "* diff=bait filter=bait\n")
    repository.write("old.py", SCRIPT.replace("torch.arange(", "torch.arange( "))
    git(repository.folder, "diff", "HEAD")
    (bait / "ran").unlink()  # they do run for whoever is not careful
    assert codes(repository, "--since", "HEAD") == ["TRL103"]
    assert not (bait / "ran").exists()


@pytest.mark.parametrize("ref", ["gone", "--output=x", "", "HEAD:old.py"])
def test_what_is_no_commit_is_refused(repository: Shell, ref: str):
    done = repository(f"--since={ref}", "--no-cache")
    assert done.status == 2 and "--since" in done.err
    assert not (repository.folder / "x").exists()


def test_without_a_repository_it_says_so(sh: Shell):
    sh.write("train.py", SCRIPT)
    done = sh("--since", "main")
    assert done.status == 2 and "not a git repository" in done.err
    assert sh("--since", "main", "--fix").status == 2
