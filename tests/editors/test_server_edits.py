"""The server says what a fresh run says, after whatever steps; `make torture` tries two thousand histories."""

from __future__ import annotations

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls 2")

from benchmarks.histories import play
from benchmarks.server_edits import Served


def test_what_is_kept_changes_no_diagnostics():
    histories = [play(number, "server", 6, kind=Served) for number in range(3)]
    assert not any(history.wrong for history in histories) and sum(history.checks for history in histories) > 20
