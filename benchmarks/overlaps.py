"""One defect, one finding: `python -m benchmarks.overlaps TREE…` lists what two rules say about the same keys.

Every fact has one owner among the rules. Two findings of different codes are taken for one defect where they name the
same thing, and begin or end at the same place or each rest on the place of the other. What are two defects all the same
is listed in `_TWO_DEFECTS`, with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

Finding = dict[str, Any]
Place = tuple[str, int, int, int]

_QUOTED = re.compile(r"`-{0,2}([\w.\[\]]+)")


class TwoDefects(NamedTuple):
    """A code with a word of its message, other codes at the same place ("" any), and why both are told."""

    code: str
    word: str
    others: tuple[str, ...]
    why: str


_TWO_DEFECTS = (
    TwoDefects("TRL301", "", ("TRL403",), "releases without the name, and what its value does in those that have it"),
    TwoDefects("TRL303", "", ("TRL403",), "a name that will go, and the value that it carries"),
    TwoDefects("TRL601", "unclipped", ("TRL113",), "which backward makes the gradients, and that nothing bounds them"),
    TwoDefects("TRL206", "vLLM server", ("TRL806",), "that no server is there, and what the release does with one"),
    TwoDefects("TRL403", "stands twice", (), "which of two values counts, and what is wrong with the one that does"),
)


class Overlap(NamedTuple):
    """Two findings about one defect."""

    first: Finding
    second: Finding

    def __str__(self) -> str:
        return "\n".join(
            f"{one['path']}:{one['start']['line']}:{one['start']['column']}: {one['code']} {one['message']}"
            for one in self
        )


def overlaps(findings: Iterable[Finding]) -> list[Overlap]:
    """The pairs of findings of one JSON report that tell of the same defect."""
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding["path"], []).append(finding)
    pairs = (pair for found in by_path.values() for pair in combinations(found, 2))
    return [Overlap(one, other) for one, other in pairs if _is_one_defect(one, other)]


def _is_one_defect(one: Finding, other: Finding) -> bool:
    if one["code"] == other["code"] or _names(one).isdisjoint(_names(other)):
        return False
    here, there = _place(one), _place(other)
    # An argument of a call begins with its name, or with its value where that is what a rule looks at.
    is_same = here == there or _place(one, "end") == _place(other, "end")
    rests = here in _related(other) and there in _related(one)
    return (is_same or rests) and not (_is_told(one, other) or _is_told(other, one))


def _is_told(one: Finding, other: Finding) -> bool:
    return any(
        row.code == one["code"] and row.word in one["message"] and (not row.others or other["code"] in row.others)
        for row in _TWO_DEFECTS
    )


def _names(finding: Finding) -> set[str]:
    """The keys, arguments and functions that a message quotes, without what stands before their last dot."""
    return {name.rpartition(".")[2] for name in _QUOTED.findall(finding["message"])}


def _place(located: dict[str, Any], side: str = "start") -> Place:
    at = located[side]
    return located["path"], at.get("cell", 0), at["line"], at["column"]


def _related(finding: Finding) -> set[Place]:
    return {_place(place) for place in finding["related"]}


def report_of(tree: str) -> list[Finding]:
    """What trl-lint finds in a tree. Raises ValueError where it prints no report."""
    command = [sys.executable, "-m", "trl_lint", "check", ".", "--isolated", "--no-cache", "--output-format", "json"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    findings: list[Finding] = json.loads(done.stdout)["findings"]
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description="list what two rules say about one defect")
    parser.add_argument("trees", nargs="+", metavar="TREE")
    found = 0
    for tree in parser.parse_args().trees:
        for overlap in overlaps(report_of(tree)):
            found += 1
            print(f"{os.path.basename(os.path.abspath(tree))}\n{overlap}\n")
    print(f"{found} overlaps")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
