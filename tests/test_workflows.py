"""The workflows: what they may do, what they run, and that a proposal is made once."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli
import yaml

from trl_lint.knowledge import refresh

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
BRANCH = "knowledge/refresh"


def read(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text("utf-8"))


def commands(workflow: dict[str, Any]) -> Iterator[str]:
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            yield from (line.strip() for line in step.get("run", "").splitlines())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_keep_no_credentials(path: Path):
    uses = [line.strip().removeprefix("- ") for line in path.read_text("utf-8").splitlines() if "uses:" in line]
    assert uses and [line for line in uses if not PINNED.fullmatch(line)] == []
    for job in read(path.name)["jobs"].values():
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_only_the_proposing_job_may_write_and_it_runs_nothing_foreign():
    workflow = read("knowledge.yml")
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "refresh": {"contents": "read"},
        "propose": {"contents": "write", "pull-requests": "write"},
    }
    assert not re.search(r"pip|python|make", "".join(step.get("run", "") for step in jobs["propose"]["steps"]))
    assert jobs["propose"]["if"] == "needs.refresh.outputs.changed == 'yes'"


def test_a_release_is_published_by_jobs_that_build_nothing():
    workflow = read("release.yml")
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read"},
        "attest": {"attestations": "write", "id-token": "write"},
        "index": {"id-token": "write"},
        "github": {"contents": "write"},
    }
    assert jobs["attest"]["needs"] == "build" and jobs["attest"]["if"] == "github.ref_type == 'tag'"
    assert (jobs["index"]["needs"], jobs["github"]["needs"]) == ("attest", "index")
    for name in ("attest", "index", "github"):
        text = "".join(step.get("run", "") for step in jobs[name]["steps"])
        assert not re.search(r"pip|python|make|\.ci/", text), name


def test_the_site_is_published_by_a_job_that_builds_nothing():
    workflow = read("site.yml")
    assert workflow["permissions"] == {}
    jobs = workflow["jobs"]
    assert jobs["build"]["permissions"] == {"contents": "read"}
    assert jobs["publish"]["permissions"] == {"id-token": "write", "pages": "write"}
    assert jobs["publish"]["if"] == "github.ref == 'refs/heads/main'"
    assert [list(step) for step in jobs["publish"]["steps"]] == [["uses"]]


def test_a_release_needs_a_tag_and_a_change_log_of_its_version(tmp_path: Path):
    """Nothing is built before both are right: the script ends at the first that is not."""
    for tag, message in (("v9.9.9", "the tag is v9.9.9"), ("v0.1.0", "CHANGELOG.md has no heading `## 0.1.0 (DATE)`")):
        script = [str(ROOT / ".ci" / "package"), str(tmp_path), tag]
        done = subprocess.run(script, capture_output=True, text=True)
        assert done.returncode == 1 and message in done.stderr


def test_lowest_bounds_are_those_of_the_project():
    listed = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    done = subprocess.run([str(ROOT / ".ci" / "lowest-bounds")], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [text.replace(">=", "==") for text in listed]


def test_it_runs_weekly_and_by_hand():
    # YAML 1.1 reads the key `on` as true.
    triggers = read("knowledge.yml")[True]
    assert triggers.keys() == {"schedule", "workflow_dispatch"}
    (entry,) = triggers["schedule"]
    assert len(entry["cron"].split()) == 5 and entry["cron"].split()[2:4] == ["*", "*"]


def test_every_command_exists():
    found = list(commands(read("knowledge.yml")))
    refreshing = [shlex.split(c)[3:] for c in found if c.startswith("python -m trl_lint.knowledge.refresh")]
    assert refreshing == [["all"], ["api", "--verify"]]
    for arguments in refreshing:
        refresh.parser().parse_args(arguments)
    files = [word for c in found for word in c.split() if re.fullmatch(r"[\w./-]+\.(?:py|md)|\.ci/[\w-]+", word)]
    assert {".ci/propose-knowledge", ".ci/describe-knowledge", "tests/documents.py", "docs/rules.md"} <= set(files)
    for name in files:
        assert (ROOT / name).is_file(), name
        assert not name.startswith(".ci/") or os.access(ROOT / name, os.X_OK), name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["api", "--release", "trl==1.16.0"], "--release needs --verify"),
        (["api", "--verify", "--release", "trl"], "is not of the form"),
        (["api", "--verify", "--release", "trl==77.0"], "trl 77.0 is not in the history"),
        (["api", "nothing"], "no such package: nothing"),
        (["both"], "invalid choice: 'both'"),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        refresh.main(arguments)
    assert stopped.value.code == 2 and message in capsys.readouterr().err


# -- the proposal, with a repository of its own and a `gh` that writes down what it is asked ---------------------------


class Forge:
    """A clone with an origin, and a `gh` in whose answer `open_requests` pull requests are open."""

    def __init__(self, folder: Path) -> None:
        self.origin, self.clone, self.log = folder / "origin.git", folder / "clone", folder / "gh.log"
        (folder / "bin").mkdir()
        self.gh = folder / "bin" / "gh"
        self.path = f"{self.gh.parent}{os.pathsep}{os.environ['PATH']}"
        self.patch, self.body = folder / "knowledge.patch", folder / "body.md"
        self.body.write_text("what is new\n")
        self.git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.origin))
        self.git(folder, "clone", "--quiet", str(self.origin), str(self.clone))
        self.git(self.clone, "switch", "--quiet", "--create", "main")
        for name, text in {"rules/releases/trl.txt": "1.0.0\n", "Makefile": "all:\n"}.items():
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            (self.clone / name).write_text(text)
        self.git(self.clone, "add", "--all")
        self.git(self.clone, "commit", "--quiet", "--message", "first")
        self.git(self.clone, "push", "--quiet", "origin", "main")

    def git(self, folder: Path, *arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
        done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def change(self, **files: str) -> None:
        """Make the patch of a change of files of main (`/` written as `__`)."""
        self.git(self.clone, "switch", "--quiet", "main")
        for name, text in files.items():
            (self.clone / name.replace("__", "/").replace("_txt", ".txt")).write_text(text)
        self.patch.write_text(self.git(self.clone, "diff", "--binary") + "\n")
        self.git(self.clone, "checkout", "--quiet", ".")

    def propose(self, open_requests: int) -> list[str]:
        """What `gh` was asked to do, from a fresh checkout of main as the workflow has it."""
        self.git(self.clone, "switch", "--quiet", "main")
        self.gh.write_text(f'#!/bin/sh\necho "$1 $2" >> "{self.log}"\n[ "$2" != list ] || echo {open_requests}\n')
        self.gh.chmod(0o755)
        self.log.write_text("")
        script = [str(ROOT / ".ci" / "propose-knowledge"), str(self.patch), str(self.body)]
        environment = {**os.environ, "PATH": self.path}
        subprocess.run(script, cwd=self.clone, env=environment, check=True, capture_output=True)
        return self.log.read_text().splitlines()

    def proposed(self) -> str:
        return self.git(self.origin, "rev-parse", BRANCH)


@pytest.mark.skipif(os.name == "nt", reason="the workflow runs on Linux")
def test_a_proposal_is_made_once_and_updated_in_place(tmp_path: Path):
    forge = Forge(tmp_path)
    forge.change(rules__releases__trl_txt="1.0.0\n1.1.0\n")
    assert forge.propose(open_requests=0) == ["pr list", "pr create"]
    first = forge.proposed()
    assert forge.git(forge.origin, "show", f"{BRANCH}:rules/releases/trl.txt") == "1.0.0\n1.1.0"

    assert forge.propose(open_requests=1) == ["pr list", "pr edit"]
    assert forge.proposed() == first, "the same patch moves nothing"

    forge.change(rules__releases__trl_txt="1.0.0\n1.1.0\n1.2.0\n")
    assert forge.propose(open_requests=1) == ["pr list", "pr edit"]
    assert forge.git(forge.origin, "show", f"{BRANCH}:rules/releases/trl.txt") == "1.0.0\n1.1.0\n1.2.0"
    assert forge.git(forge.origin, "rev-list", "--count", f"main..{BRANCH}") == "1"


@pytest.mark.skipif(os.name == "nt", reason="the workflow runs on Linux")
def test_a_proposal_changes_knowledge_only(tmp_path: Path):
    forge = Forge(tmp_path)
    forge.change(rules__releases__trl_txt="1.0.0\n1.1.0\n", Makefile="all:\n\techo owned\n")
    forge.propose(open_requests=0)
    assert forge.git(forge.origin, "diff", "--name-only", "main", BRANCH) == "rules/releases/trl.txt"
