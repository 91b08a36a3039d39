"""Logs of any bytes, cut off anywhere, and with their ranks interleaved: no crash, and no wrong cause called likely."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.field_logs import FieldLog, field_logs
from trl_lint.diagnose.causes import diagnose
from trl_lint.diagnose.excerpt import excerpt_of
from trl_lint.diagnose.reader import read_log

LOGS = [log for log in field_logs() if log.is_first and log.right and "-" not in log.right]
PIECES = [
    b"Traceback (most recent call last):\n", b'  File "/a/b.py", line 3, in f\n', b"    x = y\n",
    b"RuntimeError: boom\n", b"Original Traceback (most recent call last):\n", b"[rank3]: ", b"(raylet) ", b"\r", b"\n",
    b"\n\nDuring handling of the above exception, another exception occurred:\n\n", b"Exception ignored in: <x>\n",
    "╭─ Traceback ─╮\n│ /a.py:3 in f │\n╰─╯\n".encode(), b"Killed\n", b"exitcode: -9", b"NCCL WARN Connect to ",
    b"\x1b[31m", b'{"log": "', b"\xff\xfe",
]  # fmt: skip
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=4000, deadline=None, suppress_health_check=list(HealthCheck))


def likely_in(data: bytes) -> set[str]:
    """The codes called likely; and the failure can be shown."""
    found = diagnose(read_log(io.BytesIO(data)), "run.log")
    if found.failure is not None:
        excerpt_of(io.BytesIO(data), found.failure)
    assert all(cause.why and cause.title and cause.advice and cause.evidence for cause in found.causes)
    return {cause.code for cause in found.causes if cause.likelihood == "likely"}


ANY_BYTES = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=30)), max_size=40).map(b"".join)


@QUICK
@given(ANY_BYTES)
def test_any_bytes_are_read(data: bytes):
    likely_in(data)


def cut(log: FieldLog, start: int, end: int) -> bytes:
    lines = log.text.encode().splitlines(keepends=True)
    return b"".join(lines[start % (len(lines) + 1) :][: 1 + end % (len(lines) + 1)])


@QUICK
@given(st.sampled_from(LOGS), st.integers(0, 99), st.integers(0, 99))
def test_a_log_that_is_cut_off_names_nothing_wrong(log: FieldLog, start: int, end: int):
    assert likely_in(cut(log, start, end)) <= right_for_a_part(log)


def right_for_a_part(log: FieldLog) -> set[str]:
    """Without its frames nobody knows who asked for a name that the release does not have."""
    return {*log.right, *log.parts, *(["LOG211"] if "TRL302" in log.right else [])}


def interleaved(logs: Sequence[FieldLog], order: Sequence[int]) -> bytes:
    """The lines of several ranks in some order, each behind its rank."""
    queues = [[f"[rank{rank}]: {line}\n" for line in log.text.splitlines()] for rank, log in enumerate(logs)]
    lines = []
    for choice in order:
        if alive := [queue for queue in queues if queue]:
            lines.append(alive[choice % len(alive)].pop(0))
    return "".join([*lines, *(line for queue in queues for line in queue)]).encode()


PLAIN = [log for log in LOGS if "Traceback" in log.text and "[rank" not in log.text and "pid=" not in log.text]


@QUICK
@given(st.sampled_from(PLAIN), st.integers(2, 5), st.lists(st.integers(0, 9), max_size=120))
def test_ranks_that_write_at_once_name_what_each_would(log: FieldLog, ranks: int, order: list[int]):
    assert likely_in(interleaved([log] * ranks, order)) <= set(log.right)


@pytest.mark.slow
@LONG
@given(ANY_BYTES)
def test_many_bytes_are_read(data: bytes):
    likely_in(data)


@pytest.mark.slow
@LONG
@given(st.sampled_from(LOGS), st.integers(0, 99), st.integers(0, 99))
def test_logs_cut_off_anywhere_name_nothing_wrong(log: FieldLog, start: int, end: int):
    assert likely_in(cut(log, start, end)) <= right_for_a_part(log)


@pytest.mark.slow
@LONG
@given(st.sampled_from(PLAIN), st.integers(2, 5), st.lists(st.integers(0, 9), max_size=120))
def test_ranks_in_any_order_name_what_each_would(log: FieldLog, ranks: int, order: list[int]):
    assert likely_in(interleaved([log] * ranks, order)) <= set(log.right)
