"""One tree in one fresh process: what the drift rules (TRL3xx) cost beyond parsing. Prints JSON.

`python -m benchmarks.drift FOLDER`
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from trl_lint import engine
from trl_lint.checks.registry import all_rules
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding
from trl_lint.python import module as python_module
from trl_lint.selection import Selection
from trl_lint.settings import Settings

_TOPIC = "trl_lint.checks.drift."


class Costs:
    """What was measured, by file: seconds of parsing (with the one walk for all rules), seconds and findings of the
    drift rules.
    """

    def __init__(self) -> None:
        self.parsing: dict[str, float] = {}
        self.checking: dict[str, float] = {}
        self.findings: dict[str, int] = {}

    def watch_parsing(self) -> None:
        parse = python_module.PythonModule.__init__

        def timed(module: Any, source: Any) -> None:
            start = time.process_time()
            try:
                parse(module, source)
            finally:
                self.parsing[source.path] = self.parsing.get(source.path, 0.0) + time.process_time() - start

        python_module.PythonModule.__init__ = timed  # type: ignore[method-assign]

    def watch(self, rule: Rule) -> None:
        check = rule.check_module

        def timed(module: Any, project: Any) -> Iterator[Finding]:
            start = time.process_time()
            found = list(check(module, project))
            spent = time.process_time() - start
            self.checking[module.path] = self.checking.get(module.path, 0.0) + spent
            self.findings[module.path] = self.findings.get(module.path, 0) + len(found)
            return iter(found)

        rule.check_module = timed  # type: ignore[method-assign]


def measure(folder: str) -> dict[str, Any]:
    """Check a tree with all rules and say what it cost, in milliseconds. `first`: the file that reads the knowledge."""
    costs = Costs()
    costs.watch_parsing()
    for rule in all_rules():
        if type(rule).__module__.startswith(_TOPIC):
            costs.watch(rule)
    # The tree of a package is not the place of our settings.
    result = engine.check([folder], Settings(folder, layers=[Selection(("ALL",))]))
    spent = [seconds * 1000 for seconds in costs.checking.values()]
    return {
        "files": result.checked,
        "importing": len(spent),
        "findings": sum(costs.findings.values()),
        "parsing": sum(costs.parsing.values()) * 1000,
        "drift": sum(spent),
        "first": spent[0] if spent else 0.0,
        "slowest": max(spent[1:], default=0.0),
    }


if __name__ == "__main__":
    json.dump(measure(sys.argv[1]), sys.stdout)
