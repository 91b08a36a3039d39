"""Commands in turns: one round after another, so that what slows the machine down meets all of them alike."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.processes import Cost, environment, run
from benchmarks.tools import Command

# A first run of more than this many seconds is a measurement: what byte code and cold files add to it is little.
_COUNTS = 2.0
# Linters end with 1 where they find something, and TorchFix, Fixit and flake8 have no way to say it otherwise.
_WORKED = (0, 1)


class Bounds(NamedTuple):
    """How often something is run: `rounds` times, but no longer than `budget` seconds in all unless it is among `full`,
    and no single run longer than `limit` seconds.
    """

    rounds: int
    budget: float
    limit: float
    full: Collection[str] = ()


class Row(NamedTuple):
    """What the runs of one command came to; `is_bound` means that it was stopped, and took longer than that."""

    tool: str
    walls: list[float]
    works: list[float]
    memory: float
    is_bound: bool

    @property
    def wall(self) -> float:
        return statistics.median(self.walls)

    def as_data(self) -> dict[str, Any]:
        return {
            "tool": self.tool,
            "n": len(self.walls),
            "wall": round(self.wall, 5),
            "work": round(statistics.median(self.works), 5),
            "memory": round(self.memory, 1),
            "is_bound": self.is_bound,
            "walls": [round(wall, 5) for wall in self.walls],
        }


Runner = Callable[[Command, float], Cost]


def runner_in(folder: str, variables: Mapping[str, str]) -> Runner:
    """Runs commands in a folder with some variables more."""

    def runner(command: Command, limit: float) -> Cost:
        surroundings = {**environment(command.path), **variables}
        cost = run(command.argv, folder, surroundings, limit, command.says)
        return cost._replace(wall=float(json.loads(cost.output)["seconds"])) if command.says and cost.output else cost

    return runner


class _Turns:
    """The runs of one command so far."""

    def __init__(self, command: Command, bounds: Bounds) -> None:
        self.command = command
        self.costs: list[Cost] = []
        self._bounds = bounds
        self._rounds = bounds.rounds
        self._spent = 0.0
        self.is_over = False

    def wants_more(self) -> bool:
        if self.is_over or len(self.costs) >= self._rounds:
            return False
        if self.command.tool in self._bounds.full or not self.costs:
            return True
        return self._spent + self._spent / max(len(self.costs), 1) <= self._bounds.budget

    def prepare(self, runner: Runner) -> None:
        """The first run: it writes byte code and fills caches, and counts only if it is long."""
        self.take(runner)
        if self.costs and (self.costs[0].wall < _COUNTS or self.command.is_warm) and not self.is_over:
            self.costs.clear()
            self._spent = 0.0

    def take(self, runner: Runner) -> None:
        limit = self._bounds.limit * (10 if self.command.tool in self._bounds.full else 1)
        cost = runner(self.command, limit)
        if cost.status is not None and cost.status not in _WORKED:
            print(f"{self.command.tool}: status {cost.status}; left out", file=sys.stderr)
            self.costs.clear()
            self.is_over = True
            return
        self._spent += cost.wall
        if cost.status is None:
            self.is_over = True
            if self.costs:
                return  # it did finish before; that says more
        self.costs.append(cost)

    def row(self) -> Row:
        walls, works = [cost.wall for cost in self.costs], [cost.work for cost in self.costs]
        is_bound = self.costs[0].status is None
        return Row(self.command.tool, walls, works, max(cost.memory for cost in self.costs), is_bound)


def measure(commands: Sequence[Command], runner: Runner, bounds: Bounds) -> list[Row]:
    """Run everything in turns; commands that fail are left out with a word on standard error."""
    turns = [_Turns(command, bounds) for command in commands]
    for each in turns:
        each.prepare(runner)
    for number in range(bounds.rounds):
        start = number % max(len(turns), 1)  # nobody always runs after the same neighbour
        for each in turns[start:] + turns[:start]:
            if each.wants_more():
                each.take(runner)
    return [each.row() for each in turns if each.costs]
