"""Pages: nothing of an analysed file is obeyed, everything can be read without a script, and nothing is loaded."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from trl_lint.cli import main
from trl_lint.reports.html_page import code_told, page, prose, told
from trl_lint.reports.run_gpus import engine_rank, gpu_grid

SCRIPT = """\
from trl import GRPOConfig, GRPOTrainer

note = "</script><img src=x onerror=alert(1)> \u202etxt"; args = GRPOConfig(output_dir="<i>out", num_generation=4)
GRPOTrainer(model="Qwen/Qwen3-0.6B", args=args, reward_funcs=len).train()
"""
COMMANDS = """\
CUDA_VISIBLE_DEVICES=2,3,4,5 vllm serve Qwen/Qwen3-0.6B -tp 2 -pp 2 &
CUDA_VISIBLE_DEVICES=0,1,2 accelerate launch --num_processes 3 train.py --run_name='</style><b>"x'
accelerate launch --num_processes 1 train.py
"""


class Tags(HTMLParser):
    """The tags of a page, each closed, with what they would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.loads: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.loads += [str(value) for name, value in attrs if name == "src" or (name == "href" and tag != "a")]
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(SCRIPT, "utf-8")
    (tmp_path / "run.sh").write_text(COMMANDS)
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(*args: str) -> str:
    main([*args])
    return Path("page.html").read_text("utf-8")


def findings_page(*args: str) -> str:
    return written("check", ".", "-n", "--output-format", "html", "--output-file", "page.html", *args)


def test_findings_are_text_whatever_the_files_hold(project: Path):
    tags = Tags(text := findings_page())
    assert "img" not in tags.seen and tags.loads == [] and "\u202e" not in text
    assert "&lt;/script&gt;&lt;img src=x" in text and "\\u202etxt" in text
    assert tags.seen.count("script") == text.count("</script>") == 1
    assert re.search(r"script-src 'sha256-[\w+/]+='; base-uri 'none'", text)


def test_findings_can_be_read_without_a_script(project: Path):
    text = findings_page().split("<script>")[0]
    assert '<form class="filter" hidden' in text and "<details" in text and "TRL301" in text
    assert "✖ error" in text  # no colour alone
    assert 'data-runs="1 2"' in text and "In 2 of 3 runs" in text


def test_fixes_are_shown_as_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    folder = Path(__file__).parents[2] / "fixtures" / "demo"
    text = written("check", str(folder), "-n", "--output-format", "html", "--output-file", "page.html")
    assert "<del>-   min_lr: 1e-7</del>\n<ins>+   min_lr: 1.0e-7</ins>" in text
    assert "<mark>1e-7</mark>" in text


def test_no_findings_need_no_filter(project: Path):
    (project / "train.py").write_text('from trl import SFTConfig\nSFTConfig(output_dir="x")\n')
    (project / "run.sh").unlink()
    text = findings_page()
    assert f"<title>Findings of trl-lint: {project.name}</title>" in text
    assert (
        "All checks passed! 2 files, 1 argument object" in text
        and "<script" not in text
        and "script-src 'none'" in text
    )


def test_the_page_of_runs(project: Path):
    tags = Tags(text := written("runs", "--html", "page.html"))
    assert tags.loads == [] and "b" in tags.seen and '</style><b>"x' not in text.split("</style>", 1)[1]
    assert text.count('class="chain"') == 3 and "⚠ taken twice" in text
    assert "&lt;i&gt;out" in text and "i" not in tags.seen
    assert "engine 0, PP 1, TP 0" in text and "trainer rank 2" in text
    assert re.search(r'<a href="#f\d+">TRL301</a>', text) and 'id="compared"' in text


