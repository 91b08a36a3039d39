"""Texts of `rules/` as a wheel holds them: what cannot be unpacked is said, and nothing is taken for missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trl_lint import knowledge
from trl_lint.knowledge import KnowledgeError, compressed, history_names, read_history


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "api").mkdir()
    ending, data = compressed("a\nä\n".encode())
    (tmp_path / "api" / f"trl.txt{ending}").write_bytes(data)
    monkeypatch.setattr(knowledge, "rules_dir", lambda: str(tmp_path))


def test_a_history_is_unpacked(installed: None):
    assert (history_names("api"), read_history("api/trl"), read_history("api/other")) == (["trl"], "a\nä\n", None)


def test_a_python_without_lzma_is_told(installed: None, monkeypatch: pytest.MonkeyPatch):
    for packer in ("lzma", "bz2"):
        monkeypatch.setitem(sys.modules, packer, None)
    with pytest.raises(KnowledgeError, match=r"without (?:lzma|bz2)"):
        read_history("api/trl")
