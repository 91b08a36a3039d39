"""Hover, completion, lenses and links of the language server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls 2")

from lsp_client import Client

RECIPE = "model_name_or_path: gpt2\nlearning_rate: 1.0e-5\nloss_type: grpo\nmax_prompt_length: 12\n"
LAUNCH = "CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes 2 train.py --config grpo.yaml --beta 0.1\n"
TRAIN = """from trl import GRPOConfig, GRPOTrainer, ModelConfig, ScriptArguments, TrlParser

if __name__ == "__main__":
    parser = TrlParser((ScriptArguments, GRPOConfig, ModelConfig))
    script_args, training_args, model_args = parser.parse_args_and_config()
    GRPOTrainer(model=model_args.model_name_or_path, args=training_args)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "grpo.yaml": RECIPE,
        "run.sh": LAUNCH,
        "train.py": TRAIN,
        "requirements.txt": "trl>=0.19,<0.21\ntransformers==4.54.0\n",
        "own.py": "from trl import GRPOConfig\n\nGRPOConfig(max_prompt_length=512)\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def client(project: Path) -> Iterator[Client]:
    found = Client()
    yield found
    found.hang_up()


def _at(uri: str, line: int, column: int) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}}


def _hover(client: Client, path: Path, line: int, column: int) -> str:
    found = client.ask("textDocument/hover", _at(client.open(path), line, column))
    return "" if found is None else str(found["contents"]["value"])


def test_the_life_of_an_argument(client: Client, project: Path):
    text = _hover(client, project / "own.py", 2, 14)
    assert "**`max_prompt_length`** of `trl.GRPOConfig`" in text
    assert "* with trl 0.20.0 beside transformers 4.54.0: default `512`" in text
    assert "* trl 0.28.0: removed" in text


def test_what_a_run_makes_of_a_key(client: Client, project: Path):
    assert "`train.py` runs with `1e-05` (by recipe, grpo.yaml:2)" in _hover(client, project / "grpo.yaml", 1, 3)


def test_a_flag_and_the_command_that_has_it(client: Client, project: Path):
    column = LAUNCH.index("--beta")
    assert "`train.py` runs with `0.1` (by flag, run.sh:1)" in _hover(client, project / "run.sh", 0, column + 3)
    assert "with 2 processes" in _hover(client, project / "run.sh", 0, LAUNCH.index("launch"))


def test_what_a_pin_comes_to(client: Client, project: Path):
    text = _hover(client, project / "requirements.txt", 0, 1)
    assert text.startswith("**trl**: 0.20.0 (pin)")
    assert "* the pins allow" in text


def test_nothing_is_told_of_what_is_not_known(client: Client, project: Path):
    assert _hover(client, project / "own.py", 1, 0) == ""
    (project / "notes.md").write_text("# nothing\n")
    assert _hover(client, project / "notes.md", 0, 0) == ""


def _completed(client: Client, uri: str, line: int, column: int) -> dict[str, Any]:
    found = client.ask("textDocument/completion", _at(uri, line, column))
    return {one["label"]: one for one in found["items"]}


def test_keys_and_values_of_a_recipe(client: Client, project: Path):
    uri = client.open(project / "grpo.yaml", RECIPE + "max_comp\nloss_type: \n", "yaml")
    found = _completed(client, uri, 4, 8)
    assert found["max_completion_length"]["textEdit"]["newText"] == "max_completion_length: "
    assert "vllm_mode" in found and "torch_dtype" in found
    assert set(_completed(client, uri, 5, 11)) == {"grpo", "bnpo", "dr_grpo"}


def test_flags_of_a_command(client: Client, project: Path):
    uri = client.open(project / "run.sh", LAUNCH.rstrip() + " --num_gen\n", "shellscript")
    assert "--num_generations" in _completed(client, uri, 0, len(LAUNCH) + len("--num_gen"))


def test_what_a_command_starts_and_names(client: Client, project: Path):
    uri = client.open(project / "run.sh", language="shellscript")
    (lens,) = client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert lens["command"]["title"] == "train.py: 2 processes, GPU 0, 1 trainer"
    targets = client.ask("textDocument/documentLink", {"textDocument": {"uri": uri}})
    assert {one["target"].rpartition("/")[2] for one in targets} == {"train.py", "grpo.yaml"}
    command = lens["command"]
    client.ask("workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]})
    while not any(m["method"] == "window/showMessage" for m in client.said):
        client.next()


def test_files_that_a_requirements_file_takes_in(client: Client, project: Path):
    (project / "dev.txt").write_text("pytest\n-r requirements.txt\n-c gone.txt\n")
    uri = client.open(project / "dev.txt", "pytest\n-r requirements.txt\n-c gone.txt\n", "pip-requirements")
    assert client.ask("textDocument/documentLink", {"textDocument": {"uri": uri}}) is None  # no such name
    path = project / "requirements-dev.txt"
    uri = client.open(path, "pytest\n-r requirements.txt\n-c gone.txt\n", "pip-requirements")
    (link,) = client.ask("textDocument/documentLink", {"textDocument": {"uri": uri}})
    assert link["target"].endswith("/requirements.txt")
    assert link["range"] == {"start": {"line": 1, "character": 3}, "end": {"line": 1, "character": 19}}
