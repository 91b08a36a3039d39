"""What the oracles share that change a framework's own examples at random and ask its real code about them.

Each framework has an oracle of its own (`benchmarks.commands_oracle`, `benchmarks.flags_oracle`), which says what its
examples are, how one is changed and what is stated of it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Sequence
from typing import Any

from trl_lint.records import NamedTuple

PROBES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "oracle")
_SHOWN = 240  # characters of an answer


class Case(NamedTuple):
    """A command or a config: what the real code says of it (None: nothing), and by which sentences we say it refuses.

    `lacks`: it is refused for want of something that is not there, which nobody can state.
    """

    given: Any
    answer: str | None
    stated: list[str]
    is_example: bool
    lacks: bool = False


def options(about: str | None, number: int) -> argparse.ArgumentParser:
    """The options of all of them; `number` is how many changed examples are asked about where nothing is said."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="an interpreter with the framework beside it")
    parser.add_argument("--examples", required=True, help="the folder with its examples")
    parser.add_argument("--release", required=True)
    parser.add_argument("--number", type=int, default=number, help="how many examples are changed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", default="", help="a file for some of the answers")
    parser.add_argument("-v", action="store_true", help="what is judged otherwise than the real code does")
    return parser


def asked(python: str, probe: str, cases: Sequence[Any], *arguments: str) -> list[str | None]:
    """What the real code says of each case. Raises SystemExit with what the probe wrote if it fails."""
    done = subprocess.run(
        [python, os.path.join(PROBES, probe), *arguments],
        input=json.dumps(cases, default=str),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    answers: list[str | None] = json.loads(done.stdout.strip().splitlines()[-1])
    return answers


def told(title: str, cases: Sequence[Case], is_verbose: bool) -> int:
    """Print how many cases are judged how. Returns 1 if a refusal is stated of what is accepted."""
    counted: Counter[str] = Counter()
    for case in cases:
        kind = ("refused" if case.answer else "accepted") + (" and stated" if case.stated else "")
        if case.lacks and not case.stated:
            kind = "refused for what is not there"
        counted[("example " if case.is_example else "") + kind] += 1
        if is_verbose and case.stated and not case.answer:
            print("FALSE", case.stated, json.dumps(case.given, default=str))
        if is_verbose and case.answer and not case.stated and not case.lacks:
            print("missed", " ".join(case.answer.split())[:_SHOWN], "|", json.dumps(case.given, default=str))
    print(f"{title}: " + ", ".join(f"{name} {number}" for name, number in sorted(counted.items())))
    return 1 if counted["accepted and stated"] + counted["example accepted and stated"] else 0


def keep(file: str, head: dict[str, str], name: str, pools: Sequence[Sequence[Case]], of_each: int, seed: int) -> None:
    """Write some cases of each pool down, as `name` with the answer."""
    chance = random.Random(seed)
    some = [case for pool in pools for case in chance.sample(pool, of_each)]
    said = [{name: case.given, "answer": case.answer and " ".join(case.answer.split())[:160]} for case in some]
    with open(file, "w", encoding="utf-8") as stream:
        json.dump({**head, "cases": said}, stream, separators=(",", ":"), default=str)
        stream.write("\n")
