"""What inputs that mean harm cost, and what is left out of them without a word: `python -m benchmarks.hostile`.

Each kind of `hostile_kinds.py` and `hostile_readers.py` is checked once, in its own process. It fails where it takes
more than `MOST_WORK` seconds of the processor or `_MEGABYTES`, where the tool breaks (status 2, TRL003, a signal), and
where the canary is neither found nor spoken of by a notice. It ends with 1 where one fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import benchmarks.hostile_projects
import benchmarks.hostile_readers  # noqa: F401
from benchmarks.hostile_kinds import KINDS, Kind
from benchmarks.machine import head, write_results
from benchmarks.processes import run
from benchmarks.targets import MOST_WORK

_MEGABYTES = 500.0
_TELLING = ("TRL301", "TRL403", "TRL602", "TRL001")  # of a canary: its fault, or that its file cannot be read
_LIMIT = 120.0  # seconds, at which a run is stopped
_COMMAND = [sys.executable, "-m", "trl_lint", "--no-cache", "-j1", "--output-format", "json", "."]


class Toll(NamedTuple):
    """What one kind came to; `faults` are those of "slow", "large", "broken" and "lost"."""

    name: str
    seen: bool
    kilobytes: float
    seconds: float
    megabytes: float
    faults: tuple[str, ...]
    said: tuple[str, ...]


def measure(one: Kind) -> Toll:
    """Check one kind."""
    folder = tempfile.mkdtemp(prefix="trl-lint-hostile-")
    try:
        files = {".git/HEAD": "", **one.files(one.size)}
        for name, text in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
        cost = run(_COMMAND, folder, limit=_LIMIT, keep_output=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report = _report(cost.output)
    left = report["coverage"]["entry_points"]
    notes = tuple(sorted({one["message"] for one in report["notices"]} | {f"{x['name']}: {x['reason']}" for x in left}))
    is_stopped = cost.status is None
    broken = cost.status not in (0, 1, None) or any(found["code"] == "TRL003" for found in report["findings"])
    found = any(found["path"] == one.canary and found["code"] in _TELLING for found in report["findings"])
    faults = {
        "slow": is_stopped or cost.work > MOST_WORK,
        "large": cost.memory > _MEGABYTES,
        "broken": broken,
        "lost": not (broken or is_stopped or found or notes),
    }
    size = sum(map(len, files.values())) / 1000
    said = tuple(note[:200] for note in notes)
    wrong = tuple(name for name, holds in faults.items() if holds)
    return Toll(one.name, one.seen, round(size, 1), round(cost.work, 2), round(cost.memory, 1), wrong, said)


def _report(output: bytes) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads(output)
    except ValueError:
        return {"findings": [], "notices": [], "coverage": {"entry_points": []}}
    return report


def summary(found: Sequence[Toll]) -> str:
    """How many failed, and by what, of the kinds that were tried before and of the others."""
    rows = []
    for seen, what in ((True, "known kinds"), (False, "new kinds")):
        some = [one for one in found if one.seen == seen]
        counts = {name: sum(name in one.faults for one in some) for name in ("slow", "large", "broken", "lost")}
        rows.append(f"{len(some)} {what}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description="Check inputs that mean harm.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only kinds whose names hold one of these")
    parser.add_argument("--output", metavar="FILE", help="keep the results as data")
    args = parser.parse_args(arguments)
    found = []
    for one in KINDS:
        if not args.names or any(name in one.name for name in args.names):
            found.append(measure(one))
            last = found[-1]
            what = ", ".join(last.faults) or "held"
            print(f"{last.seconds:7.2f} s {last.megabytes:5.0f} MB {last.name}: {what}", flush=True)
    if args.output:
        write_results(args.output, {**head(), "kinds": [one._asdict() for one in found]})
    print(summary(found))
    return 1 if any(one.faults for one in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
