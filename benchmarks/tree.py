"""One tree in one fresh process: what the drift rules (TRL3xx) cost beyond parsing. Prints JSON.

`python -m benchmarks.tree FOLDER`
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.clock import Clock
from trl_lint import engine
from trl_lint.checks.registry import all_rules
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.python.module import PythonModule
from trl_lint.selection import Selection
from trl_lint.settings import Settings

_TOPIC = "trl_lint.checks.drift."
_PINS, _DRIFT = "pins", "drift rules"
# What the rules are shown, and the file that it stands in.
_HOOKS: dict[str, Callable[[Any], str]] = {
    "check_module": lambda module: str(module.path),
    "check_document": lambda document: str(document.path),
    "check_launch": lambda launch: str(launch.source.path),
}


class Costs:
    """The milliseconds and findings of the drift rules by file, with the part of it that reading pins took."""

    def __init__(self) -> None:
        self.clock = Clock(time.process_time)
        self.checking: dict[str, float] = {}
        self.pins = 0.0
        self.findings = 0
        self.clock.time(PythonModule, "__init__", "parsing")
        self.clock.time(Project, "environment", _PINS)
        self.clock.time(Environment, "package", _PINS)

    def watch(self, rule: Rule) -> None:
        for hook, subject in _HOOKS.items():
            self.clock.time(rule, hook, _DRIFT)
            self._count(rule, hook, subject)

    def _count(self, rule: Rule, hook: str, subject: Callable[[Any], str]) -> None:
        check: Callable[[Any, Project], Iterable[Finding]] = getattr(rule, hook)

        def counted(seen: Any, project: Project) -> list[Finding]:
            spent, path = self.clock.spent, subject(seen)
            pins, before = spent[_PINS], spent[_PINS] + spent[_DRIFT]
            found = list(check(seen, project))
            self.findings += len(found)
            self.pins += spent[_PINS] - pins
            self.checking[path] = self.checking.get(path, 0.0) + spent[_PINS] + spent[_DRIFT] - before
            return found

        setattr(rule, hook, counted)


def measure(folder: str) -> dict[str, float]:
    """Check a tree with all rules; counts, and milliseconds of work. `slowest` leaves out the file that comes first,
    which reads the knowledge for all.
    """
    costs = Costs()
    for rule in all_rules():
        if type(rule).__module__.startswith(_TOPIC):
            costs.watch(rule)
    result = engine.check([folder], Settings(folder, layers=[Selection(("ALL",))]))
    spent = list(costs.checking.values())
    return {
        "files": result.checked,
        "concerned": len(spent),
        "findings": costs.findings,
        "parsing": costs.clock.spent["parsing"],
        "drift": sum(spent),
        "pins": costs.pins,
        "first": spent[0] if spent else 0.0,
        "slowest": max(spent[1:], default=0.0),
    }


if __name__ == "__main__":
    json.dump(measure(sys.argv[1]), sys.stdout)
