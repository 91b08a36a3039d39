"""What a whole process costs: by the clock, of work, and at its largest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LOOK = 0.02  # seconds between two looks at the memory of a process


class Cost(NamedTuple):
    """Seconds by the clock and of work; the megabytes of the largest process; the status, None if it was stopped."""

    wall: float
    work: float
    memory: float
    status: int | None
    output: bytes = b""


def environment(path: str = ROOT) -> dict[str, str]:
    """The variables of a measured process: those of this one, with `path` for its modules."""
    # Users have byte code; a machine that is told to write none would measure the compiler.
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}


def run(
    command: Sequence[str],
    folder: str,
    variables: Mapping[str, str] | None = None,
    limit: float | None = None,
    keep_output: bool = False,
) -> Cost:
    """Run a command in a folder and see what it costs; one that takes more than `limit` seconds is stopped.

    The memory is that of the largest process, as the kernel counts it (`ru_maxrss`), and never less than what this
    process has when it starts the other.
    """
    out = subprocess.PIPE if keep_output else subprocess.DEVNULL
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment() if variables is None else dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    stopped = threading.Event()
    timer = threading.Timer(limit or 0, _stop, (process.pid, stopped))
    if limit is not None:
        timer.start()
    output = process.stdout.read() if process.stdout is not None else b""
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.stdout is not None:
        process.stdout.close()
    answer = None if stopped.is_set() else process.returncode
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, answer, output)


def _stop(pid: int, stopped: threading.Event) -> None:
    stopped.set()
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # the group that `run` made, with what the command has started itself


def run_json(command: Sequence[str], folder: str) -> Any:
    """What a command prints, read as JSON. Raises RuntimeError if it fails."""
    answer = subprocess.run(command, cwd=folder, env=environment(), check=False, capture_output=True)
    if answer.returncode:
        raise RuntimeError(f"{' '.join(command)}: {answer.stderr.decode(errors='replace')[-500:]}")
    return json.loads(answer.stdout)


def peak_memory(command: Sequence[str], folder: str, variables: Mapping[str, str] | None = None) -> float:
    """The megabytes that a command and all it starts take together, at most; shared pages count once.

    Looked at every 20 ms where the system tells (Linux), and never less than the largest process as the kernel counts.
    """
    largest, done = 0.0, threading.Event()
    started: list[int] = []

    def look() -> None:
        nonlocal largest
        while not done.wait(_LOOK):
            largest = max(largest, sum(_share(pid) for pid in _with_children(started[0])) if started else 0.0)

    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment() if variables is None else dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    started.append(process.pid)
    watcher = threading.Thread(target=look)
    watcher.start()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    done.set()
    watcher.join()
    return max(largest, used.ru_maxrss / 1024)


def _with_children(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        with suppress(OSError, ValueError), open(f"/proc/{each}/task/{each}/children", encoding="ascii") as stream:
            found += map(int, stream.read().split())
    return found


def _share(pid: int) -> float:
    """The megabytes of a process, those of shared pages divided among those that share them."""
    with suppress(OSError), open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as stream:
        for line in stream:
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0
