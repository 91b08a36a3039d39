"""docs/ci.md and docs/editors.md: what people copy from them is what the tools take."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli
import yaml
from command_line import SCRIPT, Shell
from documents import ROOT, Block, blocks
from samples import assert_valid

from trl_lint.commands.parsers import check_parser, review_parser
from trl_lint.reports import FOR_PEOPLE, FORMATS

CI = (ROOT / "docs" / "ci.md").read_text("utf-8")
EDITORS = (ROOT / "docs" / "editors.md").read_text("utf-8")
VERSION = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


def block(page: str, title: str) -> Block:
    (found,) = (block for block in blocks(page) if block.title == title)
    return found


def steps(content: str) -> list[dict[str, Any]]:
    """The steps of a whole workflow, of the middle of a job, or of a list."""
    document = yaml.safe_load(content)
    if isinstance(document, dict):
        jobs = document["jobs"].values() if "jobs" in document else [document]
        return [step for job in jobs for step in job["steps"]]
    assert isinstance(document, list)
    return document


def test_steps_of_github_give_inputs_that_the_action_has():
    own = []
    for found in (found for found in blocks(CI) if found.section == "GitHub" and found.language == "yaml"):
        for step in steps(found.content):
            if step["uses"].startswith("trl-lint/trl-lint@"):
                own.append(step)
            else:
                assert re.search(rf"uses: {re.escape(step['uses'])} # v\d", found.content)
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
    assert len(own) == 3
    for step in own:
        assert step["uses"] == f"trl-lint/trl-lint@v{VERSION}"
        assert step.get("with", {}).keys() <= ACTION["inputs"].keys()
        check_parser().parse_args(step.get("with", {}).get("args", "").splitlines())


def test_the_component_of_gitlab_is_that_job_with_inputs():
    spec, jobs = yaml.safe_load_all(block(CI, "templates/trl-lint.yml").content)
    (command,) = jobs["trl-lint"]["script"]
    used = set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", block(CI, "templates/trl-lint.yml").content))
    assert used == set(spec["spec"]["inputs"]) and spec["spec"]["inputs"]["version"]["default"] == VERSION
    check_parser().parse_args(shlex.split(command.replace("$[[ inputs.paths ]]", "."))[1:])
    plain = yaml.safe_load(block(CI, ".gitlab-ci.yml").content)["trl-lint"]
    assert command.replace(" $[[ inputs.paths ]]", "") == plain["script"][0]


def test_the_job_of_gitlab_writes_what_it_hands_on(sh: Shell):
    job = yaml.safe_load(block(CI, ".gitlab-ci.yml").content)["trl-lint"]
    assert any(f"@v{VERSION}" in line for line in job["before_script"])
    (command,) = job["script"]
    assert sh(*shlex.split(command)[1:]).status == 1
    issues = json.loads(sh.read(job["artifacts"]["reports"]["codequality"]))
    assert [issue["check_name"] for issue in issues] == ["TRL103"] and job["artifacts"]["when"] == "always"


def test_the_settings_of_pre_commit_are_valid(tmp_path: Path):
    pytest.importorskip("pre_commit", reason="pre-commit is in the extra `test`")
    found = block(CI, ".pre-commit-config.yaml")
    path = tmp_path / found.title
    path.write_text(found.content)
    command = [sys.executable, "-m", "pre_commit", "validate-config", str(path)]
    assert subprocess.run(command, capture_output=True).returncode == 0
    (repository,) = yaml.safe_load(found.content)["repos"]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert repository["rev"] == f"v{VERSION}"
    assert {hook["id"] for hook in repository["hooks"]} == {hook["id"] for hook in hooks}


def test_every_format_for_programs_is_on_the_page():
    rows = re.findall(r"^\| `(\w+)` \|", CI, re.MULTILINE)
    assert sorted(rows) == sorted(set(FORMATS) - set(FOR_PEOPLE))


def test_what_reviewdog_is_given_is_rdjson(sh: Shell):
    (line,) = [b.content for b in blocks(CI) if b.section == "reviewdog"]
    command, _, reader = line.partition(" | ")
    document = json.loads(sh(*shlex.split(command)[1:]).out)
    assert_valid(document, "rdjson.json")
    assert document["diagnostics"] and "-f=rdjson" in reader


def test_the_editor_settings_can_be_read():
    settings = json.loads(block(EDITORS, ".vscode/settings.json").content)
    assert settings["flake8.severity"] == {"TRL": "Warning"}
    plugins = json.loads(block(EDITORS, "pylsp-settings.json").content)["pylsp"]["plugins"]
    assert plugins["flake8"] == {"enabled": True, "extendSelect": ["TRL"]}
    own = configparser.ConfigParser()
    own.read_string(block(EDITORS, ".flake8").content)
    assert own["flake8"]["extend-select"] == "TRL"


def test_the_pattern_for_pycharm_fits_the_lines(sh: Shell):
    row = re.search(r"\| Arguments \| `(.+?)` \|", EDITORS)
    pattern = re.search(r"\| Output filters \| `(.+?)` \|", EDITORS)
    assert row and pattern
    path = sh.write("sub/train.py", SCRIPT)
    arguments = row[1].replace("$FilePath$", str(path)).split()
    expression = pattern[1].replace("$FILE_PATH$", "(.+?)").replace("$LINE$", r"(\d+)").replace("$COLUMN$", r"(\d+)")
    match = re.fullmatch(expression, sh(*arguments).out.splitlines()[0])
    assert match and match.groups() == ("sub/train.py", "6", "17")


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(("extended", "codes"), [(False, []), (True, ["TRL103"])])
def test_a_selection_of_flake8_hides_us_until_it_is_extended(tmp_path: Path, extended: bool, codes: list[str]):
    (tmp_path / "train.py").write_text(SCRIPT)
    more = block(EDITORS, ".flake8").content if extended else "[flake8]\n"
    (tmp_path / ".flake8").write_text(more + "select = E9\n")
    command = [sys.executable, "-m", "flake8", "--format=%(code)s", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == codes


# -- reviews ----------------------------------------------------------------------------------------------------------


def workflow(title: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A whole workflow of the page and the steps of its job; actions of others are pinned."""
    content = block(CI, title).content
    found = yaml.safe_load(content)
    (job,) = found["jobs"].values()
    for step in job["steps"]:
        if "uses" in step and not step["uses"].startswith("trl-lint/"):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
            assert re.search(rf"uses: {re.escape(step['uses'])} # v\d+\.\d+\.\d+\n", content)
    return found, job["steps"]


