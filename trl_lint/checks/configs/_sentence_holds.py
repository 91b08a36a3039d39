"""Whether what a release refuses in one sentence is true of a run: for who has the sentence and wants the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trl_lint.checks.configs._deciding import deciding_values
from trl_lint.checks.configs._release_says import alike_for, speakers, statements_of, world_of
from trl_lint.checks.configs._trainers_of_run import PACKAGES
from trl_lint.finding import Location
from trl_lint.knowledge.condition_language import truth_of
from trl_lint.records import NamedTuple
from trl_lint.run.config_runs import config_runs
from trl_lint.run.runs import Run

Held = Literal["yes", "no", "unknown"]


class Holding(NamedTuple):
    """Whether a condition holds; `told`: the values that decide it, in words, and `places` where they are written."""

    held: Held
    told: str = ""
    places: tuple[Location, ...] = ()


def holding(run: Run, package: str, sentence: str) -> Holding | None:
    """Whether a run has the values that a package refuses with a sentence; None if nothing in it can be who says so.

    Of several releases in use, and several configs of a script, one with such values is enough, and "no" is said
    where each is known not to have them.
    """
    found = [each for one in (run, *config_runs(run)) for each in _answers(one, package, sentence)]
    for held in ("yes", "unknown", "no"):
        for each in found:
            if each.held == held:
                return each
    return None


def _answers(run: Run, package: str, sentence: str) -> Iterator[Holding]:
    chosen = run.choices.get(package)
    if chosen is None or chosen.is_tip:
        return
    others = run.choices.newest(PACKAGES)
    for speaker in speakers(run):
        for version in dict.fromkeys(alike_for(run, speaker, package).values()):
            world = world_of(run, speaker, {**others, package: version})
            for statement in statements_of(run, speaker, world):
                if statement.condition.sentence != sentence:
                    continue
                truth = truth_of(statement.condition.condition, statement.world)
                values = deciding_values(world, statement) if isinstance(truth, bool) else None
                if values is None:
                    yield Holding("unknown")
                else:
                    yield Holding("yes" if truth else "no", values.told, (values.location, *values.related))
