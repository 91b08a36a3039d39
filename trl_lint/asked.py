"""What a rule asks while it judges, and what it is told: written down only while somebody asks why.

`trl-lint why` turns it on. Anywhere else the log is None, and whoever answers a rule's question looks at that and goes
on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from trl_lint.finding import Location
from trl_lint.records import NamedTuple

Kind = Literal["looks at", "release", "value", "unset", "releases"]


class Answer(NamedTuple):
    """One question of a rule. `place`: where the answer stands, or for "looks at" what is looked at; None if nowhere.

    `remedy`: what would make known what is not, "" if nothing is lacking or nobody knows.
    """

    kind: Kind
    subject: str
    answer: str
    place: Location | None = None
    is_known: bool = True
    remedy: str = ""


log: list[Answer] | None = None


@contextmanager
def written_down() -> Iterator[list[Answer]]:
    """Write down what is asked from here on."""
    global log
    before, log = log, []
    try:
        yield log
    finally:
        log = before


def note(answer: Answer) -> None:
    """Write down an answer, if anybody asks why. A question that is asked again is not written down again."""
    if log is not None and answer not in log[-64:]:
        log.append(answer)
