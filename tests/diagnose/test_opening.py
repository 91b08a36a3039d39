"""Logs that are packed, encoded otherwise, broken or one endless line: what is read of them, and what is said."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import threading
from pathlib import Path

import pytest

from trl_lint.cli import main
from trl_lint.diagnose.blocks import LONGEST, LineCutter, blocks, lines_between
from trl_lint.diagnose.excerpt import AFTER, BEFORE, excerpt_of
from trl_lint.diagnose.opening import opened
from trl_lint.diagnose.reader import read_log

LOG = (
    '{"loss": 1}\n' * 9
    + "Traceback (most recent call last):\n"
    + '  File "train.py", line 3, in <module>\n    main()\n'
    + "RuntimeError: No CUDA GPUs are available\n"
).encode()
PACKED = {"gz": gzip.compress(LOG), "bz2": bz2.compress(LOG), "xz": lzma.compress(LOG)}
NAMES = {"gz": "gzip", "bz2": "bzip2", "xz": "xz"}


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("name", ["run.log.{}", "run.log"])
def test_a_packed_log_is_unpacked_whatever_its_name(
    ending: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / name.format(ending)
    path.write_bytes(PACKED[ending])
    assert main(["diagnose", str(path), "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["causes"][0]["code"] == "LOG505"
    assert main(["diagnose", str(path), "--output-format", "html"]) == 0
    assert "No CUDA GPUs" in capsys.readouterr().out


def broken(ending: str) -> list[bytes]:
    """Packed logs that are cut off, changed at any place, followed by something, or no packed logs at all."""
    whole = PACKED[ending]
    changed = [whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in range(len(whole))]
    return [*(whole[:at] for at in range(1, len(whole))), *changed, whole[:20] + b"x" * 99, b"no packed log at all"]


@pytest.mark.parametrize("ending", PACKED)
def test_a_broken_one_is_told_in_one_way(ending: str, tmp_path: Path):
    path = tmp_path / f"run.log.{ending}"
    told = set()
    for data in broken(ending):
        path.write_bytes(data)
        try:
            with opened(str(path)) as (stream, _):
                while stream.read(64):
                    pass
        except OSError as error:
            told.add(str(error))
    assert told == {f"it is no whole {NAMES[ending]} file; unpack it first"}


@pytest.mark.parametrize("ending", PACKED)
def test_the_command_says_that_it_is_broken(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / f"run.log.{ending}"
    path.write_bytes(PACKED[ending][:-9])
    assert main(["diagnose", str(path)]) == 2
    assert f"cannot be read: it is no whole {NAMES[ending]} file; unpack it first" in capsys.readouterr().err
    assert main(["diagnose", str(path), "--follow"]) == 2


def test_a_log_that_broke_in_the_meantime_has_no_excerpt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "run.log.gz"
    path.write_bytes(PACKED["gz"])

    def read_and_break(*args: object) -> object:
        found = read_log(*args)  # type: ignore[arg-type]
        data = bytearray(PACKED["gz"])
        data[12:30] = b"\xff" * 18
        path.write_bytes(bytes(data))
        return found

    monkeypatch.setattr("trl_lint.commands.diagnose.read_log", read_and_break)
    assert main(["diagnose", str(path), "--output-format", "html"]) == 0
    assert "No CUDA GPUs" in capsys.readouterr().out


@pytest.mark.parametrize(("data", "name"), [(b"(\xb5/\xfd" + b"x" * 20, "zstd"), (b"PK\x03\x04" + b"x" * 20, "zip")])
def test_what_only_others_unpack_is_not_taken_for_a_log_without_failures(
    data: bytes, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "run.log").write_bytes(data)
    assert main(["diagnose", str(tmp_path / "run.log")]) == 2
    assert f"it is packed with {name}; unpack it first" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_with_a_name_is_read_once(tmp_path: Path):
    os.mkfifo(tmp_path / "log")
    writer = threading.Thread(target=(tmp_path / "log").write_bytes, args=(PACKED["gz"],))
    writer.start()
    with opened(str(tmp_path / "log")) as (stream, _):
        assert read_log(stream).failures[0].message == "No CUDA GPUs are available"
    writer.join()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_the_same_however_they_come(encoding: str, size: int):
    text = "first \N{EURO SIGN}\nsecond \U0001f600\n\nlast"
    data = text.encode(encoding)
    cutter = LineCutter()
    found = [cutter.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert all(block.endswith(b"\n") for block in found if block) and any(found)
    assert (b"".join(found) + cutter.rest()).decode() == text


@pytest.mark.parametrize("data", [b"", b"x", b"\xff", b"\xff\xfe", b"\xff\xfea"])
def test_hardly_anything(data: bytes):
    assert len(b"".join(blocks(io.BytesIO(data)))) <= 3


def test_a_range_of_lines_is_that_of_the_whole_text():
    lines = [f"line {number}{'x' * (number % 7 * 9000)}".encode() for number in range(1, 200)]
    data = b"\n".join(lines)
    for first, last in ((1, 1), (1, 300), (60, 90), (199, 199), (200, 210)):
        assert list(lines_between(io.BytesIO(data), first, last)) == lines[first - 1 : last]
    assert list(lines_between(io.BytesIO(b"a\n\nb\n"), 2, 9)) == [b"", b"b"]


class Endless(io.RawIOBase):
    """A log with a line of a size; `most` is how much of it was asked for at once."""

    def __init__(self, size: int) -> None:
        self.left, self.most, self.end = size, 0, b"\n" + LOG

    def read(self, size: int = -1, /) -> bytes:
        self.most = max(self.most, size if size >= 0 else self.left)
        if self.left:
            size = min(size, self.left) if size >= 0 else self.left
            self.left -= size
            return b"x" * size
        end, self.end = self.end, b""
        return end


def test_an_excerpt_beside_an_endless_line_takes_little():
    failure = read_log(Endless(3 * LONGEST)).failures[0]
    stream = Endless(3 * LONGEST)
    found = excerpt_of(stream, failure)
    assert failure.number == 11 and found.first == 1 and len(found.lines) <= BEFORE + AFTER + 4
    assert found.lines[0] == "x" * 2000 and found.lines[10].startswith("Traceback")
    assert 0 < stream.most <= LONGEST


def test_an_excerpt_of_a_log_of_powershell_can_be_read():
    data = LOG.decode().encode("utf-16")
    found = excerpt_of(io.BytesIO(data), read_log(io.BytesIO(data)).failures[0])
    assert found.lines[-1] == "RuntimeError: No CUDA GPUs are available"
