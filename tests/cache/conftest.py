from __future__ import annotations

import pytest
from cached import Cached


@pytest.fixture
def cached(tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cached:
    """The command line as a user has it, with a cache; it runs in the working folder."""
    monkeypatch.delenv("TRL_LINT_NO_CACHE")
    return Cached(capsys, monkeypatch)
