"""How the work of a run grows with each thing that a project can have many of: `python -m benchmarks.growth_laws`.

Every family of `laws/` is checked at three sizes, the largest sixteen times the smallest, each in its own process. The
exponent of the work beyond that of a tiny input has to stay below `MOST_EXPONENT`, and the largest input below
`MOST_WORK` seconds. It ends with 1 where one of them does not.
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

from benchmarks.growth import exponent_of
from benchmarks.laws import Law, every_law
from benchmarks.machine import head, write_results
from benchmarks.processes import Cost, run
from benchmarks.targets import MOST_EXPONENT, MOST_WORK

_PARTS = (16, 4, 1)  # of the largest size
# What one process varies by from run to run: less than that tells nothing about growth.
_NOISE = 0.03
_LIMIT = 30.0  # seconds, at which a run is stopped
_SLOWEST = 10


class Growth(NamedTuple):
    """How a family grows: seconds of work by size, beyond `start`; `exponent` is 0 where they are too few to tell."""

    name: str
    start: float
    seconds: dict[int, float]
    exponent: float
    problem: str = ""

    @property
    def largest(self) -> float:
        return self.start + max(self.seconds.values(), default=0.0)

    @property
    def is_held(self) -> bool:
        return not self.problem and self.exponent <= MOST_EXPONENT and self.largest <= MOST_WORK


def measure(one: Law, rounds: int) -> Growth:
    """Check a family at its sizes; what takes a second runs once, since noise is no part of it."""
    start = _least(one, 1, rounds)
    seconds: dict[int, float] = {}
    for size in dict.fromkeys(max(1, one.largest // part) for part in _PARTS):
        cost = _least(one, size, rounds)
        if cost.status not in (0, 1):
            what = f"status {cost.status}" if cost.status is not None else f"stopped after {_LIMIT:.0f} s"
            return Growth(one.name, start.work, {**seconds, size: cost.work}, 0.0, f"{what} at {size}")
        seconds[size] = max(0.0, cost.work - start.work)
    points = [(size, spent) for size, spent in seconds.items() if spent >= _NOISE]
    return Growth(one.name, start.work, seconds, exponent_of(points) if len(points) > 1 else 0.0)


def _least(one: Law, size: int, rounds: int) -> Cost:
    folder = tempfile.mkdtemp(prefix="trl-lint-law-")
    try:
        written(one, size, folder)
        command = [sys.executable, "-m", "trl_lint", *(one.arguments or ("--no-cache", "-j1", "--quiet", "."))]
        costs = [run(command, folder, limit=_LIMIT)]
        while len(costs) < rounds and costs[-1].status is not None and costs[-1].work < 1:
            costs.append(run(command, folder, limit=_LIMIT))
        return min(costs, key=lambda cost: cost.work)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def written(one: Law, size: int, folder: str) -> None:
    """Write the files of a family, at a size, into a folder."""
    for name, text in {".git/HEAD": "", **one.files(size)}.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)


def chosen(names: Sequence[str]) -> list[Law]:
    """The families whose names hold one of these; all of them for none."""
    return [one for one in every_law() if not names or any(name in one.name for name in names)]


def table(found: Sequence[Growth]) -> str:
    """What was measured, the slowest first, and what is not as it should be."""
    rows = ["| what there are many of | largest | seconds | exponent | |", "|---|---|---|---|---|"]
    slowest = sorted(found, key=lambda one: one.largest, reverse=True)
    failing = [one for one in slowest if not one.is_held]
    for one in [*slowest[:_SLOWEST], *(one for one in failing if one not in slowest[:_SLOWEST])]:
        size = max(one.seconds, default=0)
        mark = "" if one.is_held else one.problem or "**too much**"
        rows.append(f"| {one.name} | {size:,} | {one.largest:.2f} | {one.exponent:.2f} | {mark} |")
    return "\n".join(rows) + f"\n\n{len(found)} families, {len(failing)} not held."


def as_data(found: Sequence[Growth]) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "start": round(one.start, 3),
            "seconds": {str(size): round(spent, 3) for size, spent in one.seconds.items()},
            "exponent": round(one.exponent, 2),
            "problem": one.problem,
        }
        for one in found
    ]


def _kept(path: str, found: Sequence[Growth]) -> list[dict[str, Any]]:
    """What was measured before of other families that there still are."""
    names = {one.name for one in every_law()} - {one.name for one in found}
    try:
        with open(path, encoding="utf-8") as stream:
            return [row for row in json.load(stream)["laws"] if row["name"] in names]
    except FileNotFoundError:
        return []


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth_laws", description="Measure growth by kind.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only families whose names hold one of these")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", metavar="FILE", help="keep the results as data")
    args = parser.parse_args(arguments)
    found = []
    for one in chosen(args.names):
        found.append(measure(one, args.rounds))
        if not found[-1].is_held:
            print(f"{one.name}: {as_data(found[-1:])[0]}", file=sys.stderr, flush=True)
    if args.output:
        rows = [*_kept(args.output, found), *as_data(found)] if args.names else as_data(found)
        write_results(args.output, {**head(), "rounds": args.rounds, "laws": rows})
    print(table(found))
    return 0 if all(one.is_held for one in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