def review_server() -> Any:
    pytest.importorskip("github", reason="PyGithub is in the extra `test`")
    pytest.importorskip("jsonschema", reason="jsonschema is in the extra `test`")
    from github_server import GitHub

    hub = GitHub()
    hub.push({"train.py": SCRIPT.encode()})
    return hub


def test_the_workflow_with_a_review_gives_what_the_action_takes():
    found, steps = workflow(".github/workflows/trl-lint-review-own.yml")
    (job,) = found["jobs"].values()
    assert (found["permissions"], job["permissions"]) == ({}, {"contents": "read", "pull-requests": "write"})
    checkout, own = steps
    assert checkout["with"]["ref"] == "${{ github.event.pull_request.head.sha }}"
    assert own["uses"] == f"trl-lint/trl-lint@v{VERSION}" and own["with"].keys() <= ACTION["inputs"].keys()


def test_the_two_workflows_for_forks(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    """Their commands run one after the other, as the events would start them; only the copying in between is ours."""
    hub = review_server()
    from github_server import REPOSITORY, TOKEN

    first, steps = workflow(".github/workflows/trl-lint-check.yml")
    assert first["permissions"] == {"contents": "read"}
    install, check = (step["run"] for step in steps if "run" in step)
    upload = steps[-1]["with"]
    (sh.folder / "temp").mkdir()
    assert sh(*shlex.split(check.replace("$RUNNER_TEMP", "temp"))[1:]).status == 1
    report = sh.read(upload["path"].replace("${{ runner.temp }}", "temp"))

    second, steps = workflow(".github/workflows/trl-lint-review.yml")
    assert second[True]["workflow_run"]["workflows"] == [first["name"]]  # `on`, as YAML 1.1 reads it
    (job,) = second["jobs"].values()
    assert job["permissions"] == {"actions": "read", "contents": "read", "pull-requests": "write"}
    assert not any("checkout" in step.get("uses", "") for step in steps)
    (download,) = (step["with"] for step in steps if "download-artifact" in step.get("uses", ""))
    assert download["name"] == upload["name"]
    again, post = (step["run"] for step in steps if "run" in step)
    assert all(f"@v{VERSION}'" in line for line in (install, again)) and "[review]" in again

    (sh.folder / "train.py").unlink()
    sh.write(f"{download['path']}/{upload['path'].rpartition('/')[2]}", report)
    owner = {"login": hub.origin.partition("/")[0]}
    source = {"full_name": hub.origin, "owner": owner}
    event = {"event": "pull_request", "head_sha": hub.head, "head_branch": hub.branch, "head_repository": source}
    path = sh.write("event.json", json.dumps({"workflow_run": event}))
    given = {"TOKEN": TOKEN, "REPOSITORY": REPOSITORY, "API_URL": hub.url, "EVENT_PATH": str(path)}
    for name, value in {**given, "WORKSPACE": str(sh.folder)}.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    assert sh(*shlex.split(post)[1:]).status == 0
    assert [(thread["path"], thread["line"]) for thread in hub.open] == [("train.py", 6)]
    hub.close()
    assert hub.violations == []


def test_the_review_by_hand(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    hub = review_server()
    from github_server import NUMBER, REPOSITORY, TOKEN

    (content,) = [found.content for found in blocks(CI) if found.section == "A review" and found.language == "sh"]
    install, export, command = content.splitlines()
    assert f"trl-lint[review] @ git+https://github.com/trl-lint/trl-lint@v{VERSION}" in install
    assert export.startswith("export GITHUB_TOKEN=")
    for name in ("EVENT_PATH", "REPOSITORY", "WORKSPACE"):
        monkeypatch.delenv(f"GITHUB_{name}", raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("GITHUB_API_URL", hub.url)
    done = sh(*shlex.split(command)[1:])
    (request,) = json.loads(done.out)
    assert done.status == 1 and request["url"] == f"{hub.url}/repos/{REPOSITORY}/pulls/{NUMBER}/reviews"
    assert not hub.threads
    hub.close()


def test_options_of_the_review_on_the_page_exist():
    named = set(re.findall(r"`(--[\w-]+)", CI[CI.index("### A review") : CI.index("### Without the action")]))
    assert named - {"--output-format"} and named - {"--output-format"} <= set(review_parser()._option_string_actions)
