"""Several processes find what one finds, whatever becomes of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from subprocess import PIPE

import pytest
from documents import ROOT

from tests.command_line import Shell
from trl_lint import tracked
from trl_lint.engine import check
from trl_lint.project import launches
from trl_lint.settings import Settings
from trl_lint.workers import can_fork, jobs_for, runs_of, spread

pytestmark = pytest.mark.skipif(not can_fork(), reason="this system does not fork")

FIXTURES = Path(__file__).parent.parent / "fixtures"
FAULT = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda() + torch.zeros(3)\n"


@pytest.mark.parametrize("number", [0, 1, 7, 60, 100, 50_000])
@pytest.mark.parametrize("count", [2, 3, 64])
def test_runs_hold_everything_once(number: int, count: int):
    runs = runs_of(range(number), count)
    assert [item for run in runs for item in run] == list(range(number))
    assert len(runs) * 4 < 16_384  # what the smallest pipe holds
    if number > 100 * count:
        assert len(runs[0]) >= 8 and {len(run) for run in runs[-4:]} <= {1, 2}


def test_results_cross_from_other_processes():
    done = list(spread(list(range(400)), 3, lambda items: (os.getpid(), sum(slowly(items)))))
    assert sum(total for _, total in done) == sum(range(400))
    assert len({process for process, _ in done}) == 3


def slowly(items: Iterable[int]) -> Iterator[int]:
    """The items, each after a moment in which others get their turn."""
    for item in items:
        time.sleep(0.0001)
        yield item


def test_who_is_slow_gets_less():
    parent = os.getpid()

    def work(items: Iterable[int]) -> tuple[bool, int]:
        count = 0
        for _ in items:
            time.sleep(0 if os.getpid() == parent else 0.05)
            count += 1
        return os.getpid() == parent, count

    counts = dict(spread(list(range(200)), 2, work))
    assert sum(counts.values()) == 200 and counts[True] > counts[False]


def test_what_a_process_that_dies_had_taken_is_not_lost():
    parent = os.getpid()

    def work(items: Iterable[int]) -> int:
        total = 0
        for item in slowly(items):
            total += item
            if os.getpid() != parent:
                os._exit(3)
        return total

    assert sum(spread(list(range(40)), 2, work)) == sum(range(40))


@pytest.mark.parametrize(("wanted", "files", "jobs"), [(None, 5, 1), (1, 500, 1), (3, 500, 3), (8, 2, 2), (4, 0, 1)])
def test_jobs(wanted: int | None, files: int, jobs: int):
    assert jobs_for(wanted, files) == jobs


LARGE = ("TRL103", "TRL301", "TRL303", "TRL305", "TRL501", "TRL506")
FOLDERS = [pytest.param(str(FIXTURES / name), 1, marks=pytest.mark.slow, id=name) for name in LARGE]


@pytest.mark.parametrize(
    ("path", "step"),
    [
        pytest.param(str(FIXTURES / "demo"), 1, id="demo"),
        pytest.param(str(FIXTURES), 200, id="every 200th fixture"),
        *FOLDERS,
    ],
)
def test_what_is_found_does_not_depend_on_their_number(path: str, step: int):
    paths = [path] if step == 1 else list(map(str, sorted(FIXTURES.glob("TRL*/*/"))[::step]))
    alone, together = (check(paths, Settings(root=path), jobs=jobs) for jobs in (1, 3))
    assert together.findings == alone.findings != []
    assert together.problems == alone.problems
    assert together.checked == alone.checked
    assert {project.root for project in together.projects} == {project.root for project in alone.projects}


def test_suppressions_of_every_share_count(tmp_path: Path):
    for number in range(20):
        noqa = "  # noqa: TRL103" if number % 2 else ""
        (tmp_path / f"train_{number:02}.py").write_text(FAULT.replace("zeros(3)", f"zeros(3){noqa}"))
    found = check([str(tmp_path)], Settings(root=str(tmp_path)), jobs=2).findings
    assert [os.path.basename(one.location.path) for one in found] == [f"train_{n:02}.py" for n in range(0, 20, 2)]


def test_all_processes_write_one_record(tmp_path: Path):
    for number in range(20):
        (tmp_path / f"train_{number:02}.py").write_text(FAULT)
    records = []
    for jobs in (1, 2):
        record = tracked.Record()
        with tracked.recording(record):
            check([str(tmp_path)], Settings(root=str(tmp_path)), jobs=jobs)
        assert not record.is_inconsistent
        records.append((record.files, record.folders))
    assert records[0] == records[1]


def test_notebooks_without_commands_are_found_by_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The report and the record are those of one process, and this one reads but a share of what holds no command."""
    (tmp_path / "requirements.txt").write_text("trl==0.15.2\n")
    (tmp_path / "train.py").write_text(
        "from trl import GRPOConfig\n\nconfig = GRPOConfig(fp16=True, max_grad_norm=0)\n"
    )
    for number in range(80):
        lines = [f"x = {number}\n", "!python train.py --seed 1" if number % 10 == 0 else "!pip install trl==0.15.2"]
        cell = {"cell_type": "code", "source": lines, "metadata": {}, "outputs": [], "execution_count": None}
        notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (tmp_path / f"n{number}.ipynb").write_text(json.dumps(notebook))
    read: list[str] = []
    look, parent = launches.read_launches, os.getpid()

    def slowly(file):
        read.append(file.path)
        time.sleep(0.01 if os.getpid() == parent else 0)  # or it may have read all before the other one has started
        return look(file)

    monkeypatch.setattr(launches, "read_launches", slowly)
    records, found, reads = [], [], []
    for jobs in (1, 2):
        read.clear()
        record = tracked.Record()
        with tracked.recording(record):
            found.append(check([str(tmp_path)], Settings(root=str(tmp_path)), jobs=jobs).findings)
        records.append((record.files, record.folders, record.contents, record.used))
        reads.append(sum(path.endswith(".ipynb") for path in read))
    assert found[0] == found[1] != []
    assert records[0] == records[1]
    assert reads[0] == 80
    assert reads[1] < 80


