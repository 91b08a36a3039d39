"""Reading logs: prefixes, noise, what is first, and how much memory it takes."""

from __future__ import annotations

import gc
import io
import json
import tracemalloc
from pathlib import Path

import pytest

from trl_lint.diagnose.blocks import LineCutter
from trl_lint.diagnose.first import first_failure, why_it_follows
from trl_lint.diagnose.lines import read_line, read_lines
from trl_lint.diagnose.reader import Log, read_log
from trl_lint.diagnose.versions import versions_in

TRACE = """\
Traceback (most recent call last):
  File "/home/u/train.py", line 12, in <module>
    main()
  File "/home/u/loss.py", line 7, in loss
    return a @ b
RuntimeError: {message}
"""


def read(text: str | bytes) -> Log:
    return read_log(io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def first(text: str | bytes) -> tuple[str, str, int | None]:
    failure = first_failure(read(text))
    assert failure is not None
    return failure.exception, failure.message, failure.rank


@pytest.mark.parametrize(
    ("raw", "rank", "text"),
    [
        ("[rank3]:     return x", 3, "    return x"),
        ("[default12]:  File", 12, "  File"[1:]),
        (" 7:   File", 7, "  File"),
        ("[1,5]<stderr>:ValueError", 5, "ValueError"),
        ("(Actor pid=12, ip=10.0.0.1)   File", None, "  File"),
        ("(EngineCore_0 pid=9) ERROR 11-02 10:00:31 [core.py:700]   File", None, "  File"),
        ("trainer-1  |   File", None, "  File"),
        ("2026-10-30T08:11:09.311Z   File", None, "  File"),
        ("2026-10-30 08:11:09,311 - ERROR - ValueError: x", None, "ValueError: x"),
        ("[2026-10-30 08:11:09,311] [INFO] x", None, "x"),
        ("\x1b[31mValueError\x1b[0m: x", None, "ValueError: x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", None, "link"),
        ("ValueError: 3: x", None, "ValueError: 3: x"),
    ],
)
def test_prefixes_are_taken_off(raw: str, rank: int | None, text: str):
    line = read_line(raw, 1)
    assert (line.rank, line.text) == (rank, text.rstrip())


def test_json_records():
    record = json.dumps({"rank": 2, "message": "one\ntwo"}).encode()
    assert [(line.rank, line.text) for line in read_lines(record, 5)] == [(2, "one"), (2, "two")]
    assert [line.text for line in read_lines(b'{"loss": 0.1}', 1)] == ['{"loss": 0.1}']
    assert list(read_lines(b"[" * 100_000, 1))


def test_ranks_are_told_apart():
    lines = [TRACE.format(message=f"of {rank}").splitlines() for rank in (4, 1)]
    mixed = "\n".join(
        f"[rank{rank}]: {line}" for pair in zip(*lines, strict=True) for rank, line in zip((4, 1), pair, strict=True)
    )
    failures = read(mixed).failures
    assert [(one.rank, one.message, len(one.frames)) for one in failures] == [(4, "of 4", 2), (1, "of 1", 2)]


def test_ranks_without_prefixes():
    lines = [line for line in TRACE.format(message="same").splitlines() for _ in range(3)]
    failure = first_failure(read("\n".join(lines)))
    assert failure is not None
    assert [frame.path for frame in failure.frames] == ["/home/u/train.py", "/home/u/loss.py"]
    assert failure.message == "same"


def test_progress_bars_in_a_traceback():
    head, tail = TRACE.format(message="real").split("    main()\n")
    assert first(head + "\r 10%|#  | 1/10 [00:01<00:09, 1.0s/it]" * 50 + "\n    main()\n" + tail)[1] == "real"


def test_what_follows_is_not_first():
    timeout = "[rank0]:[E1 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: x\n"
    late = "".join(f"[rank2]: {line}\n" for line in TRACE.format(message="real").splitlines())
    assert first(timeout + "BrokenPipeError: [Errno 32] Broken pipe\n" + late) == ("RuntimeError", "real", 2)
    failure = first_failure(read(timeout))
    assert failure is not None and "waited" in why_it_follows(failure)


def test_the_table_of_torchrun_names_the_rank():
    both = "".join(f"[rank{r}]: {line}\n" for r in (0, 3) for line in TRACE.format(message=f"of {r}").splitlines())
    table = "ChildFailedError:\nRoot Cause (first observed failure):\n[0]:\n  rank      : 3 (local_rank: 3)\n"
    assert first(both + "torch.distributed.elastic.multiprocessing.errors." + table)[2] == 3


def test_a_caught_exception_is_not_first():
    steps = "".join(f"{{'loss': 0.{step}}}\n" for step in range(5))
    assert first(TRACE.format(message="caught") + steps + TRACE.format(message="real"))[1] == "real"
    again = TRACE.format(message="caught") * 100
    assert first(again + TRACE.format(message="real").replace("loss.py", "other.py"))[1] == "real"


def test_an_exception_that_training_often_went_on_after_is_not_first():
    """A few caught ones stand so near the end that nothing was trained after them."""
    steps = "".join(f"{{'loss': 0.{step}}}\n" for step in range(5))
    often = (TRACE.format(message="caught") + steps) * 12 + TRACE.format(message="caught") * 2
    end = "".join(f"[rank3]: {line}\n" for line in TRACE.format(message="real").replace("loss.py", "a.py").splitlines())
    assert first(often + end) == ("RuntimeError", "real", 3)
    assert first(often)[1] == "caught"  # there is no other
    restarted = (TRACE.format(message="again") + steps) * 3 + TRACE.format(message="again")
    assert first(restarted + "BrokenPipeError: [Errno 32] Broken pipe\n")[1].startswith("again")


def test_a_failure_in_a_flood_is_not_passed_by(monkeypatch: pytest.MonkeyPatch):
    for name, value in (("reader._FLOOD", 150), ("blocks._BLOCK", 1000), ("reader._TAIL", 3000)):
        monkeypatch.setattr(f"trl_lint.diagnose.{name}", value)
    caught = "".join(TRACE.format(message=f"bad answer {n}") + "{'loss': 1.0}\n" * 3 for n in range(400))
    other = TRACE.replace("loss.py", "policy.py").format(message="shapes do not fit")
    log = read(caught + other + "waiting\n" * 2000)
    assert log.lines == (caught + other).count("\n") + 2000
    first = first_failure(log)
    assert first is not None and first.message.startswith("shapes do not fit")


def test_a_failure_between_many_others_is_kept():
    steps = "".join(f"{{'loss': 0.{step}}}\n" for step in range(5))
    caught = TRACE.format(message="caught") + steps
    end = "".join(f"[rank3]: {line}\n" for line in TRACE.format(message="real").replace("loss.py", "a.py").splitlines())
    timeout = "[rank0]:[E1 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: x\n"
    assert first(caught * 700 + end + timeout * 700) == ("RuntimeError", "real", 3)


def test_chains():
    cause = "\nThe above exception was the direct cause of the following exception:\n\n"
    text = TRACE.format(message="inner") + cause + TRACE.format(message="outer").replace("Runtime", "Import")
    failure = first_failure(read(text))
    assert failure is not None
    assert (failure.exception, failure.text) == ("RuntimeError", "RuntimeError: inner\nImportError: outer")
    replica = TRACE.format(message="Caught ValueError in replica 1 on device 1.\nOriginal " + TRACE.format(message="x"))
    failure = first_failure(read(replica))
    assert failure is not None and failure.message == "x" and "replica 1" in failure.text


def test_cut_off_at_both_ends():
    lines = TRACE.format(message="whole").splitlines(keepends=True)
    assert first("".join(lines[3:]))[1] == "whole"
    failure = first_failure(read("".join(lines[:4])))
    assert failure is not None and failure.exception == "" and len(failure.frames) == 2


def test_frames_in_the_box_of_rich_are_read():
    rows = [
        "/home/user/train.py:201 in <module>", "", "  200 if __name__:", "❱ 201 │   train()", "",
        "/opt/venv/lib/python3.12/site-packages/trl/trai", "ner/sft_trainer.py:19 in __init__", "❱ 19 │   f(x)",
    ]  # fmt: skip
    box = "".join(f"│ {row.ljust(60)} │\n" for row in rows)
    text = f"╭──── Traceback (most recent call last) ────╮\n{box}╰────╯\nTypeError: f() takes 0 arguments\n"
    failure = first_failure(read(text))
    assert failure is not None and failure.text == "TypeError: f() takes 0 arguments"
    assert [(frame.path, frame.line, frame.function, frame.code) for frame in failure.frames] == [
        ("/home/user/train.py", 201, "<module>", "train()"),
        ("/opt/venv/lib/python3.12/site-packages/trl/trainer/sft_trainer.py", 19, "__init__", "f(x)"),
    ]


def test_ipython_tells_modules_without_a_function():
    head = "TypeError     Traceback (most recent call last)\n"
    frame = "File ~/env/site-packages/trl/core.py:23\n     22 a\n---> 23 b()\n\n"
    failure = first_failure(read(f"{head}{frame}TypeError: b\n"))
    assert failure is not None and [frame.code for frame in failure.frames] == ["b()"]


def test_frames_of_ray_without_indentation_are_read():
    lead = "(ActorModelRayActor pid=7) "
    rows = ['File "/x/vllm_engine.py", line 58, in init', "return self.llm.rpc(", "AttributeError: 'A' object has no b"]
    failure = first_failure(read("".join(f"{lead}{row}\n" for row in rows)))
    assert failure is not None and [frame.function for frame in failure.frames] == ["init"]


def test_utf16_as_powershell_writes_it():
    assert first(TRACE.format(message="wide").encode("utf-16"))[1] == "wide"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 1000])
