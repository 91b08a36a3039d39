"""What the measurements are held against: how much longer one thing may take than another, in the same run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

CLEAN, WRONG = "clean script", "script with a finding"
START, PLUGIN, FIX = "start", "plugin", "fix"


class Target(NamedTuple):
    """`tool` takes at most `most` times what `other` takes on `subject`."""

    subject: str
    tool: str
    other: str
    most: float


TARGETS = (
    Target(CLEAN, "trl-lint cold", "flake8 -j1", 0.4),
    Target(CLEAN, "trl-lint cold", "ruff cold", 5),
    Target(CLEAN, "trl-lint warm", "ruff warm", 4),
    Target(WRONG, "trl-lint cold", "TorchFix", 0.6),
    Target(WRONG, "trl-lint cold", "flake8 -j1", 2.2),
    Target(WRONG, "trl-lint warm", "ruff warm", 4),
    Target("trl", "trl-lint cold", "TorchFix", 0.03),
    Target("trl", "trl-lint cold", "flake8 -j auto", 0.3),
    Target("trl", "trl-lint cold", "ruff cold", 12),
    Target("trl", "trl-lint warm", "ruff warm", 1.0),
    Target("transformers", "trl-lint cold", "ruff cold", 1.5),
    Target("transformers", "trl-lint warm", "ruff warm", 1.0),
    Target(START, "trl-lint --version", "python -c pass", 2.0),
    Target(PLUGIN, "flake8 with the plugin", "flake8 without", 1.05),
    Target(FIX, "--fix in process", "bare parse of the files it changes", 0.5),
)
# How far from a straight line the time may be for any size of project, and the megabytes of memory for the largest.
STRAIGHT = 0.1
GROWTH_MEMORY = 200.0
# Of a log of one gigabyte: seconds and megabytes.
LOG_SECONDS, LOG_MEMORY = 60.0, 200.0


class Verdict(NamedTuple):
    """A target with what was measured: `n` is the smaller number of runs; `is_bound` if the other one was stopped, so
    that the true ratio is smaller still.
    """

    target: Target
    ratio: float
    n: int
    is_bound: bool

    @property
    def is_held(self) -> bool:
        return self.ratio <= self.target.most

    @property
    def is_open(self) -> bool:
        """Whether nothing can be said: the other one was stopped too early."""
        return self.is_bound and not self.is_held


def tools_with_target(subject: str) -> set[str]:
    """The tools measured in every round on a subject: those that are judged there, trl-lint itself and ruff."""
    judged = {tool for target in TARGETS if target.subject == subject for tool in (target.tool, target.other)}
    return judged | {f"{tool} {state}" for tool in ("trl-lint", "ruff") for state in ("cold", "warm")}


def judge(results: dict[str, Any]) -> Iterable[Verdict]:
    """The targets that recorded results have both figures for. One that was stopped itself judges nothing."""
    for target in TARGETS:
        rows = {row["tool"]: row for row in results["subjects"].get(target.subject, {"rows": []})["rows"]}
        own, other = rows.get(target.tool), rows.get(target.other)
        if own is not None and other is not None and not own["is_bound"]:
            ratio = own["wall"] / other["wall"]
            yield Verdict(target, ratio, min(own["n"], other["n"]), other["is_bound"])


# How the work may grow with any one thing: the exponent, and the seconds at the largest size (`growth_laws.py`).
MOST_EXPONENT = 1.2
MOST_WORK = 4.0
