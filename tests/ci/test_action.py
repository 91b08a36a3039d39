"""action.yml: its form, what it may use, and its shell steps, run by a runner of a page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from command_line import SCRIPT
from documents import ROOT, tool_folder
from samples import assert_valid

TEXT = (ROOT / "action.yml").read_text("utf-8")
ACTION: dict[str, Any] = yaml.safe_load(TEXT)
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
# `inputs.a == 'true' && 'x' || 'y'` and single names are all that stands in this action.
CHOICE = re.compile(r"(?P<name>[\w.-]+) == '(?P<value>\w+)' && '(?P<yes>[^']*)' \|\| '(?P<no>[^']*)'")
CONDITION = re.compile(r"(?P<name>[\w.-]+) (?P<operator>==|!=) '(?P<value>\w*)'")

CACHE = ["actions/cache/restore", "actions/cache/save"]

# Stands in for the Python that the runner brings: it makes the environment, and notes what pip is asked for.
PYTHON = """#!/usr/bin/env bash
set -e
if [ "$2" = venv ]; then
  mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "{tool}" "$3/bin/trl-lint"
else
  printf '%s\\n' "$@" > "{log}"
fi
"""


class Ran(NamedTuple):
    status: int
    out: str
    outputs: dict[str, str]
    uses: list[str]


class Runner:
    """Runs the steps of a composite action: inputs, outputs, conditions, shell. Other actions are only noted."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.temp = folder / "temp"
        self.pip = folder / "pip.txt"
        self.workspace.mkdir()
        self.temp.mkdir()
        self.event = "pull_request"
        self.more: dict[str, str] = {}
        self.artifact = ""
        self.python = folder / "python"
        tool = tool_folder(folder / "bin") / "trl-lint"
        self.python.write_text(PYTHON.format(tool=tool, log=self.pip))
        self.python.chmod(0o755)

    def __call__(self, **inputs: str) -> Ran:
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        unknown = given.keys() - ACTION["inputs"].keys()
        assert not unknown
        values = {f"inputs.{name}": given.get(name, about["default"]) for name, about in ACTION["inputs"].items()}
        values["steps.python.outputs.python-path"] = str(self.python)
        values["github.event_name"] = self.event
        values.update({"runner.temp": str(self.temp), "runner.os": "Linux", "github.sha": "5ha"})
        out, uses = "", []
        for step in STEPS:
            if not self._applies(step.get("if", ""), values):
                continue
            if "uses" in step:
                if step.get("id") == "pages":
                    values["steps.pages.outputs.artifact-url"] = self.artifact
                uses.append(" ".join([step["uses"], *(self._value(str(v), values) for v in step["with"].values())]))
                continue
            done = self._run(step, values)
            out += done.stdout
            if done.returncode:
                return Ran(done.returncode, out + done.stderr, values, uses)
        return Ran(0, out, values, uses)

    def _run(self, step: dict[str, Any], values: dict[str, str]) -> subprocess.CompletedProcess[str]:
        output = self.temp / "output"
        output.write_text("")
        own = {name: self._value(value, values) for name, value in step.get("env", {}).items()}
        runner = {"RUNNER_TEMP": self.temp, "GITHUB_OUTPUT": output, "GITHUB_ACTION_PATH": ROOT}
        environment = {**os.environ, "GITHUB_WORKSPACE": str(self.workspace), **self.more, **own}
        environment.update({name: str(path) for name, path in runner.items()})
        assert step["shell"] == "bash"
        folder = self.workspace / self._value(step.get("working-directory", "."), values)
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = value
        return done

    def _value(self, text: str, values: dict[str, str]) -> str:
        return re.sub(r"\$\{\{ (.+?) \}\}", lambda match: self._expression(match[1], values), text)

    def _expression(self, text: str, values: dict[str, str]) -> str:
        if match := CHOICE.fullmatch(text):
            return match["yes"] if values.get(match["name"], "") == match["value"] else match["no"]
        assert re.fullmatch(r"[\w.-]+", text), text
        return values.get(text, "")

    def _applies(self, condition: str, values: dict[str, str]) -> bool:
        answers = []
        for part in condition.split(" && ") if condition else []:
            match = CONDITION.fullmatch(part)
            assert match, part
            answers.append((values.get(match["name"], "") == match["value"]) == (match["operator"] == "=="))
        return all(answers)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    made = Runner(tmp_path)
    (made.workspace / "train.py").write_text(SCRIPT)
    return made


def test_it_has_the_published_form():
    assert_valid(ACTION, "github-action.json")
    assert all("description" in about and "default" in about for about in ACTION["inputs"].values())


