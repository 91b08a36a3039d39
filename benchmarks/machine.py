"""When, where and with which versions something was measured: the head of every file of results."""

from __future__ import annotations

import json
import os
import platform
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
_OWN = ("libcst", "packaging", "pyyaml", "tomli", "tree-sitter", "tree-sitter-bash")


def head() -> dict[str, Any]:
    """The date, the machine, and the versions of Python, of trl-lint and of what it stands on."""
    from trl_lint import __version__

    versions = {"Python": platform.python_version(), "trl-lint": __version__}
    for name in _OWN:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    machine = {"processor": _processor(), "cores": _cores(), "system": platform.system()}
    return {"date": time.strftime("%Y-%m-%d"), "machine": machine, "versions": versions}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as stream:
        for line in stream:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def write_results(path: str, results: dict[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(results, stream, indent=1)
        stream.write("\n")


def read_results(name: str) -> dict[str, Any] | None:
    """Recorded results by their name; None if there are none."""
    try:
        with open(os.path.join(RESULTS, f"{name}.json"), encoding="utf-8") as stream:
            found: dict[str, Any] = json.load(stream)
    except FileNotFoundError:
        return None
    return found
