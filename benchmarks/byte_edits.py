"""Random edits of the bytes of every kind of file that is read, with Hypothesis. `make torture`, see README.md.

`python -m benchmarks.byte_edits [--cases N] [--seed N]` edits one file of a small project (`kinds.py`), or what else a
command reads, and runs a command on it. Whatever the bytes are, a command ends in time with 0, 1 or 2, says what is
wrong in lines of its own, and breaks no file. A failure is made as small as it gets and printed; the exit status is 1.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import io
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning

from benchmarks import fix_safety, kinds, torture
from trl_lint import tracked
from trl_lint.cache import parts
from trl_lint.cache.entry import Entry, decoded
from trl_lint.cli import main as trl_lint
from trl_lint.review import ReviewError
from trl_lint.review.diff import read_diff
from trl_lint.review.event import find_target, read_event
from trl_lint.review.report import read_report

# A case takes some milliseconds. One that works for longer than this never ends, as far as anybody can tell; one that
# takes so long without working waits for something, or for others on a busy machine.
_SECONDS = 10.0
_WAIT = 180.0
CHECK = ("check", ".", "--select", "ALL")
JSON = (*CHECK, "--isolated", "--output-format", "json")
# The commands that read a project, the first of them as often as all others.
_COMMANDS: tuple[tuple[str, ...], ...] = (
    (*CHECK, "--isolated", "--diff", "--unsafe-fixes"),
    (*CHECK, "--isolated", "--fix", "--unsafe-fixes", "--show-fixes"),
    (*CHECK, "--isolated", "--add-noqa=known"),
    (*CHECK, "--isolated", "--baseline", "new.json", "--write-baseline"),
    (*CHECK, "--isolated", "--output-format", "full", "--hints", "--verbose"),
    (*CHECK, "--isolated", "--output-format", "github"),
    ("environment", "."),
    ("runs", ".", "--output-format", "json"),
)
# What stands beside an edited file, so that what it says meets something.
_BESIDE = {
    "train.py": ("run.sh", "requirements.txt"),
    "run.sh": ("train.py", "recipe.yaml"),
    "Makefile": ("train.py",),
    "Dockerfile": ("requirements.txt", "train.py"),
    ".github/workflows/train.yml": ("train.py",),
    "recipe.yaml": ("run.sh", "uv.lock"),
    "accelerate.yaml": ("run.sh",),
    "ds.json": ("run.sh", "uv.lock"),
    "configs/ppo.yaml": ("run.sh",),
    "requirements.txt": ("setup.cfg",),
    "README.md": ("requirements.txt",),
    ".gitignore": ("recipe.yaml",),
}
_PATCH = """\
@@ -1,4 +1,5 @@ def main():
 import torch
-x = 1
+x = 2
+y = 3
 z = 4
