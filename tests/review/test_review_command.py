"""The command line of `trl-lint review`, with and without PyGithub."""

from __future__ import annotations

import builtins
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell
from documents import ROOT

from trl_lint.cli import main


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("GITHUB_EVENT_PATH", "GITHUB_REPOSITORY", "GITHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", "ghs_secret")
    return "ghs_secret"


def test_without_the_extra_one_line_says_what_to_install(sh: Shell, token: str, monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "github":
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    done = sh("review", "--repository", "a/b", "--pull-request", "1")
    assert done.status == 2 and done.out == ""
    assert done.err == "trl-lint: `trl-lint review` needs PyGithub: pip install 'trl-lint[review]'\n"


def test_help_imports_no_library(tmp_path: Path):
    script = (
        "import sys\nfrom trl_lint.cli import main\nassert main(['review', '--help']) == 0\n"
        "import trl_lint.commands.review, trl_lint.review.plan, trl_lint.review.posting, trl_lint.review.event\n"
        "assert not {'github', 'requests', 'urllib3', 'libcst', 'yaml'} & sys.modules.keys()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--report", "r.json", "train.py"], "`--report` and paths to check exclude each other"),
        (["--report", "r.json", "--select", "TRL1"], "`--report` and `--select` exclude each other"),
        (["--report", "none.json"], "none.json: cannot be read: no such file or directory"),
        (["--name", "a-->b"], "--name: "),
        (["--prefix", "../x"], "--prefix: "),
        (["--select", "nonsense"], "--select: "),
        (["missing.py"], "missing.py"),
        (["--api-url", "nonsense"], "is no address of an API"),
        (["--pull-request", "x"], "invalid int value"),
        (["--fallback", "mail"], "invalid choice"),
        (["--reprot", "x"], "did you mean `--report`?"),
    ],
)
def test_a_mistake_is_one_message(sh: Shell, token: str, arguments: list[str], said: str):
    if "api-url" not in arguments[0] and arguments[0] not in ("--name", "--prefix", "--pull-request", "--fallback"):
        pytest.importorskip("github", reason="PyGithub is in the extra `test`")
    done = sh("review", *arguments)
    assert done.status == 2 and said in done.err and done.out == ""


@pytest.mark.parametrize(
    ("arguments", "event", "said"),
    [
        (["--pull-request", "1"], None, "no repository is named"),
        (["--repository", "a/b/c", "--pull-request", "1"], None, "no repository is named"),
        (["--repository", "a/b"], None, "no pull request is named"),
        (["--repository", "a/b"], "{}", "no pull request is named"),
        (["--repository", "a/b"], "[]", "not an event"),
        (["--repository", "a/b"], "{", "the event cannot be read"),
        (["--repository", "a/b"], "[" * 100_000, "the event cannot be read"),
        (["--repository", "a/b"], '{"pull_request": {"number": 1}}', "the event names no commit"),
        (["--repository", "a/b"], '{"pull_request": {"head": {"sha": "%s"}}}' % ("a" * 40), "no pull request is named"),
        (
            ["--repository", "a/b"],
            '{"workflow_run": {"event": "push", "head_sha": "%s"}}' % ("a" * 40),
            "did not run on",
        ),
    ],
)
def test_which_pull_request_has_to_be_said(
    sh: Shell, token: str, arguments: list[str], event: str | None, said: str, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("github", reason="PyGithub is in the extra `test`")
    if event is not None:
        monkeypatch.setenv("GITHUB_EVENT_PATH", str(sh.write("event.json", event)))
    done = sh("review", *arguments)
    assert done.status == 2 and said in done.err and len(done.err.splitlines()) == 1


def test_an_old_library_is_said(sh: Shell, token: str, monkeypatch: pytest.MonkeyPatch):
    retry = pytest.importorskip("github.GithubRetry", reason="PyGithub is in the extra `test`")

    class Older:
        def __init__(self, secondary_rate_wait: float) -> None: ...

    monkeypatch.setattr(retry, "GithubRetry", Older)
    done = sh("review", "--repository", "a/b", "--pull-request", "1")
    assert done.status == 2 and "needs a newer PyGithub" in done.err and len(done.err.splitlines()) == 1


NETWORK = re.compile(
    r"^\s*(?:import|from) +(?:socket|ssl|http|urllib\.request|requests|urllib3|github)\b", re.MULTILINE
)


def test_one_module_alone_opens_connections():
    """Apart from what those run who work on the tool itself."""
    folder = ROOT / "trl_lint"
    texts = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.py")}
    found = {name for name, text in texts.items() if NETWORK.search(text)}
    assert {name for name in found if not name.startswith("knowledge/refresh")} == {"review/github.py"}


def test_a_check_never_reads_the_token(sh: Shell, token: str, capsys: pytest.CaptureFixture[str]):
    for command in (["check", "."], ["check", ".", "--output-format", "json"], ["runs"]):
        main(command)
    captured = capsys.readouterr()
    assert token not in captured.out + captured.err
