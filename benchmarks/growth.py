"""How a run grows with its project: `python -m benchmarks.growth [SIZE…]`. See README.md.

Projects of `mix.py` from 100 to 10,000 files, cold runs without cache: the time, and the memory of all processes
together. It ends with 1 where the growth is not linear or the memory more than the target.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks.machine import head, write_results
from benchmarks.mix import write_project
from benchmarks.processes import peak_memory, run
from benchmarks.report import growth_tables
from benchmarks.targets import GROWTH_MEMORY, STRAIGHT

SIZES = (100, 300, 1000, 3000, 10_000)
_COMMAND = (sys.executable, "-m", "trl_lint", "--no-cache", "--exit-zero", "--quiet", ".")


def exponent_of(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the straight line through points on logarithmic scales, by least squares: 1 is linear growth."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    x_mean, y_mean = statistics.fmean(xs), statistics.fmean(ys)
    spread = sum((x - x_mean) ** 2 for x in xs)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / spread


def line_through(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The straight line that misses the points by the least shares of their height: its height at 0, and its slope."""
    weights = [1 / y**2 for _, y in points]
    total = sum(weights)
    x_mean = sum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    y_mean = sum(w * y for w, (_, y) in zip(weights, points, strict=True)) / total
    spread = sum(w * (x - x_mean) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    slope = sum(w * (x - x_mean) * (y - y_mean) for w, (x, y) in zip(weights, points, strict=True)) / spread
    return y_mean - slope * x_mean, slope


def measure(sizes: Sequence[int], rounds: int, seed: int, scratch: str) -> dict[str, Any]:
    """Runs in turns over projects of all sizes. Raises RuntimeError where a run fails."""
    folders = {size: os.path.join(scratch, str(size)) for size in sizes}
    written = {size: write_project(folder, size, seed) for size, folder in folders.items()}
    memory = {size: peak_memory(_COMMAND, folder) for size, folder in folders.items()}  # and byte code is written
    walls: dict[int, list[float]] = {size: [] for size in folders}
    for _ in range(rounds):
        for size, folder in folders.items():
            cost = run(_COMMAND, folder)
            if cost.status != 0:
                raise RuntimeError(f"{size} files: status {cost.status}")
            walls[size].append(cost.wall)
    middle = {size: statistics.median(found) for size, found in walls.items()}
    rows = [
        {
            "files": size,
            "bytes": written[size],
            "wall": round(middle[size], 4),
            "walls": [round(wall, 4) for wall in walls[size]],
            "memory": round(memory[size], 1),
        }
        for size in sizes
    ]
    return {"seed": seed, "rounds": rounds, **growth_of([(size, middle[size]) for size in sizes]), "rows": rows}


def growth_of(points: Sequence[tuple[float, float]]) -> dict[str, float]:
    """How straight a curve of times over sizes is: `start` and `slope` of the line through it, how far it is `off`
    that line (the most, as a share of its height), and the `exponent` of the times beyond the start.
    """
    start, slope = line_through(points)
    off = max(abs(start + slope * x - y) / y for x, y in points)
    exponent = exponent_of([(x, max(y - start, 1e-4)) for x, y in points])
    return {"start": round(start, 4), "slope": round(slope, 7), "off": round(off, 4), "exponent": round(exponent, 4)}


def is_held(results: dict[str, Any]) -> bool:
    off, memory = float(results["off"]), float(results["rows"][-1]["memory"])
    return off <= STRAIGHT and memory < GROWTH_MEMORY


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description="Measure projects of all sizes.")
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, metavar="SIZE", help="numbers of files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", metavar="FILE", help="keep the results as data")
    args = parser.parse_args(arguments)
    scratch = tempfile.mkdtemp(prefix="trl-lint-growth-")
    try:
        results = {**head(), **measure(args.sizes, args.rounds, args.seed, scratch)}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if args.output:
        write_results(args.output, results)
    print(growth_tables(results))
    return 0 if is_held(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
