"""`trl-lint runs`: text, JSON and the page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from trl_lint.cli import main
from trl_lint.reports.runs import gpu_roles

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
    assert run["gpus"] == {"visible": ["0", "1", "2", "3"], "used": ["0", "1", "2"], "per_machine": 3}
    assert run["servers"] == [
        {"name": "vllm serve", "path": "run.sh", "line": 1, "gpus": ["4", "5"], "ranks": 2}
        | {"tensor": 2, "pipeline": 1, "port": 8000}
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
    assert re.search(r"^  GPUs +0-2 trainer, 3 idle, 4,5 server$", text, re.MULTILINE)


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
    """Every tag of the page is closed (but those of tables), and it asks for nothing from elsewhere."""

    OPEN = ("input", "meta", "thead", "td", "th", "tr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.boxes = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.OPEN:
            self.open.append(tag)
        self.boxes += "gpu " in str(dict(attrs).get("class"))
        links = [str(value) for name, value in attrs if name in ("src", "href") or "//" in str(value)]
        self.outside += [link for link in links if not link.startswith("#")]

    def handle_endtag(self, tag: str) -> None:
        assert tag in self.OPEN or self.open.pop() == tag

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
    assert "=<b>" not in text


@pytest.mark.parametrize(
    ("vllm", "server", "expected"),
    [
        (None, "1", {"0": "trainer", "1": "trainer + server", "2": "idle"}),
        (None, "2", {"0": "trainer", "1": "trainer", "2": "server"}),
        ({"mode": "colocate", "device": None}, "2", {"0": "trainer + vLLM", "1": "trainer + vLLM", "2": "server"}),
        ({"mode": "server", "device": None}, "2", {"0": "trainer", "1": "trainer", "2": "server"}),
        ({"mode": None, "device": "cuda:2", "gpu": 2}, "0", {"0": "trainer + server", "1": "trainer", "2": "vLLM"}),
        ({"mode": None, "device": "auto", "gpu": None}, "2", {"0": "trainer", "1": "trainer", "2": "server"}),
        ({"mode": None, "device": "auto", "gpu": 9}, "2", {"0": "trainer", "1": "trainer", "2": "server"}),
    ],
)
def test_which_gpu_does_what(vllm: dict | None, server: str, expected: dict[str, str]):
    run = {
        "framework": "trl",
        "ray": False,
        "gpus": {"visible": ["0", "1", "2"], "used": ["0", "1"], "per_machine": 2},
        "vllm": vllm,
        "servers": [{"gpus": [server], "ranks": 1}],
    }
    assert gpu_roles(run) == expected


@pytest.mark.parametrize(
    ("release", "command", "arguments", "words", "gpu"),
    [
        ("0.15.2", "CUDA_VISIBLE_DEVICES=4,5,6 accelerate launch --num_processes 2", "", "on cuda:2 (auto)", 2),
        ("0.15.2", "accelerate launch --num_processes $N", "", "on the GPU behind the trainer's (auto)", None),
        ("0.15.2", "CUDA_VISIBLE_DEVICES=4 python", "", "on cuda:0 (auto)", 0),
        ("0.14.0", "CUDA_VISIBLE_DEVICES=4 python", "", "on cuda:1 (auto)", 1),
        ("0.15.2", "python", "", "on the GPU behind the trainer's (auto)", None),
        ("0.15.2", "torchrun --nproc_per_node 4", ', vllm_device="cuda:1"', "on cuda:1", 1),
        ("0.16.1", "torchrun --nproc_per_node 4", ', vllm_device="cuda:1"', "at a server (server)", None),
        ("0.22.2", "torchrun --nproc_per_node 4", ', vllm_mode="colocate"', "inside the trainer (colocate)", None),
    ],
)
def test_where_vllm_runs(
    project: Path, capsys: pytest.CaptureFixture[str], release: str, command: str, arguments: str, words: str, gpu: int
):
    (project / "requirements.txt").write_text(f"trl=={release}\n")
    (project / "run.sh").write_text(f"{command} train.py\n")
    (project / "train.py").write_text(SCRIPT.replace("beta=0.0", "use_vllm=True" + arguments))
    (run,) = run_json(capsys)
    assert run["vllm"]["gpu"] == gpu
    assert main(["runs"]) == 0
    assert re.search(rf"^  vLLM +{re.escape(words)}  train.py:3$", capsys.readouterr().out, re.MULTILINE)


def test_gpus_behind_no_python(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "run.sh").write_text(
        "CUDA_VISIBLE_DEVICES=0,1,2 accelerate launch --num_processes 2 --no_python python -u train.py\n"
    )
    assert main(["runs"]) == 0
    text = capsys.readouterr().out
    assert "run.sh:1: train.py by accelerate with 2 processes\n" in text
    assert re.search(r"^  GPUs +0,1 trainer, 2 idle$", text, re.MULTILINE)
    assert re.search(r"^  script +train.py$", text, re.MULTILINE)


CHOOSING = """\
case "$1" in
  small) CONFIG=small; GPUS=2 ;;
  large) CONFIG=large; GPUS=8 ;;
  *) exit 1 ;;
