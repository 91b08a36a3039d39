"""`trl-lint diagnose`: what it prints, its exit status, and what it never does."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from trl_lint import tracked
from trl_lint.cli import main

LOG = """\
Traceback (most recent call last):
  File "/srv/rl/train.py", line 3, in <module>
    args = GRPOConfig(output_dir="out", vllm_device="cuda:1")
TypeError: GRPOConfig.__init__() got an unexpected keyword argument 'vllm_device'
"""
SCRIPT = 'from trl import GRPOConfig\n\nargs = GRPOConfig(output_dir="out", vllm_device="cuda:1")\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tracked.forget()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.log").write_text(LOG)
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(SCRIPT)
    (project / "requirements.txt").write_text("trl==1.16.0\n")
    return tmp_path


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    capsys.readouterr()
    main(["diagnose", *arguments, "--output-format", "json"])
    return json.loads(capsys.readouterr().out)


def test_json_has_the_promised_form(folder: Path, capsys: pytest.CaptureFixture[str]):
    report = run_json(capsys, "run.log", "--project", "project")
    assert list(report) == ["version", "failure", "causes", "not_the_cause", "consequence", "runs", "dated", "notice"]
    assert report["version"] == 1
    assert report["failure"] == {
        "exception": "TypeError",
        "message": "GRPOConfig.__init__() got an unexpected keyword argument 'vllm_device'",
        "rank": None,
        "frames": [{"path": "/srv/rl/train.py", "line": 3, "function": "<module>"}],
    }
    cause = report["causes"][0]
    told = ["title", "confidence", "advice", "prevention", "settle"]
    assert list(cause) == ["code", "name", "likelihood", "why", "evidence", *told]
    assert all(cause[name] for name in told[:4])
    assert (cause["code"], cause["likelihood"]) == ("TRL301", "likely")
    places = [(one["path"], one["line"]) for one in cause["evidence"]]
    assert places == [("run.log", 4), ("project/train.py", 3), ("project/requirements.txt", 1)]


def test_without_a_project(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["diagnose", "run.log"]) == 0
    printed = capsys.readouterr()
    assert "trl 0.14.0 to 0.17.0" in printed.out
    assert "--project" in printed.err


def test_exit_status(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "bare.log").write_text("ValueError: x\n")
    assert main(["diagnose", "run.log"]) == 0
    assert main(["diagnose", "bare.log"]) == 1
    assert main(["diagnose", "none.log"]) == 2
    assert main(["diagnose", "project"]) == 2
    assert main(["diagnose", "run.log", "--project", "nowhere"]) == 2
    assert main(["diagnose", "run.log", "--target", "trl=1"]) == 2
    assert "internal error" not in capsys.readouterr().err


def test_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG.encode())))
    report = run_json(capsys, "-")
    assert report["causes"][0]["evidence"][0]["path"] == "-"


def test_nothing_of_the_log_reaches_the_terminal_raw(folder: Path, capsys: pytest.CaptureFixture[str]):
    evil = LOG.replace("'vllm_device'", "'vllm_device' \x1b]0;pwned\x07\x9b31m \u202egnp.exe \x08\x08")
    (folder / "evil.log").write_text(evil.replace("/srv/rl", "/srv/\x1b[2J\u200brl"), "utf-8")
    main(["diagnose", "evil.log", "--color", "never"])
    text = capsys.readouterr().out
    assert all(char == "\n" or char.isprintable() for char in text)


def test_the_release_that_ran_counts(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "project" / "requirements.txt").write_text("trl==0.17.0\n")
    report = run_json(capsys, "run.log", "--project", "project")
    assert report["causes"][0]["code"] == "TRL301"  # the message proves that it was not 0.17.0
    (folder / "run.log").write_text("Successfully installed trl-0.21.0 version\n" + LOG)
    report = run_json(capsys, "run.log", "--project", "project")
    assert "0.21.0" in report["causes"][0]["why"]


def test_a_finding_about_something_else_proves_nothing(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "project" / "train.py").write_text(SCRIPT.replace("vllm_device", "vllm_dtype"))
    report = run_json(capsys, "run.log", "--project", "project")
    assert all("vllm_dtype" not in cause["why"] for cause in report["causes"])


def test_project_with_broken_settings(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "project" / "trl-lint.toml").write_text("select = 3\n")
    assert main(["diagnose", "run.log", "--project", "project"]) == 2
    assert "trl-lint.toml" in capsys.readouterr().err


def test_one_page_shows_the_log_and_the_ranks(folder: Path, capsys: pytest.CaptureFixture[str]):
    ranks = "".join(f"[rank{rank}]: {line}\n" for rank in (1, 0) for line in LOG.splitlines())
    (folder / "ranks.log").write_text("before <b>\x1b[31m it\n" * 3 + ranks.replace("vllm_device", "<script>x", 2))
    capsys.readouterr()
    assert main(["diagnose", "ranks.log", "--output-format", "html"]) in (0, 1)
    text = capsys.readouterr().out
    assert text.startswith("<!doctype html>") and "<script" not in text and "://" not in text
    assert "before &lt;b&gt; it" in text and "Ranks side by side" in text and ">rank 1<" in text
    assert text.count('class="hit"') >= 1 and "\x1b" not in text


def test_a_page_of_a_pipe_has_no_excerpt(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG.encode())))
    main(["diagnose", "-", "--output-format", "html"])
    text = capsys.readouterr().out
    assert "What to do now" in text and "The log around it" not in text


def test_an_unknown_end_is_said_in_plain_words(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "none.log").write_text("step 1\n")
    (folder / "end.log").write_text("RuntimeError: Engine core initialization failed. See root cause above.\n")
    (folder / "launcher.log").write_text(
        'Traceback (most recent call last):\n  File "/opt/bin/torchrun", line 8, in <module>\nKeyError: 1\n'
    )
    for name, words in (
        ("none.log", "no failure in this log of 1 line"),
        ("end.log", "Give the log from its beginning"),
        ("launcher.log", "The cause is unknown.\n"),
    ):
        assert main(["diagnose", name]) == 1
        text = capsys.readouterr().out
        assert words in text and "nothing that is known explains" not in text


def test_the_folder_whose_code_the_log_quotes_is_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(folder / "project")
    with_project = run_json(capsys, "../run.log", "--project", ".")
    assert run_json(capsys, "../run.log") == with_project
    assert main(["diagnose", "../run.log"]) == 0
    assert "The log quotes code of this folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("train.py", SCRIPT.replace("cuda:1", "cuda:2")),  # changed since, or of somebody else
        ("train.py", f"\n{SCRIPT}"),  # another line
        ("other.py", SCRIPT),
        ("train.py", ""),
        ("deep/a/b/c/d/e/train.py", SCRIPT),
    ],
)
def test_a_folder_that_only_looks_alike_is_not_looked_at(
    name: str, script: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (folder / "here" / name).parent.mkdir(parents=True)
    (folder / "here" / name).write_text(script)
    monkeypatch.chdir(folder / "here")
    assert main(["diagnose", "../run.log"]) == 0
    assert "Give `--project PATH`" in capsys.readouterr().err


def test_only_what_a_cause_says_itself_keeps_it_from_coming_back(folder: Path, capsys: pytest.CaptureFixture[str]):
    error = "OSError: [Errno 28] No space left on device"
    (folder / "full.log").write_text(f"Traceback (most recent call last):\n{error}\n")
    assert "checkpoints so often" not in str(run_json(capsys, "full.log"))


def test_a_line_that_no_file_has_is_looked_for_nowhere(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder / "project")
    (folder / "odd.log").write_text(LOG.replace("line 3", f"line {10**30}"))
    assert main(["diagnose", "../odd.log"]) in (0, 1)