def test_values_left_to_a_default_are_shown_when_asked_for(project: Path, capsys: pytest.CaptureFixture[str]):
    main(["runs", "--all", "--output-format", "json"])
    run = json.loads(capsys.readouterr().out)["runs"][2]
    values = {value["name"]: value for value in run["values"]}
    assert values["beta"] == {"name": "beta", "value": "0", "default": "0", "path": None, "line": None}
    assert values["output_dir"]["line"] == 3
    assert main(["runs", "--all"]) == 0 and "the default" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        ([("trainer", 16, 2, "trainer", None), ("engine", 16, 2, "trainer", 4)],
         ["trainer + engine 16 GPUs on 2 machines", "trainer 15", "engine 3, TP 3"]),
        ([("trainer", 2, 1, "trainer", None)], ["trainer 2 GPUs", "trainer 1"]),
        ([("engine", 4, None, "engine", 2)], ["engine 4 GPUs", "engine 1, TP 1"]),
        ([("trainer", None, None, "trainer", None)], []),
        ([("trainer", 10**29, 1, "trainer", None)], ["trainer 63"]),
    ],
)  # fmt: skip
def test_what_a_command_asks_ray_for(workers: list[tuple[object, ...]], expected: list[str]):
    names = ("role", "processes", "nodes", "pool", "size")
    text = gpu_grid({"ray": True, "workers": [dict(zip(names, one, strict=True)) for one in workers]})
    assert all(each in text for each in expected) and bool(text) == bool(expected)


def test_engines_count_tensor_ranks_first():
    assert [engine_rank(index, 2, 2) for index in (0, 1, 2, 4)] == [
        "engine 0, PP 0, TP 0", "engine 0, PP 0, TP 1", "engine 0, PP 1, TP 0", "engine 1, PP 0, TP 0",
    ]  # fmt: skip


def test_pieces():
    assert told("<a b='c'>\x1b\u200b") == "&lt;a b=&#x27;c&#x27;&gt;\\x1b\\u200b"
    assert prose("use `<b>` here") == "use <code>&lt;b&gt;</code> here"
    assert prose("one ` alone") == "one ` alone"
    assert code_told("a<b>c", 1, 4) == "a<mark>&lt;b&gt;</mark>c"
    assert len(code_told("x" * 10_000, 5_000, 9_000)) < 500
    assert "<title>&lt;x&gt;</title>" in page("<x>", [])


def test_a_badge(project: Path, capsys: pytest.CaptureFixture[str]):
    main(["check", ".", "-n", "--output-format", "badge"])
    badge = json.loads(capsys.readouterr().out)
    assert badge["schemaVersion"] == 1 and badge["label"] == "trl-lint"
    assert badge["color"] == "red" and badge["message"].startswith("1 error")


PASSING = 'from trl import SFTConfig\nSFTConfig(output_dir="x")\n'


@pytest.mark.parametrize(
    ("script", "pins", "badge", "said"),
    [
        (PASSING, "trl==1.16.0\n", "passing", "All checks passed!"),
        (f"{PASSING}SFTConfig(**given)\n", "trl==1.16.0\n", "nothing found", "No errors or warnings"),
        ("pass\n", "trl==1.16.0\n", "nothing found", "No errors or warnings"),
        ("pass\n", "", "nothing to check", "Nothing to check"),
    ],
)
def test_nothing_passes_that_was_not_understood(
    script: str, pins: str, badge: str, said: str, project: Path, capsys: pytest.CaptureFixture[str]
):
    (project / "train.py").write_text(script)
    (project / "run.sh").unlink()
    (project / "requirements.txt").write_text(pins)
    for form in ("badge", "junit", "html", "full"):
        main(["check", ".", "-n", "--output-format", form])
        assert (badge if form == "badge" else said) in "".join(capsys.readouterr()), form


def test_a_baseline_that_hides_findings_is_no_pass(project: Path, capsys: pytest.CaptureFixture[str]):
    main(["check", ".", "-n", "--write-baseline"])
    capsys.readouterr()
    main(["check", ".", "-n", "--baseline", "trl-lint-baseline.json", "--output-format", "badge"])
    assert json.loads(capsys.readouterr().out)["message"] == "nothing found"