esac
accelerate launch --num_processes $GPUS parsed.py --config recipes/$CONFIG.yaml --seed 1
"""
PARSED = """\
from trl import GRPOConfig, GRPOTrainer, ModelConfig, TrlParser

args, model = TrlParser((GRPOConfig, ModelConfig)).parse_args_and_config()
"""


@pytest.fixture
def choosing(project: Path) -> Path:
    (project / "run.sh").write_text(CHOOSING)
    (project / "parsed.py").write_text(PARSED)
    (project / "recipes").mkdir()
    for name, beta in (("small", 0.1), ("large", 0.2)):
        text = f"output_dir: {name}\nbeta: {beta}\nlearning_rate: 1.0e-6\nmodel_name_or_path: x\nmax_steps: 1\n"
        (project / "recipes" / f"{name}.yaml").write_text(text)
    return project


def test_candidates(choosing: Path, capsys: pytest.CaptureFixture[str]):
    (run,) = run_json(capsys)
    assert run["processes"] is None
    assert [(link["kind"], link["status"], link["paths"]) for link in run["links"]] == [
        ("script", "exact", ["parsed.py"]),
        ("recipe", "candidates", ["recipes/small.yaml", "recipes/large.yaml"]),
    ]
    assert [value["name"] for value in run["values"]] == ["seed"]
    small, large = run["candidates"]
    assert (small["label"], small["processes"]["value"]) == ("2, recipes/small.yaml", 2)
    assert [(link["status"], link["paths"]) for link in large["links"]][1] == ("exact", ["recipes/large.yaml"])
    assert ("beta", "0.2", "recipes/large.yaml", 2) in [
        (value["name"], value["value"], value["path"], value["line"]) for value in large["values"]
    ]
    assert "seed" not in [value["name"] for value in large["values"]]
    assert [one["line"] for one in run_json(capsys, "recipes/large.yaml")] == [6]


def test_candidates_as_text_and_as_a_page(choosing: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["runs"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^  recipe +recipes/\$CONFIG.yaml \(candidates\)$", text, re.MULTILINE)
    assert re.search(r"^  2 of 2: 8, recipes/large.yaml \(8 processes\)$", text, re.MULTILINE)
    assert re.search(r"^      beta +\= 0.2 .*recipes/large.yaml:2$", text, re.MULTILINE)
    assert main(["runs", "--html", "page.html"]) == 0
    page = _Page()
    page.feed((choosing / "page.html").read_text())
    assert page.open == []
    assert "2 of 2: 8, recipes/large.yaml, 8 processes" in (choosing / "page.html").read_text()


def test_defaults_of_variables_are_shown_as_a_guess(choosing: Path, capsys: pytest.CaptureFixture[str]):
    command = "accelerate launch --num_processes ${GPUS:-4} parsed.py --seed ${1:-7} --output_dir $OUT"
    (choosing / "run.sh").write_text(command + "\n")
    (run,) = run_json(capsys)
    assert run["processes"] is None
    (candidate,) = run["candidates"]
    assert (candidate["guess"], candidate["processes"]["value"]) == (True, 4)
    assert [(value["name"], value["value"]) for value in candidate["values"]] == [("seed", "7")]
    assert main(["runs"]) == 0
    assert "  perhaps 4, 7 (4 processes)\n" in capsys.readouterr().out
