"""What Ray refuses of a `runtime_env`: run with ray 2.46.0 (`RuntimeEnv(**arguments)`), and just beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixture_cases import run_json


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ('{"pip": ["a"], "conda": "x"}', "pip and conda"),
        ('{"pip": ["a"], "uv": ["b"]}', "pip and uv"),
        ('{"env_vars": {"A": 1}}', "`A` of `env_vars`"),
        ('{"env_vars": {"A": True, "B": "1"}}', "`A` of `env_vars`"),
        ('{"env_vars": {"A": None}}', "`A` of `env_vars`"),
        ('{"pip": {"packages": ["a"]}, "conda": None}', ""),
        ('{"pip": ["a"], "env_vars": {"A": "1"}}', ""),
        ('{"pip": REQUIREMENTS, "conda": NAME}', ""),
        ('{"env_vars": {"A": str(1), "B": os.environ["B"], "C": f"{1}"}}', ""),
        ('{**BASE, "pip": ["a"], "conda": "x"}', ""),
    ],
)
@pytest.mark.parametrize("place", ["call", "name", "module"])
def test_a_runtime_env(
    environment: str, words: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    text = {
        "call": f"import os\nimport ray\n\nray.init(runtime_env={environment})\n",
        "name": f"import os\nimport ray\n\nRUNTIME = {environment}\nray.init(runtime_env=RUNTIME)\n",
        "module": "import ray\nfrom settings import RUNTIME\n\nray.init(runtime_env=RUNTIME)\n",
    }[place]
    (tmp_path / "go.py").write_text(text, "utf-8")
    (tmp_path / "settings.py").write_text(f"import os\n\nRUNTIME = {environment}\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    found = run_json(["--select", "TRL403", "."], capsys)[1]["findings"]
    assert [words in one["message"] for one in found] == ([True] if words else [])


def test_one_that_is_changed_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    text = 'import ray\n\nENV = {"pip": ["a"], "conda": "x"}\nENV.pop("conda")\nray.init(runtime_env=ENV)\n'
    (tmp_path / "go.py").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run_json(["--select", "TRL403", "."], capsys)[1]["findings"] == []
