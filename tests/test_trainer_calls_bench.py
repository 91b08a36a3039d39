"""The benchmark that counts what is known of trainer calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import trainer_calls

SCRIPT = """
from helper import load
from trl import SFTTrainer

SFTTrainer(load(), train_dataset=data, args=None)
"""
HELPER = "from transformers import AutoModel\n\n\ndef load():\n    return AutoModel.from_pretrained('m')\n"


def test_a_helper_is_known_with_the_project_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "helper.py").write_text(HELPER, encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["trainer_calls", str(tmp_path), "--show", "model"])
    trainer_calls.main()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    counts = {line[0]: line[1:] for line in lines if len(line) > 3}
    assert counts["model"] == ["1", "0", "0%", "1", "100%"]
    assert counts["train_dataset"] == ["1", "0", "0%", "0", "0%"]
    assert counts["all"] == ["1", "0", "0%", "0", "0%"]
    assert "transformers.AutoModel.from_pretrained@helper.py:5" in " ".join(lines[0])