@@ -20 +21,2 @@
-a
\\ No newline at end of file
+b
+c
"""
_NUMBER = re.compile(rb"\d+")
_NUMBERS = (b"9" * 5000, b"0", b"-1", b"1e999", b"1" * 20, b"0x1F", b"1_000", b"\xd9\xa3", b"nan", b"1.5.2")
_RUNS = count(1)
_COLLECT = 50
_SHOWN = 1500  # characters of an input, and of what it leads to
_GZIP = b"\x1f\x8b"
_MESSAGE = 2100  # characters; what a file says is quoted, and not the whole of it
_ORDERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Said(NamedTuple):
    """What a command line came to."""

    status: int
    out: str
    err: str


class Case(NamedTuple):
    """A kind of input: its bytes as they should be, and what is wrong with what some bytes in their place lead to.

    The second argument is a number that stands for one way of looking at the input.
    """

    name: str
    data: bytes
    problems: Callable[[bytes, int], list[str]]


# -- edits ------------------------------------------------------------------------------------------------------------

_INSERTS = st.one_of(st.binary(min_size=1, max_size=6), st.sampled_from(torture.INSERTS))


@st.composite
def edited(draw: st.DrawFn, data: bytes) -> bytes:
    """Some bytes after a few edits: stretches that go, and others that come."""
    way = draw(st.integers(0, 11))
    if way == 11:  # a number that nobody would write
        start, end = draw(st.sampled_from([match.span() for match in _NUMBER.finditer(data)] or [(0, 0)]))
        return data[:start] + draw(st.sampled_from(_NUMBERS)) + data[end:]
    if way > 8:  # lines in another order, other encodings, brackets without end
        return torture.broken(draw(st.randoms(use_true_random=False)), data)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        length = draw(st.sampled_from((0, 0, 1, 1, 2, 5, 40)))
        data = data[:start] + (draw(_INSERTS) if draw(st.booleans()) else b"") + data[start + length :]
    return data


# -- the command line -------------------------------------------------------------------------------------------------


def said(arguments: tuple[str, ...]) -> Said:
    """What a command says in this process."""
    tracked.forget()
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        status = trl_lint(arguments)
    # A check ends its process and keeps what it has read from being looked at again; this process goes on.
    gc.unfreeze()
    if next(_RUNS) % _COLLECT == 0:
        gc.collect()
    out, err = (stream.buffer.getvalue().decode("utf-8") for stream in streams)
    return Said(status, out, err)


def faults(done: Said) -> list[str]:
    """What no command may do, whatever it reads."""
    found = [] if done.status in (0, 1, 2) else [f"status {done.status}"]
    found += [f"said {word}" for word in ("internal error", "Traceback") if word in done.out + done.err]
    lines = done.err.splitlines()
    found += [f"drives a terminal: {line!r}" for line in lines if _ORDERS.search(line)]
    if done.status == 2 and not any(line.startswith("trl-lint: ") for line in lines):
        found.append("status 2 without a word")
    return [f"{one}\n{done.err[-2000:]}" for one in found]


def faults_of_report(done: Said) -> list[str]:
    """The same for a report in JSON, and a rule or reader that failed."""
    if done.status == 2 and not done.out:
        return faults(done)
    report: dict[str, Any] = json.loads(done.out)
    found = [one["message"] for one in report["findings"] if one["code"] == "TRL003"]
    found += [f"a finding without a place: {one}" for one in report["findings"] if not _has_place(one)]
    found += [f"a message without end: {one}" for one in report["findings"] if len(one["message"]) > _MESSAGE]
    return [*faults(done), *found]


def _has_place(finding: dict[str, Any]) -> bool:
    start, end = ((at.get("cell") or 0, at["line"], at["column"]) for at in (finding["start"], finding["end"]))
    return (0, 1, 1) <= start <= end


# -- what is read -----------------------------------------------------------------------------------------------------


def lay_out(files: dict[str, bytes]) -> None:
    """Make the working folder hold these files and nothing else."""
    for name in os.listdir("."):
        shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)
    for path, data in files.items():
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(data)


def of_the_project(name: str) -> Case:
    """A file that a check of its folder reads, by any of the commands that do."""

    def problems(data: bytes, way: int) -> list[str]:
        files = {name: data, **{path: kinds.PROJECT[path] for path in _BESIDE.get(name, ())}}
        lay_out(files)
        if way % 2:
            return faults_of_report(said(JSON))
        command = _COMMANDS[way // 2 % len(_COMMANDS)]
        done = said(command)
        found = faults(done)
        if "--add-noqa=known" not in command and "--write-baseline" not in command:
            after = fix_safety.read_tree(Path())
            before = {path: fix_safety.State(old, after[path].mode) for path, old in files.items() if path in after}
            found += fix_safety.damage(before, after)
            found += [f"{path} went" for path in files.keys() - after.keys()]
        return found

    return Case(name, kinds.PROJECT[name], problems)


def _settings(data: bytes, way: int) -> list[str]:
    lay_out({"recipe.yaml": kinds.PROJECT["recipe.yaml"], "trl-lint.toml": data})
    if way % 2:
        return faults(said(("check", ".")))
    lay_out({"recipe.yaml": kinds.PROJECT["recipe.yaml"], "pyproject.toml": b"[tool.trl-lint]\n" + data})
    return faults(said(("check", "recipe.yaml")))


def _baseline() -> bytes:
    lay_out({name: kinds.PROJECT[name] for name in ("recipe.yaml", "train.py")})
    said((*CHECK, "--isolated", "--baseline", "known.json", "--write-baseline"))
    return Path("known.json").read_bytes()


def _with_baseline(data: bytes, way: int) -> list[str]:
    lay_out({"recipe.yaml": kinds.PROJECT["recipe.yaml"], "known.json": data})
    return faults_of_report(said((*JSON, "--baseline", "known.json")))


def _log(data: bytes, way: int) -> list[str]:
    name = "run.log.gz" if data.startswith(_GZIP) else "run.log"
    lay_out({name: data, "train.py": kinds.PROJECT["train.py"]})
    options = (("--output-format", "json"), ("--project", "."), ())[way % 3]
    done = said(("diagnose", name, *options))
    if "json" in options and done.out:
        json.loads(done.out)
    return faults(done)


_KEPT = ("check", ".", "--isolated", "--cache-dir", "kept")


@contextmanager
def _cache() -> Iterator[None]:
    before = os.environ.pop("TRL_LINT_NO_CACHE", None)
    try:
        yield
    finally:
        if before is not None:
            os.environ["TRL_LINT_NO_CACHE"] = before


def _entry() -> bytes:
    lay_out({name: kinds.PROJECT[name] for name in ("recipe.yaml", "run.sh")})
    with _cache():
        said(_KEPT)
    (entry,) = Path("kept").rglob("*.report")
    return entry.read_bytes()


def _with_cache(data: bytes, way: int) -> list[str]:
    """A run with a damaged entry says what a run without any says; and what reads its fields refuses or reads them."""
    files = {name: kinds.PROJECT[name] for name in ("recipe.yaml", "run.sh")}
    lay_out(files)
    plain = said((*_KEPT, "--no-cache"))
    with _cache():
        said(_KEPT)
        (entry,) = Path("kept").rglob("*.report")
        with open(entry, "r+b") as stream:
            stream.truncate()
            stream.write(data)
        done = said(_KEPT)
    found = [] if done == plain else [f"with the cache: {done}\nwithout: {plain}"]
    with suppress(ValueError, IndexError):
        fields: Entry = decoded(data.partition(b"\n")[2])
        parts.decoded(fields.parts, fields.place[1])
    return [*faults(done), *found]


def _patch(data: bytes, way: int) -> list[str]:
    file = {"filename": "train.py", "status": "modified", "sha": "0" * 40, "patch": data.decode("utf-8", "replace")}
    for diff in read_diff([file]).values():
        for hunk in diff.hunks:
            last = hunk.start + len(hunk.lines)
            if any(not hunk.start - 1 <= line <= last for line in hunk.touched):
                return [f"a change outside of its hunk: {hunk}"]
            diff.touches(1, 5), diff.hunk(hunk.start, hunk.start)
    return []


def _report() -> bytes:
    lay_out({name: kinds.PROJECT[name] for name in ("recipe.yaml", "train.py", "run.sh")})
    return said(JSON).out.encode()


def _read_report(data: bytes, way: int) -> list[str]:
    with suppress(ReviewError):
        read_report(data, "report.json", ("", "sub")[way % 2])
    return []


_EVENT = {"pull_request": {"number": 7, "head": {"sha": "0" * 40}}}


def _event(data: bytes, way: int) -> list[str]:
    Path("event.json").write_bytes(data)
    with suppress(ReviewError):
        find_target(None, "o/r", read_event("event.json"), None)  # type: ignore[arg-type]
    return []


def cases() -> list[Case]:
    """Every kind of input. The working folder is used for what has to be made first."""
    return [
        *map(of_the_project, kinds.PROJECT),
        Case("settings", kinds.SETTINGS, _settings),
        Case("baseline", _baseline(), _with_baseline),
        Case("log", kinds.LOG, _log),
        Case("log.gz", gzip.compress(kinds.LOG, mtime=0), _log),
        Case("cache", _entry(), _with_cache),
        Case("patch", _PATCH.encode(), _patch),
        Case("report", _report(), _read_report),
        Case("event", json.dumps(_EVENT).encode(), _event),
    ]


# -- running ----------------------------------------------------------------------------------------------------------


class Toll(NamedTuple):
    """What the edits of one kind of input came to; `failure` is the smallest one that broke something, "" for none."""

    cases: int
    slowest: float
    failure: str


@contextmanager
def _in_time() -> Iterator[None]:
    def hang(number: int, frame: FrameType | None) -> None:
        raise torture.Hang

    limits = ((signal.SIGPROF, signal.ITIMER_PROF, _SECONDS), (signal.SIGALRM, signal.ITIMER_REAL, _WAIT))
    before = [signal.signal(number, hang) for number, _, _ in limits]
    for _, timer, seconds in limits:
        signal.setitimer(timer, seconds)
    try:
        yield
    except torture.Hang:
        raise AssertionError(f"more than {_SECONDS:.0f} s of work, or {_WAIT:.0f} s of waiting") from None
    finally:
        for (number, timer, _), handler in zip(limits, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def edit(case: Case, most: int, start: int | None = None) -> Toll:
    """Try `most` edits of a kind of input in the working folder; the same ones at every call, or those of a seed."""
    number, slowest, broken = 0, 0.0, ""

    def holds(data: bytes, way: int) -> None:
        nonlocal number, slowest, broken
        number += 1
        begun = time.process_time()
        broken = f"way {way}, {difference(case.data, data)}"  # Hypothesis ends with the smallest one that fails
        with _in_time():
            problems = case.problems(data, way)
        slowest = max(slowest, time.process_time() - begun)
        assert not problems, "\n".join(problems)

    test = given(edited(case.data), st.integers(0, 47))(holds)
    options = settings(
        max_examples=most, derandomize=start is None, database=None, deadline=None, report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck), print_blob=False,
    )  # fmt: skip
    test = options(test if start is None else seed(start)(test))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)  # it prints the whole input
            test()
    except Exception as error:
        return Toll(number, slowest, f"{broken[:_SHOWN]}\n{type(error).__name__}: {error}"[: 2 * _SHOWN])
    return Toll(number, slowest, "")


def difference(before: bytes, after: bytes) -> str:
    """Where two files differ: what stands between all that they share at the start and at the end."""
    start = _shared(before, after)
    end = _shared(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    return f"byte {start}: {old!r} became {new!r}"


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two stretches have in common from their start."""
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)


@contextmanager
def scratch() -> Iterator[None]:
    """A working folder of one's own, without a cache."""
    here, kept = os.getcwd(), os.environ.get("TRL_LINT_NO_CACHE")
    os.environ["TRL_LINT_NO_CACHE"] = "1"
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                yield
            finally:
                os.chdir(here)
    finally:
        if kept is None:
            del os.environ["TRL_LINT_NO_CACHE"]
        else:
            os.environ["TRL_LINT_NO_CACHE"] = kept


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.byte_edits", description="Edit what is read at random.")
    parser.add_argument("names", nargs="*", metavar="KIND", help="a file of the project or another input; all if none")
    parser.add_argument("--cases", type=int, default=10_000, help="how many, shared out among the kinds of input")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| bytes of | cases | slowest, s of work | failures |\n|---|---|---|---|")
    failures = []
    with scratch():
        chosen = [case for case in cases() if not args.names or case.name in args.names]
        for case in chosen:
            toll = edit(case, -(-args.cases // len(chosen)), args.seed)
            print(f"| {case.name} | {toll.cases:,} | {toll.slowest:.1f} | {int(bool(toll.failure))} |", flush=True)
            failures += [f"{case.name}: {toll.failure}"] if toll.failure else []
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
