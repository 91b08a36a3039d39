"""The server says what a fresh run says, after whatever edits; `make torture` tries two thousand histories."""

from __future__ import annotations

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls 2")

from benchmarks.server_edits import run


def test_what_is_kept_changes_no_diagnostics():
    assert run(3, seed=2, edits=6) == []
