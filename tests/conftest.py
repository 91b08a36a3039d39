"""Shared by all tests. Being here also puts this folder on the path, so that tests can import its helpers."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours, no widths and no settings from the terminal that happens to run the tests."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TRL_LINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
