"""The causes named for logs of public threads: `python -m benchmarks.field_logs [--misses]`.

The logs stand in `tests/diagnose/field_logs.toml` with what their threads came to. Those that are `blind` were
collected when the symptoms were written, and nothing was changed for them since. The exit status is 1 where a wrong
cause is called likely.
"""

from __future__ import annotations

import argparse
import io
import os
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import tomli

from trl_lint.diagnose.causes import diagnose
from trl_lint.diagnose.reader import read_log

_LOGS = os.path.join(os.path.dirname(__file__), "..", "tests", "diagnose", "field_logs.toml")
LIKELY, POSSIBLE, SECOND, LATER = "right first, likely", "right first, possible", "right second", "right further down"
HONEST, SILENT = "the log decides nothing, and nothing is claimed", "silent, and a cause could be named"
OTHER, WRONG = "only other causes, possible", "wrong cause called likely"
KINDS = (LIKELY, POSSIBLE, SECOND, LATER, HONEST, OTHER, SILENT, WRONG)


class FieldLog(NamedTuple):
    """A log of a thread. `right`: the codes of its cause, none where the log does not tell, "-" where no code does.

    `miss`: it is not named first, and that is known; `parts`: codes that are right where the log is cut off.
    """

    name: str
    thread: str
    outside: bool
    cause: str
    right: list[str]
    text: str
    blind: bool = False
    miss: bool = False
    parts: tuple[str, ...] = ()

    @property
    def is_first(self) -> bool:
        """Whether the cause is named first; the tests hold on to it."""
        return not self.miss


class Answer(NamedTuple):
    """What was said about a log. `causes` are pairs of code and likelihood, the first one first."""

    log: FieldLog
    causes: tuple[tuple[str, str], ...]

    @property
    def kind(self) -> str:
        """One of KINDS."""
        right = set(self.log.right)
        likely = {code for code, likelihood in self.causes if likelihood == "likely"}
        if likely - right:
            return WRONG
        if not right:
            return HONEST
        places = [number for number, (code, _) in enumerate(self.causes) if code in right]
        if not places:
            return OTHER if self.causes else SILENT
        if places[0] == 0:
            return LIKELY if self.causes[0][1] == "likely" else POSSIBLE
        return SECOND if places[0] == 1 else LATER


def field_logs() -> list[FieldLog]:
    """The logs, in the order of the file."""
    with open(_LOGS, "rb") as stream:
        rows = tomli.load(stream)["log"]
    return [FieldLog(**row) for row in rows]


def answer(log: FieldLog) -> Answer:
    """What a diagnosis without a project says about a log."""
    found = diagnose(read_log(io.BytesIO(log.text.encode())), "run.log")
    return Answer(log, tuple((cause.code, cause.likelihood) for cause in found.causes))


def table(answers: Sequence[Answer]) -> str:
    """How many logs of each set, and of those with a cause outside of the code, got each kind of answer."""
    groups = {
        "all": list(answers),
        "known": [one for one in answers if not one.log.blind],
        "blind": [one for one in answers if one.log.blind],
        "outside the code": [one for one in answers if one.log.outside],
    }
    lines = ["| | " + " | ".join(f"{name} ({len(group)})" for name, group in groups.items()) + " |"]
    lines.append("|---" * (len(groups) + 1) + "|")
    counts = {name: Counter(one.kind for one in group) for name, group in groups.items()}
    lines += [f"| {kind} | " + " | ".join(str(counts[name][kind]) for name in groups) + " |" for kind in KINDS]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field_logs", description="Diagnose logs of threads.")
    parser.add_argument("--misses", action="store_true", help="list what was not named first as likely")
    args = parser.parse_args(arguments)
    answers = [answer(log) for log in field_logs()]
    print(table(answers))
    for one in answers if args.misses else ():
        if one.kind not in (LIKELY, HONEST):
            print(f"{one.kind}: {one.log.name} {one.log.right} {list(one.causes)}")
    return int(any(one.kind == WRONG for one in answers))


if __name__ == "__main__":
    raise SystemExit(main())