@pytest.mark.parametrize("text", ["Traceback\n", "ab", "a", "", "[1] \u4f60\u597d\n\U0001f600\n"])
def test_wide_characters_without_a_mark(encoding: str, size: int, text: str):
    data = text.encode(encoding)
    cutter = LineCutter()
    pieces = [cutter.feed(data[start : start + size]) for start in range(0, len(data), size)]
    found = b"".join(pieces) + cutter.rest()
    assert found == (text.encode() if len(data) >= 4 else data)


@pytest.mark.parametrize("data", [b"\0\0\0\0\n", b"ab\0\0\n", b"a\0bc\n", b"\0a\0\0\n", b"a\n", b"\0", b"abcd"])
def test_other_nul_bytes_are_no_wide_characters(data: bytes):
    cutter = LineCutter()
    assert cutter.feed(data) + cutter.rest() == data


def test_versions_a_log_names():
    log = read(
        "Initializing an LLM engine (v0.7.2) with config\n[INFO] DeepSpeed info: version=0.14.2, git-hash=x\n"
        "Successfully installed trl-0.15.2 torch-2.5.1+cu124 trlx-9.9.9\nneeds version transformers>=4.40.0\n"
    )
    found = {name: seen.version for name, seen in versions_in(log).items()}
    assert found == {"vllm": "0.7.2", "deepspeed": "0.14.2", "trl": "0.15.2", "torch": "2.5.1"}


