"""Several processes find what one finds, whatever becomes of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.command_line import Shell
from trl_lint import looks
from trl_lint.engine import check
from trl_lint.settings import Settings
from trl_lint.workers import can_fork, jobs_for, shares, spread

pytestmark = pytest.mark.skipif(not can_fork(), reason="this system does not fork")

FIXTURES = Path(__file__).parent.parent / "fixtures"
FAULT = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda() + torch.zeros(3)\n"


def test_shares_hold_everything_once():
    items = list(range(100))
    split = shares(items, 3)
    assert sorted(item for share in split for item in share) == items
    assert max(map(len, split)) - min(map(len, split)) <= 8
    assert split[0][:8] == items[:8]


def test_results_cross_from_other_processes():
    done = list(spread(list(range(40)), 3, lambda share: (os.getpid(), sum(share))))
    assert sum(total for _, total in done) == sum(range(40))
    assert len({process for process, _ in done}) == 3


def test_the_share_of_a_process_that_dies_is_not_lost():
    parent = os.getpid()

    def work(share: Sequence[int]) -> int:
        if os.getpid() != parent:
            os._exit(3)
        return sum(share)

    assert sum(spread(list(range(40)), 2, work)) == sum(range(40))


@pytest.mark.parametrize(("wanted", "files", "jobs"), [(None, 5, 1), (1, 500, 1), (3, 500, 3), (8, 2, 2), (4, 0, 1)])
def test_jobs(wanted: int | None, files: int, jobs: int):
    assert jobs_for(wanted, files) == jobs


@pytest.mark.parametrize("folder", ["TRL103", "TRL301", "TRL501", "demo"])
def test_what_is_found_does_not_depend_on_their_number(folder: str):
    path = str(FIXTURES / folder)
    alone, together = (check([path], Settings(root=path), jobs=jobs) for jobs in (1, 3))
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
        record = looks.Record()
        with looks.recording(record):
            check([str(tmp_path)], Settings(root=str(tmp_path)), jobs=jobs)
        assert not record.is_torn
        records.append((record.files, record.folders))
    assert records[0] == records[1]


def test_bad_numbers_of_jobs(sh: Shell):
    for text in ("0", "many", "-1"):
        run = sh("--jobs", text)
        assert run.status == 2 and "auto" in run.err
