"""One cold run of the command line in this process, split by phases. Prints JSON.

`python -m benchmarks.start SCRIPT`, in the folder of the script.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time

from benchmarks.clock import Clock

_HOOKS = ("check_module", "check_call", "check_document", "check_launch", "check_manifest")


def measure(script: str) -> dict[str, float]:
    """Run `trl-lint SCRIPT` and say where the time went, in milliseconds."""
    clock = Clock(time.process_time)
    clock.start("import of the command line")
    from trl_lint import cli

    clock.stop()
    clock.start("everything else")
    clock.start("import of the engine")
    from trl_lint import engine
    from trl_lint.commands import check_run

    clock.stop()
    clock.start("import of the rules")
    from trl_lint.checks.registry import all_rules

    rules = all_rules()
    from trl_lint.knowledge import histories, releases
    from trl_lint.project import Project
    from trl_lint.project.environment import Environment
    from trl_lint.python.module import PythonModule

    clock.stop()
    clock.time(PythonModule, "__init__", "parsing")
    clock.time(Project, "environment", "pins")
    clock.time(Environment, "package", "pins")
    clock.time(histories, "text_of", "reading of histories")
    clock.time(releases, "releases", "reading of release lists")
    clock.time(check_run, "write", "report")
    clock.time(engine, "collect", "discovery")
    for rule in rules:
        is_drift = rule.code.startswith("TRL3")
        for hook in _HOOKS:
            clock.time(rule, hook, "drift rules" if is_drift else "other rules")
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main([script])
    clock.stop()
    return dict(clock.spent)


if __name__ == "__main__":
    json.dump(measure(sys.argv[1]), sys.stdout)
