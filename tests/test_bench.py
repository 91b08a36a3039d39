"""The benchmarks run, and what they say adds up. How fast it is on this machine is not asserted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.clock import Clock
from benchmarks.samples import write_removed, write_script

ROOT = Path(__file__).resolve().parent.parent


def run(module: str, argument: str, folder: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", module, argument]
    answer = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    found: dict[str, float] = json.loads(answer.stdout)
    return found


class Worker:
    """Turns the hands of its own clock."""

    def __init__(self) -> None:
        self.now = 0.0

    def inner(self) -> str:
        self.now += 2
        return "done"

    def outer(self):
        self.now += 1
        yield self.inner()
        self.now += 1


def test_phase_stands_still_while_another_one_runs():
    worker = Worker()
    clock = Clock(lambda: worker.now)
    clock.time(worker, "inner", "inside")
    clock.time(worker, "outer", "outside")
    assert worker.outer() == ["done"]
    worker.now += 100
    assert dict(clock.spent) == {"outside": 2000, "inside": 2000}


def test_every_removed_argument_is_one_finding(tmp_path: Path):
    write_removed(str(tmp_path))
    calls = sum(text.count("=value)") for text in (p.read_text() for p in tmp_path.rglob("train.py")))
    found = run("benchmarks.tree", str(tmp_path), ROOT)
    assert found["findings"] == calls > 300
    assert found["concerned"] == len(list(tmp_path.rglob("train.py")))
    # The clock of the processor may tick every few milliseconds: what takes less is nothing.
    assert 0 <= found["pins"] < found["drift"] and found["slowest"] < found["drift"]


def test_tables_are_printed(tmp_path: Path):
    write_script(str(tmp_path))
    command = [sys.executable, "-m", "benchmarks", "--rounds", "1", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1) and done.stderr == ""  # how fast this machine is, is not the question
    assert f"| {tmp_path.name} | 2 | 1 |" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Targets: 1.0 ms a finding, 3.0 ms a file: ")


def test_phases_of_a_cold_run(tmp_path: Path):
    script = Path(write_script(str(tmp_path)))
    found = run("benchmarks.start", script.name, tmp_path)
    assert {"import of the rules", "parsing", "pins", "drift rules", "report"} < found.keys()
    assert all(spent >= 0 for spent in found.values()) and found["drift rules"] > 0