def test_bad_numbers_of_jobs(sh: Shell):
    for text in ("0", "many", "-1"):
        run = sh("--jobs", text)
        assert run.status == 2 and "auto" in run.err


# -- the end of the parent --------------------------------------------------------------------------------------------

BUSY = """\
import signal, sys, time
from trl_lint.workers import spread

def work(items):
    for item in items:
        print("begun", flush=True)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            sum(range(1000))

print("ready", flush=True)
list(spread(range(100), 3, work))
"""


def start(command: list[str], **environment: str) -> subprocess.Popen[bytes]:
    """A process that heeds signals, even where the tests themselves run under `nohup` or in the background."""

    def heed() -> None:
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)

    changed = {**os.environ, **environment, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=changed, stdout=PIPE, stderr=PIPE, preexec_fn=heed)


def processes_with(mark: str) -> list[int]:
    """The processes whose environment holds a word."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path("/proc", name, "environ").read_bytes():
                found.append(int(name))
        except OSError:
            pass
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
def test_a_worker_ends_with_its_parent(number: signal.Signals):
    mark = f"TRL_LINT_MARK=worker-{os.getpid()}-{number}"
    name, _, value = mark.partition("=")
    parent = start([sys.executable, "-c", BUSY], **{name: value})
    assert parent.stdout is not None
    assert [parent.stdout.readline() for _ in range(2)] == [b"ready\n", b"begun\n"]
    wait_for(lambda: len(processes_with(mark)) == 3)
    os.kill(parent.pid, number)
    parent.communicate(timeout=10)  # somebody who holds its output would keep it open
    wait_for(lambda: not processes_with(mark))


def wait_for(is_so: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_workers_end_with_the_call():
    def work(items: Iterable[int]) -> int:
        if os.getpid() == parent:
            raise KeyboardInterrupt
        time.sleep(60)
        return 0

    parent = os.getpid()
    children = Path(f"/proc/self/task/{parent}/children")
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(spread(list(range(100)), 3, work))
    assert time.monotonic() - start < 5
    if children.exists():
        wait_for(lambda: all(is_zombie(child) for child in children.read_text().split()))


def is_zombie(process: str) -> bool:
    try:
        return ") Z" in Path("/proc", process, "stat").read_text()
    except OSError:
        return True


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_an_interrupted_run_says_so_and_ends(jobs: str, tmp_path: Path):
    for number in range(400):
        (tmp_path / f"train_{number}.py").write_text(FAULT * 40, "utf-8")
    run = start([sys.executable, "-m", "trl_lint", "--no-cache", jobs, str(tmp_path)])
    time.sleep(1.5)
    assert run.poll() is None, "it is at work"
    begun = time.monotonic()
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=10)
    assert (run.returncode, out, err) == (130, b"", b"trl-lint: interrupted\n")
    assert time.monotonic() - begun < 2
