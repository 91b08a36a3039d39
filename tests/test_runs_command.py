"""`trl-lint runs`: text, JSON and the page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from trl_lint.cli import main
from trl_lint.reports.runs_html import gpu_roles

SCRIPT = """\
from trl import GRPOConfig, GRPOTrainer

args = GRPOConfig(output_dir="out", num_generations=4, beta=0.0)
GRPOTrainer(model="Qwen/Qwen3-0.6B", args=args, reward_funcs=len).train()
"""
COMMANDS = """\
CUDA_VISIBLE_DEVICES=4,5 vllm serve Qwen/Qwen3-0.6B -tp 2 &
CUDA_VISIBLE_DEVICES=0,1,2,3 accelerate launch --num_processes 3 train.py
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "run.sh").write_text(COMMANDS)
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    (tmp_path / "README.md").write_text("```sh\naccelerate launch --num_processes 2 train.py\n```\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_json(capsys: pytest.CaptureFixture[str], *args: str) -> list[dict]:
    assert main(["runs", "--output-format", "json", *args]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["version"] == 1
    return report["runs"]


def test_json(project: Path, capsys: pytest.CaptureFixture[str]):
    server, run = run_json(capsys)
    assert (server["name"], server["framework"]) == ("vllm serve", "vllm")
    assert (run["name"], run["path"], run["line"], run["config"]) == ("train.py", "run.sh", 2, "trl.GRPOConfig")
    assert run["processes"] == {"value": 3, "path": "run.sh", "line": 2}
    assert run["gpus"] == {"visible": ["0", "1", "2", "3"], "used": ["0", "1", "2"]}
    assert run["servers"] == [
        {"name": "vllm serve", "path": "run.sh", "line": 1, "gpus": ["4", "5"], "ranks": 2, "port": 8000}
    ]
    assert run["links"] == [{"kind": "script", "text": "train.py", "status": "exact", "paths": ["train.py"]}]
    assert run["versions"]["trl"]["resolved"] == "1.16.0"
    # What repeats the default is not worth a line: beta is 0.0 in this release.
    assert [value["name"] for value in run["values"]] == ["num_generations", "output_dir"]
    assert run["values"][0] == {"name": "num_generations", "value": "4", "default": "8", "path": "train.py", "line": 3}


def test_documentation_is_shown_when_asked_for(project: Path, capsys: pytest.CaptureFixture[str]):
    assert [run["path"] for run in run_json(capsys, "--documentation")] == ["README.md", "run.sh", "run.sh"]


def test_only_the_runs_that_use_a_file(project: Path, capsys: pytest.CaptureFixture[str]):
    assert [run["line"] for run in run_json(capsys, "train.py")] == [2]
    (project / "empty").mkdir()
    assert run_json(capsys, "empty") == []


def test_text(project: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["runs"]) == 0
    text = capsys.readouterr().out
    assert "run.sh:2: train.py by accelerate with 3 processes\n" in text
    assert re.search(r"^    num_generations = 4 \(default 8\)  train.py:3$", text, re.MULTILINE)
    assert re.search(r"^  GPUs +0-2$", text, re.MULTILINE)


def test_nothing_to_show_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    assert main(["runs"]) == 0
    assert "no command that starts training or serving was found" in capsys.readouterr().err


def test_mistakes(project: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["runs", "no/such"]) == 2
    assert "no file or folder `no/such`" in capsys.readouterr().err
    assert main(["runs", "--html", "no/such/page.html"]) == 2
    assert "--html: no/such/page.html" in capsys.readouterr().err


class _Page(HTMLParser):
    """Every tag of the page is closed, and it asks for nothing from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.boxes = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "rect"):
            self.open.append(tag)
        self.boxes += tag == "rect"
        self.outside += [str(value) for name, value in attrs if name in ("src", "href") or "//" in str(value)]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)


def test_page(project: Path):
    (project / "run.sh").write_text(COMMANDS.replace("train.py", "train.py '--run_name=<b>&x'"))
    assert main(["runs", "--html", "page.html"]) == 0
    text = (project / "page.html").read_text()
    parser = _Page()
    parser.feed(text)
    assert (parser.open, parser.outside) == ([], [])
    assert parser.boxes == 2 + 6  # the server alone, then trainer and server
    assert "<b>" not in text


def test_a_gpu_that_two_want_is_shown_as_such():
    run = {
        "framework": "trl",
        "gpus": {"visible": ["0", "1", "2"], "used": ["0", "1"]},
        "processes": {"value": 2},
        "servers": [{"gpus": ["1"], "ranks": 1}],
    }
    assert gpu_roles(run) == {"0": "trainer", "1": "trainer + server", "2": "idle"}