def test_other_actions_are_pinned():
    uses = [line.strip().removeprefix("- ") for line in TEXT.splitlines() if "uses:" in line]
    assert len(uses) == 5
    assert all(re.fullmatch(r"uses: [\w-]+/[\w-]+(?:/[\w-]+)?@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in uses)


def test_no_text_of_others_is_part_of_a_script():
    """What is pasted into a script is run; what comes in a variable is not."""
    assert [step["id"] for step in STEPS if "${{" in step.get("run", "")] == []
    assert all("shell" in step and "id" in step for step in STEPS if "run" in step)


def test_findings_are_annotations_and_fail_the_job(runner: Runner):
    ran = runner()
    assert ran.status == 1 and ran.outputs["steps.check.outputs.status"] == "1"
    (line,) = ran.out.splitlines()
    assert line.startswith("::error title=TRL103 (tensor-without-device),file=train.py,line=6,col=17,")
    assert [use.split("@")[0] for use in ran.uses] == ["actions/setup-python", *CACHE]
    assert str(ROOT) in runner.pip.read_text().splitlines()


def test_the_next_run_has_the_reports_of_this_one(runner: Runner, monkeypatch: pytest.MonkeyPatch):
    """In a fresh checkout, with what the cache brings; the cache itself is outside of it."""
    monkeypatch.setenv("TRL_LINT_NO_CACHE", "0")
    monkeypatch.setenv("CI", "true")
    subprocess.run(["git", "init", "-q", str(runner.workspace)], check=True)
    subprocess.run(["git", "-C", str(runner.workspace), "add", "train.py"], check=True)
    (runner.temp / "site").mkdir()
    (runner.temp / "site" / "sitecustomize.py").write_text(WITHOUT_ENGINE)
    runner.more = {"PYTHONPATH": str(runner.temp / "site")}
    given = {"sarif": "true", "category": "mine", "args": "--select\nTRL1"}
    first = runner(**given)
    key = "trl-lint-Linux-mine-5ha"
    assert first.uses[1].endswith(f" {runner.temp}/trl-lint-cache {key} trl-lint-Linux-mine-")
    assert first.uses[2].endswith(f" {runner.temp}/trl-lint-cache {key}")
    sarif = (runner.temp / "trl-lint-sarif" / "trl-lint.sarif").read_text()
    brought = runner.temp / "brought"
    shutil.copytree(runner.temp / "trl-lint-cache", brought)
    shutil.rmtree(runner.temp / "trl-lint-cache")
    brought.rename(runner.temp / "trl-lint-cache")
    (runner.workspace / "train.py").write_text(SCRIPT)
    (runner.temp / "trl-lint-sarif" / "trl-lint.sarif").unlink()
    kept = sorted(path.name for path in (runner.temp / "trl-lint-cache").rglob("*.report"))
    runner.more["NO_ENGINE"] = "1"
    second = runner(**given)
    assert (second.status, second.out) == (first.status, first.out)
    assert (runner.temp / "trl-lint-sarif" / "trl-lint.sarif").read_text() == sarif
    assert sorted(path.name for path in (runner.temp / "trl-lint-cache").rglob("*.report")) == kept and len(kept) == 2
    assert not (runner.workspace / ".trl_lint_cache").exists()
    assert len(runner(cache="false").uses) == 1
    (runner.workspace / "train.py").write_text("x = 1\n")
    assert runner(**given).status == 2  # without the engine nothing else can be said


# Imported by Python at its start: it makes every check fail that is not spared.
WITHOUT_ENGINE = """
import importlib.abc, os, sys

class No(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == "trl_lint.engine" and os.environ.get("NO_ENGINE"):
            raise ImportError(name)

sys.meta_path.insert(0, No())
"""


def test_a_clean_project_passes(runner: Runner):
    (runner.workspace / "train.py").write_text("x = 1\n")
    assert runner().status == 0


def test_a_mistake_in_the_arguments_is_status_2(runner: Runner):
    ran = runner(args="--selct\nTRL1")
    assert ran.status == 2 and ran.out == ""


def test_the_report_for_code_scanning_is_uploaded_before_the_job_fails(runner: Runner):
    ran = runner(sarif="true", annotations="false", category="mine")
    path = runner.temp / "trl-lint-sarif" / "trl-lint.sarif"
    assert ran.status == 1 and "train.py:6:17: TRL103" in ran.out
    assert ran.uses[-1].startswith("github/codeql-action/upload-sarif@") and ran.uses[-1].endswith(f" {path} mine")
    log = json.loads(path.read_text())
    assert_valid(log, "sarif-2.1.0.json")
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["TRL103"]


def test_paths_of_a_folder_count_from_the_checkout(runner: Runner):
    (runner.workspace / "sub").mkdir()
    (runner.workspace / "train.py").rename(runner.workspace / "sub" / "train.py")
    ran = runner(working_directory="sub", sarif="true")
    assert "file=sub/train.py," in ran.out
    log = json.loads((runner.temp / "trl-lint-sarif" / "trl-lint.sarif").read_text())
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "sub/train.py"


def test_paths_and_arguments_are_lines(runner: Runner):
    (runner.workspace / "a b").mkdir()
    (runner.workspace / "a b" / "$(touch owned).py").write_text(SCRIPT)
    ran = runner(paths="a b\n\n", args="--select\nTRL103\n--per-file-ignores\nold/*:TRL1")
    assert ran.status == 1 and ran.out.count("::error") == 1 and "file=a b/$(touch owned).py," in ran.out
    assert runner(paths="a b/$(touch owned).py\n`touch owned`").status == 2
    assert not list(runner.workspace.rglob("owned"))


def test_a_pull_request_chooses_neither_repairs_nor_where_reports_go(runner: Runner):
    """Its settings do not write to the checkout, and its links lead no report out of it."""
    victim = runner.temp / "victim"
    victim.write_text("mine")
    (runner.workspace / "trl-lint.sarif").symlink_to(victim)
    (runner.workspace / "trl-lint.toml").write_text("fix = true\nunsafe-fixes = true\n")
    ran = runner(sarif="true", page="true")
    assert ran.status == 1 and "::error title=TRL103" in ran.out
    assert (runner.workspace / "train.py").read_text() == SCRIPT and victim.read_text() == "mine"
    assert sorted(path.name for path in runner.workspace.iterdir()) == ["train.py", "trl-lint.sarif", "trl-lint.toml"]
    assert ran.outputs["steps.check.outputs.sarif-file"] == f"{runner.temp}/trl-lint-sarif/trl-lint.sarif"


def test_repairs_in_a_job_fail_it(runner: Runner):
    ran = runner(args="--fix\n--exit-non-zero-on-fix")
    assert ran.status == 1 and ran.out == ""
    assert "device=sequences.device" in (runner.workspace / "train.py").read_text()
    assert runner(args="--fix\n--exit-non-zero-on-fix").status == 0


def test_nothing_is_imported_from_the_checkout(runner: Runner):
    for name in ("trl_lint", "yaml", "libcst", "ast"):
        (runner.workspace / f"{name}.py").write_text("open('owned', 'w')\n")
    assert runner().status == 1
    assert not (runner.workspace / "owned").exists()


def test_the_review_is_asked_for_only_on_demand(runner: Runner):
    (runner.workspace / "train.py").write_text("x = 1\n")
    assert runner().status == 0 and not runner.pip.read_text().splitlines()[-1].endswith("[review]")
    runner.event = "push"
    runner(review="true")
    assert runner.pip.read_text().splitlines()[-1] == f"{ROOT}[review]"


@pytest.mark.slow
def test_the_review_says_what_the_check_found(runner: Runner):
    pytest.importorskip("github", reason="PyGithub is in the extra `test`")
    pytest.importorskip("jsonschema", reason="jsonschema is in the extra `test`")
    from github_server import NUMBER, REPOSITORY, TOKEN, GitHub

    hub = GitHub()
    hub.push({"sub/train.py": SCRIPT.encode(), "sub/old.py": SCRIPT.encode()})
    (runner.workspace / "sub").mkdir()
    for name in ("train.py", "old.py"):
        (runner.workspace / "sub" / name).write_text(SCRIPT)
    event = runner.temp / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": NUMBER, "head": {"sha": hub.head}}}))
    runner.more = {"GITHUB_EVENT_PATH": str(event), "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_API_URL": hub.url}
    given = {"review": "true", "token": TOKEN, "working_directory": "sub", "paths": "train.py", "category": "mine"}
    ran = runner(**given)
    assert ran.status == 1 and TOKEN not in ran.out and ran.out.count("::error") == 1
    (thread,) = hub.open
    assert (thread["path"], thread["line"]) == ("sub/train.py", 6)
    assert 'review "mine sub" finding' in thread["comments"][0]["body"] and not hub.comments

    # Pages that were kept are linked.
    runner.artifact = "https://github.com/octo/train/actions/runs/1/artifacts/2"
    assert runner(**given, page="true").status == 1
    assert f"]({runner.artifact})" in hub.comments.pop()["body"]
    assert runner(**given).status == 1 and not hub.comments

    # What the pull request does not touch fails nothing, unless that is asked for.
    hub.base = dict(hub.files)
    hub.threads.clear()
    ran = runner(**given)
    assert ran.status == 0 and ran.outputs["steps.result.outputs.status"] == "0" and not hub.open
    assert runner(**given, review_all="true").status == 1 and len(hub.comments) == 1
    hub.base, hub.comments = {}, []

    hub.may_write = False  # a fork: what was found is said once
    hub.threads.clear()
    assert runner(**given).out.count("::error") == 1
    assert runner(**given, annotations="false").out.count("::error") == 1
    hub.token = "another"
    assert runner(**given).status == 2
    seen = len(hub.seen)
    runner.event = "push"
    assert runner(**given).status == 1 and len(hub.seen) == seen
    hub.close()
    assert hub.violations == []
