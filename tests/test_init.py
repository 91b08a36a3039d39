"""`trl-lint init`: what it adds, what it leaves, and what it does not touch."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
import tomli
import yaml
from command_line import Shell
from documents import ROOT, blocks

from trl_lint.commands.init import GITLAB_JOB, HOOK, WORKFLOW

HOOKS = "repos:\n  - repo: https://example.org/x\n    rev: v1\n    hooks:\n      - id: a\n\nci:\n  skip: [a]  # slow\n"


@pytest.fixture
def repository(sh: Shell) -> Shell:
    (sh.folder / ".git").mkdir()
    sh.write(".git/config", '[remote "origin"]\n\turl = https://github.com/o/n\n')
    return sh


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_it_adds_what_is_missing_once(repository: Shell):
    repository.write("pyproject.toml", '[project]\nname = "x"\n')
    repository.write(".pre-commit-config.yaml", HOOKS)
    repository.write("third_party/x.py", "")
    before = files(repository.folder)
    dry = repository("init", "--dry-run")
    assert (dry.status, files(repository.folder)) == (0, before)
    assert "+++ pyproject.toml" in dry.out and "+[tool.trl-lint]" in dry.out
    assert repository("init").status == 0
    after = files(repository.folder)
    table = tomli.loads(after["pyproject.toml"].decode())
    assert table["project"] == {"name": "x"} and table["tool"]["trl-lint"]["extend-exclude"] == ["third_party"]
    hooks = yaml.safe_load(after[".pre-commit-config.yaml"])
    assert [repo["hooks"][0]["id"] for repo in hooks["repos"]] == ["trl-lint", "a"] and b"# slow" in after[
        ".pre-commit-config.yaml"
    ]
    assert after[".github/workflows/trl-lint.yml"].decode() == WORKFLOW
    again = repository("init")
    assert files(repository.folder) == after and again.out.count("already") == 3
    assert repository("--show-settings").status == 0, "the settings can be read"


def test_it_begins_from_nothing_and_from_a_folder_below(repository: Shell, monkeypatch: pytest.MonkeyPatch):
    repository.write("deep/er/x.py", "")
    monkeypatch.chdir(repository.folder / "deep" / "er")
    assert repository("init").status == 0
    assert set(files(repository.folder)) == {
        ".github/workflows/trl-lint.yml", ".pre-commit-config.yaml", "deep/er/x.py", "train.py", "trl-lint.toml",
    }  # fmt: skip
    assert yaml.safe_load(files(repository.folder)[".pre-commit-config.yaml"]) == {"repos": yaml.safe_load(HOOK)}


# Lists of the list above them: few events, and values without end.
BOMB = "".join(f"{after}: &{after} [{', '.join([f'*{name}'] * 9)}]\n" for name, after in pairwise("abcdefghijklm"))


@pytest.mark.parametrize("text", ["x: !reference [a, script]\n", f"a: &a [x]\n{BOMB}"])
def test_gitlab_gets_its_job_beside_what_only_gitlab_reads(repository: Shell, text: str):
    repository.write(".gitlab-ci.yml", text)
    repository("init")
    added = files(repository.folder)[".gitlab-ci.yml"].decode()
    assert added.startswith(text) and added.endswith(GITLAB_JOB)


def test_a_hook_is_added_beside_values_without_end(repository: Shell):
    text = f"a: &a [x]\n{BOMB}repos:\n  - repo: local\n    hooks: *m\n"
    repository.write(".pre-commit-config.yaml", text)
    repository("init")
    assert HOOK.splitlines()[0] in files(repository.folder)[".pre-commit-config.yaml"].decode()


def test_gitlab_gets_its_job_in_a_stage_that_there_is(repository: Shell):
    repository.write(".git/config", "url = https://gitlab.example.org/o/n\n")
    repository.write(".gitlab-ci.yml", "stages: [lint, build]\nbuild:\n  script: [make]\n")
    repository("init")
    found = yaml.safe_load(files(repository.folder)[".gitlab-ci.yml"])
    assert found["build"] == {"script": ["make"]} and found["trl-lint"]["stage"] == "lint"
    assert ".github/workflows/trl-lint.yml" not in files(repository.folder)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (".pre-commit-config.yaml", "repos: []\n", "add this to its `repos`"),
        (".pre-commit-config.yaml", "repos: [\n", "add this to its `repos`"),
        (".gitlab-ci.yml", "x: {a: 1}\n...\n", "add this job"),
        (".gitlab-ci.yml", f"a: &a [x]\n{BOMB}x: [\n", "add this job"),
        (".gitlab-ci.yml", "stages: 7\n", "add this job"),
        ("pyproject.toml", "[tool.trl-lint]\nfixx = 1\n", "has settings already"),
        ("trl-lint.toml", "", "has settings already"),
    ],
)
def test_what_it_cannot_add_to_stays_as_it_is(repository: Shell, name: str, text: str, said: str):
    path = repository.write(name, text)
    done = repository("init")
    assert (done.status, path.read_text("utf-8")) == (0, text) and said in done.out


@pytest.mark.parametrize("text", ["tool = {}\n", "[project\n", "\ufeff[project]\n", "[tool]\ntrl-lint = 1\n"])
def test_a_pyproject_that_takes_no_table_is_left_alone(repository: Shell, text: str):
    path = repository.write("pyproject.toml", text)
    assert repository("init").status == 0 and path.read_text("utf-8") == text


def test_line_ends_stay(repository: Shell):
    path = repository.write(".pre-commit-config.yaml", HOOKS.replace("\n", "\r\n"))
    repository("init")
    assert path.read_bytes().count(b"\r\n") == path.read_bytes().count(b"\n") == HOOKS.count("\n") + HOOK.count("\n")


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_nothing_is_written_through_a_link(repository: Shell, tmp_path_factory: pytest.TempPathFactory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "hooks.yaml").write_text(HOOKS)
    (repository.folder / ".github").symlink_to(outside)
    (repository.folder / ".pre-commit-config.yaml").symlink_to(outside / "hooks.yaml")
    (repository.folder / "trl-lint.toml").symlink_to(outside / "gone.toml")
    assert repository("init").status == 2
    assert [path.name for path in outside.rglob("*")] == ["hooks.yaml"] or not (
        outside / "workflows" / "trl-lint.yml"
    ).exists()
    assert (outside / "hooks.yaml").read_text() == HOOKS and not (outside / "gone.toml").exists()


def test_what_it_writes_is_what_the_page_shows():
    shown = {block.title: block.content for block in blocks((ROOT / "docs" / "ci.md").read_text("utf-8"))}
    assert shown[".github/workflows/trl-lint.yml"] == WORKFLOW and shown[".gitlab-ci.yml"] == GITLAB_JOB
    assert yaml.safe_load(shown[".pre-commit-config.yaml"])["repos"] == yaml.safe_load(HOOK)
