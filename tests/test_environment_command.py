"""`trl-lint environment`: what is understood of a project's pins, in words and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trl_lint import tracked
from trl_lint.cli import main
from trl_lint.knowledge.releases import installable
from trl_lint.project.inventory import covered

Environments = Callable[..., tuple[int, str, str]]


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Environments:
    """Lays out files as one repository and runs the command in it: status, output, errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def run(files: dict[str, str], *arguments: str) -> tuple[int, str, str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        tracked.forget()
        status = main(["environment", *arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out, captured.err

    return run


def read(output: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(output)
    assert document["version"] == 1
    return document


def test_one_folder(environment: Environments):
    files = {
        "requirements.txt": "trl==1.16.0\npeft>=0.18\naccelerate\n",
        "train.py": "import trl\nimport transformers\n",
    }
    status, out, _ = environment(files)
    assert status == 0
    lines = [line.strip() for line in out.splitlines()]
    assert lines[0] == "Environment of ./ (1 file)"
    assert "requirements.txt:1:1: trl==1.16.0" in lines
    newest = installable("peft")[-1]
    assert any(line.split()[:3] == ["peft", str(newest), "pin,"] and f"0.18.0 to {newest}" in line for line in lines)
    assert any(line.startswith("accelerate") and "assumed: its pin allows any release" in line for line in lines)
    assert any(line.startswith("transformers") and line.endswith("nothing pins it") for line in lines)
    assert "Conflicts" not in out


def test_every_source(environment: Environments):
    lock = '[[package]]\nname = "accelerate"\nversion = "1.10.1"\n'
    requirements = "trl==1.16.0\npeft @ git+https://github.com/huggingface/peft\ndeepspeed\ntransformers==4.57.6\n"
    files = {
        "requirements.txt": requirements,
        "uv.lock": lock,
        "pyproject.toml": '[project]\nname = "vllm"\nversion = "0.22.0"\n',
        "train.py": "import trl\n",
    }
    _, out, _ = environment(files, "--output-format", "json", "--target", "transformers==5.3.0")
    (found,) = read(out)["environments"]
    packages = found["packages"]
    assert {name: facts["source"] for name, facts in packages.items()} == {
        "trl": "pin",
        "transformers": "target",
        "accelerate": "lock",
        "peft": "unknown",
        "deepspeed": "assumed",
        "vllm": "pin",
    }
    assert (packages["peft"]["resolved"], packages["peft"]["allowed"]) == (None, None)
    assert (packages["peft"]["tip"], packages["trl"]["tip"]) == (True, False)
    assert (packages["transformers"]["resolved"], packages["transformers"]["pins"]) == ("5.3.0", [])
    assert (packages["vllm"]["own"], packages["trl"]["own"]) == (True, False)
    assert packages["trl"]["allowed"] == [["1.16.0", "1.16.0"]]
    (pin,) = packages["trl"]["pins"]
    assert (pin["path"], pin["line"], pin["column"], pin["text"]) == ("requirements.txt", 1, 1, "trl==1.16.0")


def test_each_distinct_environment_once(environment: Environments):
    files = {
        "requirements.txt": "trl==1.9.0\n",
        "train.py": "import trl\n",
        "recipes/a/grpo.py": "import trl\n",
        "recipes/b/sft.py": "import trl\n",
        "old/requirements.txt": "trl==0.15.2\n",
        "old/train.py": "import trl\n",
        "old/script.py": '# /// script\n# dependencies = ["trl==0.20.0"]\n# ///\nimport trl\n',
    }
    status, out, _ = environment(files, "--output-format", "json")
    found = {facts["packages"]["trl"]["resolved"]: facts["files"] for facts in read(out)["environments"]}
    assert status == 0
    assert found == {
        "1.9.0": ["recipes/a/grpo.py", "recipes/b/sft.py", "train.py"],
        "0.15.2": ["old/train.py"],
        "0.20.0": ["old/script.py"],
    }
    _, text, _ = environment({})
    assert "Environment of recipes/, train.py (3 files)" in text


def test_conflicts(environment: Environments):
    files = {"requirements.txt": "trl[vllm]==1.16.0\ntransformers==5.3.0\n", "train.py": "import trl\n"}
    status, out, _ = environment(files)
    assert status == 1
    assert "requirements.txt:2:1: TRL204 error: No releases satisfy these pins: trl 1.16.0" in out
    assert "    requirements.txt:1:1: trl==1.16.0 is pinned here" in out
    status, out, _ = environment({}, "--output-format", "json")
    (conflict,) = read(out)["conflicts"]
    assert (status, conflict["code"], conflict["severity"], conflict["line"]) == (1, "TRL204", "error", 2)
    assert [place["line"] for place in conflict["related"]] == [1]


def test_a_hint_is_no_conflict(environment: Environments):
    status, out, _ = environment({"requirements.txt": "trl==0.26.2\nvllm>=0.10.2\n"})
    assert status == 0
    assert "Conflicts: 1 hint" in out and "TRL202 info" in out


def test_conflicts_of_a_file_are_those_of_its_pins(environment: Environments):
    files = {"requirements.txt": "vllm==0.8.5\ntorch==2.7.1\n", "a/train.py": "", "b/requirements.txt": "trl==0.99\n"}
    status, out, _ = environment(files, "a/train.py")
    assert status == 1
    assert "torch==2.6.0" in out and "0.99" not in out


def test_optional_pins_and_constraints_are_marked(environment: Environments):
    pyproject = (
        '[project]\nname = "x"\nversion = "1"\ndependencies = ["trl"]\n'
        '[project.optional-dependencies]\nserve = ["vllm==0.22.0"]\n[tool.uv]\nconstraint-dependencies = ["peft<1"]\n'
    )
    _, out, _ = environment({"pyproject.toml": pyproject, "train.py": ""})
    assert "vllm==0.22.0 (extra serve)" in out
    assert "peft<1 (constraint)" in out


def test_nothing_is_pinned(environment: Environments):
    assert environment({"notes.py": "x = 1\n"})[:2] == (
        0,
        "Environment of ./ (1 file)\n  nothing pins a package that trl-lint knows\n",
    )
    assert environment({}, "--output-format", "json")[0] == 0


def test_a_folder_without_code_shows_its_project(environment: Environments):
    _, out, _ = environment({"requirements.txt": "trl==1.16.0\n"})
    assert out.splitlines()[0] == "Environment of . (no code)"
    assert "trl  1.16.0  pin" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "no such file or directory"),
        (["--output-format", "xml"], "invalid choice"),
        (["a", "b"], "unexpected argument `b`"),
        (["--target", "trl"], "--target"),
        (["--config", "none.toml"], "none.toml"),
    ],
)
def test_bad_usage(environment: Environments, arguments: list[str], said: str):
    status, out, err = environment({"a/train.py": ""}, *arguments)
    assert (status, out) == (2, "")
    assert said in err


def test_settings_are_those_of_the_folder(environment: Environments):
    files = {"trl-lint.toml": 'target = { trl = "0.15.2" }\n', "requirements.txt": "trl==1.16.0\n", "train.py": ""}
    _, out, _ = environment(files)
    assert "trl  0.15.2  target" in out
    _, out, _ = environment({}, "--isolated")
    assert "trl  1.16.0  pin" in out


def test_covered_folders():
    everything = ["/r/a/x.py", "/r/a/b/y.py", "/r/c/z.py", "/r/c/w.py", "/r/top.py"]
    assert covered(["/r/a/x.py", "/r/a/b/y.py", "/r/c/z.py"], everything, "/r") == ["/r/a/", "/r/c/z.py"]
    assert covered(everything, everything, "/r") == ["/r/"]


def test_the_tip_of_a_repository_says_what_it_is_at_least(environment: Environments):
    files = {"requirements.txt": "peft @ git+https://github.com/huggingface/peft\n", "train.py": "import peft\n"}
    _, out, _ = environment(files)
    (line,) = [line for line in out.splitlines() if line.startswith("  peft")]
    assert line.endswith(f"unknown  unknown: the tip of its repository, at least {installable('peft')[-1]}")
