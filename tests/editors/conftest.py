"""A project that no other test has left anything of."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.editors import context


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, and nothing kept from other tests."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    context.forget()
    return tmp_path
