"""Waiting beside a log that grows: when it is called failed, when hung, and what is no end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from trl_lint.cli import main
from trl_lint.diagnose.blocks import LONGEST, LineCutter
from trl_lint.diagnose.follow import wait_for_the_end

TRACE = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: CUDA error: out of memory\n'
STEP = "{'loss': 0.1}\n"


class Job:
    """A program that writes something each second, by a clock of its own."""

    def __init__(self, path: Path, writes: list[str], encoding: str = "utf-8") -> None:
        self.path, self.writes, self.encoding, self.time = path, writes, encoding, 0.0
        path.write_text("")

    @classmethod
    def of(cls, path: Path) -> Job:
        """A program that has written all it will."""
        content = path.read_bytes()
        job = cls(path, [])
        path.write_bytes(content)
        return job

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        if self.writes and (text := self.writes.pop(0)):
            if text == "truncate":
                self.path.write_text("")
            else:
                with self.path.open("ab") as stream:
                    stream.write(text.encode(self.encoding))

    def end(self, silence: float = 60) -> str:
        return wait_for_the_end(str(self.path), silence, now=self.now, sleep=self.sleep)


def test_a_failure_is_told_once_nothing_follows(tmp_path: Path):
    job = Job(tmp_path / "a.log", [STEP] * 5 + [TRACE] + ["[rank1]: waiting\n"] * 3)
    assert job.end() == "failed"
    assert 9 + 20 <= job.time < 9 + 25


def test_what_training_goes_on_after_is_no_end(tmp_path: Path):
    job = Job(tmp_path / "a.log", [TRACE, *[STEP] * 5])
    assert job.end() == "silent"
    assert job.time >= 65


def test_a_line_that_is_still_written_is_waited_for(tmp_path: Path):
    assert Job(tmp_path / "a.log", [TRACE[:40], TRACE[40:70], TRACE[70:]]).end() == "failed"


def test_a_log_that_begins_anew_is_read_anew(tmp_path: Path):
    job = Job(tmp_path / "a.log", [TRACE, "truncate", STEP])
    assert job.end() == "silent"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_log_of_powershell_is_read_as_it_grows(tmp_path: Path, encoding: str):
    job = Job(tmp_path / "a.log", ["\ufeff", *TRACE[:70], TRACE[70:]], encoding)
    assert job.end() == "failed"


def test_a_line_that_never_ends_is_followed_in_bounded_memory_and_linear_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kept: list[int] = []

    class Cutter(LineCutter):
        def feed(self, piece: bytes) -> bytes:
            block = super().feed(piece)
            kept.append(len(self.rest()) if len(kept) % 100 == 0 else 0)
            return block

    monkeypatch.setattr("trl_lint.diagnose.follow.LineCutter", Cutter)
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * (12 << 20) + b"\r" + TRACE.encode())
    monkeypatch.setattr("trl_lint.diagnose.follow._PIECE", 1 << 10)
    start = time.process_time()
    assert Job.of(path).end() == "failed"
    assert time.process_time() - start < 5
    assert 0 < max(kept) <= LONGEST + (1 << 10)


def test_the_command_says_that_a_run_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text(STEP)
    assert main(["diagnose", "a.log", "--follow", "--hang-after", "0.0001"]) == 1
    assert "nothing was written for 0.0001 minutes" in capsys.readouterr().out
    assert main(["diagnose", "-", "--follow"]) == 2
    assert all(main(["diagnose", "a.log", "--hang-after", wrong]) == 2 for wrong in ("0", "x", "nan"))
