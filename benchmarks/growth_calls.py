"""How the number of function calls of a run grows: `python -m benchmarks.growth_calls [NAME…]`.

As `growth_laws`, but calls are counted (those of functions in C as well), and no seconds: the counts do not depend on
what else the machine does, and they say which function grows. What one call does, such as a search of a long text, is
not in them. It ends with 1 where the exponent of a family is above `MOST_EXPONENT`.
"""

from __future__ import annotations

import argparse
import os
import pstats
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.growth import exponent_of
from benchmarks.growth_laws import chosen, written
from benchmarks.laws import Law
from benchmarks.machine import head, write_results
from benchmarks.processes import environment
from benchmarks.targets import MOST_EXPONENT

Calls = dict[str, int]
"""How often each function was called, by its file, line and name."""

_RUN = (
    "import cProfile, sys\n"
    "from trl_lint.cli import main\n"
    "profile = cProfile.Profile()\n"
    "profile.runcall(main, sys.argv[2:])\n"
    "profile.dump_stats(sys.argv[1])\n"
)
_PART = 4  # of the largest size
_FEW = 100_000  # calls of one function, of which nobody notices how they grow
_TELLING = 500_000  # of a whole run: with fewer, what is read once is most of them
_STEEP = 1.4


class Count(NamedTuple):
    """How a family grows: its calls by size, beyond those of a tiny input, and the functions that grow faster.

    `exponent` is 0 where the calls are too few to tell.
    """

    name: str
    calls: dict[int, int]
    exponent: float
    steep: dict[str, float]


def count(one: Law) -> Count:
    """Count the calls for the largest size and a fourth of it."""
    tiny = sum(calls_for(one, 1).values())
    sizes = (max(1, one.largest // _PART), one.largest)
    less, most = (calls_for(one, size) for size in sizes)
    beyond = {size: max(1, sum(calls.values()) - tiny) for size, calls in zip(sizes, (less, most), strict=True)}
    steep = {
        name: grown
        for name, number in most.items()
        if number > _FEW and (grown := exponent_of([(sizes[0], less.get(name, 1)), (sizes[1], number)])) > _STEEP
    }
    exponent = exponent_of(list(beyond.items())) if beyond[one.largest] >= _TELLING else 0.0
    return Count(one.name, beyond, exponent, steep)


def calls_for(one: Law, size: int) -> Calls:
    """The calls of one run over an input of a size. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory(prefix="trl-lint-law-") as folder:
        written(one, size, folder)
        out = os.path.join(folder, os.pardir, f"{os.path.basename(folder)}.prof")
        command = [sys.executable, "-c", _RUN, out, *(one.arguments or ("--no-cache", "-j1", "--quiet", "."))]
        try:
            subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=True)
            stats = pstats.Stats(out).stats  # type: ignore[attr-defined]
        finally:
            if os.path.exists(out):
                os.remove(out)
    return {f"{os.path.basename(path)}:{line} {name}": row[1] for (path, line, name), row in stats.items()}


def as_data(found: Sequence[Count]) -> list[dict[str, Any]]:
    return [
        {"name": one.name, "calls": {str(size): n for size, n in one.calls.items()}, "exponent": round(one.exponent, 2)}
        for one in found
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth_calls", description="Count calls by kind.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only families whose names hold one of these")
    parser.add_argument("--output", metavar="FILE", help="keep the results as data")
    args = parser.parse_args(arguments)
    found = []
    for one in chosen(args.names):
        found.append(count(one))
        steep = "".join(f"\n    {grown:.2f} {name}" for name, grown in found[-1].steep.items())
        print(f"{found[-1].exponent:.2f} {one.name} {found[-1].calls}{steep}", flush=True)
    if args.output:
        write_results(args.output, {**head(), "laws": as_data(found)})
    return 0 if all(one.exponent <= MOST_EXPONENT for one in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
