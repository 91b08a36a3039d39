"""TRL723: a trainer is given a stream, which has no length, and not told after how many steps to stop."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks._trainers import HF_TRAINERS
from trl_lint.finding import Finding
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.columns import columns_of
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, is_absent
from trl_lint.run.trainer.made import Made, Options
from trl_lint.run.trainer.models import is_handed_on, only
from trl_lint.run.trainer.running import possible_in, setting_of, value_in

# Those that group prompts by the sampler: most releases refuse a stream altogether, which TRL402 tells.
_TOLD_ELSEWHERE = frozenset({"trl.GRPOTrainer", "trl.RLOOTrainer"})

# What sets attributes and leaves no statement about them, or gives streams a length.
_SETS_UNSEEN = regex(r"\bvars\(|__dict__|__setattr__|__len__")


class StreamWithoutMaxSteps(TrainerRule):
    code = "TRL723"
    needles = (b"streaming", b"to_iterable_dataset", b"IterableDataset")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer not in HF_TRAINERS - _TOLD_ELSEWHERE or call.own is not None:
            return
        if not mentions(call.module, _SETS_UNSEEN):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        given = possible_in(call.given("train_dataset"), run)
        if not given or not all(one.streams is True for one in columns_of(given)) or not _has_no_end(call, run):
            return None
        made = _source(given[0])
        where = (run.launch.location._replace(message="the run"),) if run is not None and run.launch.launcher else ()
        message = (
            "this dataset is a stream, which has no length, and `max_steps` is not set: the trainer stops with "
            '"The train_dataset does not implement __len__, max_steps has to be specified"'
        )
        return self.finding(place_for(call, made), message, related=(*seen_at(call, made, "the stream"), *where))


def _has_no_end(call: TrainerCall, run: Run | None) -> bool:
    """Whether `max_steps` certainly is its default, or below: it was -1 in every release."""
    if is_absent(call.given("args")):
        return True
    if is_handed_on(call.given("args")):
        return False
    steps = only(call.field("max_steps"), run)
    if steps is None:
        return False
    if steps.kind == "absent":
        return _are_whole(call.given("args"))
    value = value_in(steps, run)
    if steps.kind == "field" and run is not None and getattr(setting_of(steps, run), "location", None) is None:
        return value == -1
    return isinstance(value, int) and value <= 0


def _are_whole(given: Options) -> bool:
    """Whether the arguments are certainly made by a call of a library."""
    return all(made.kind == "call" and made.origin.partition(".")[0] in ("trl", "transformers") for made in given)


def _source(made: Made) -> Made:
    """What a dataset began with."""
    while isinstance(made.base, Made) and made.base.kind == "call":
        made = made.base
    return made


rule = StreamWithoutMaxSteps()