NOISE = ["progress", "one line", "failures", "streams", "long lines"]


def write_log(path: Path, noise: str, pieces: int) -> None:
    """A log of so many pieces of noise, with a failure at its end."""
    with path.open("wb") as stream:
        for number in range(pieces):
            if noise == "progress":
                stream.write(b"{'loss': 0.1, 'grad_norm': 0.3} UserWarning: %d\n" % number * 4)
            elif noise == "one line":
                stream.write(b"\r %d%%|####    | error rate 12/1000 [00:12<10:00, 1.01s/it]" % number * 4)
            elif noise == "failures":
                stream.write(TRACE.format(message=str(number)).encode())
            elif noise == "streams":
                stream.write(b"[rank%d]: Traceback (most recent call last):\n" % (number % 50_000))
            else:
                stream.write(b"error " + b"x" * 400 + (b"\n" if number % 20_000 == 0 else b""))
        stream.write(TRACE.format(message="the end").replace("loss.py", "z.py").encode())


def peak_of(path: Path) -> int:
    """The bytes that reading a log takes at most; what is found in it has to be right, too."""
    gc.collect()
    gc.freeze()  # what other tests keep alive makes full collections rare
    tracemalloc.start()
    with path.open("rb") as stream:
        log = read_log(stream)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    gc.unfreeze()
    assert log.size == path.stat().st_size
    assert log.failures
    return peak


@pytest.mark.parametrize("noise", NOISE)
def test_memory_does_not_grow_with_a_log(noise: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With smaller bounds, so that a small log is beyond them; those of the tool follow below."""
    for name, value in (("_BLOCK", 1 << 13), ("LONGEST", 1 << 15)):
        monkeypatch.setattr(f"trl_lint.diagnose.blocks.{name}", value)
    for name, value in (("LONGEST", 1 << 15), ("_TAIL", 1 << 16), ("_FLOOD", 500)):
        monkeypatch.setattr(f"trl_lint.diagnose.reader.{name}", value)
    monkeypatch.setattr("trl_lint.diagnose.reader._MAX_STREAMS", 200)
    peaks = []
    for pieces in (100, 600, 1_500):  # what is made ready at its first use counts for the first
        write_log(tmp_path / "big.log", noise, pieces)
        peaks.append(peak_of(tmp_path / "big.log"))
    assert peaks[2] < 1.3 * peaks[1] + 50_000


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISE)
def test_memory_is_bounded(noise: str, tmp_path: Path):
    write_log(tmp_path / "big.log", noise, 60_000)
    assert peak_of(tmp_path / "big.log") < 60 << 20
