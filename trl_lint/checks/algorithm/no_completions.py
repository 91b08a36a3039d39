"""TRL733: `completion_only_loss` is asked for, and the dataset has no completions: the whole text is learnt."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import FieldTrainerRule, also_at, first_found, said_at
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import judge_pins, level_in
from trl_lint.finding import Finding
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.columns import columns_of
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, is_absent
from trl_lint.run.trainer.models import only
from trl_lint.run.trainer.running import is_on, possible_in, value_in

# The collator looks for a mask that only pairs of prompt and completion get: read in 0.17.0, 0.19.1, 0.24.0, 0.29.1,
# 1.9.2 and 1.16.0. Run with 0.24.0 and 0.29.1: no label is masked.
_SILENT = ">=0.17.0"
# Attributes of a trainer that a script sets itself, which decide what is learnt.
_SET_LATER = regex(
    r"\.(?:data_collator|train_dataset|completion_only_loss|assistant_only_loss|compute_loss)\s{0,4}=[^=]"
)
_SPARED_BY = ("completion", "completion_mask", "assistant_masks", "labels", "image", "images")


class NoCompletions(FieldTrainerRule):
    code = "TRL733"
    words = (b"SFTTrainer",)
    needles = (b"completion_only_loss",)
    fields = ("completion_only_loss",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer != "trl.SFTTrainer" or call.own is not None or is_unsloth(call.module):
            return
        if mentions(call.module, _SET_LATER):
            return
        if all(is_absent(call.given(name)) for name in ("formatting_func", "data_collator")):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        switch = only(call.field("completion_only_loss"), run)
        if switch is None or not is_on(switch, run):
            return None
        other = only(call.field("assistant_only_loss"), run)
        if other is None or not (other.kind == "absent" or value_in(other, run) is False):
            return None
        datasets = columns_of(possible_in(call.given("train_dataset"), run))
        if not datasets or not all(one.complete and all(one.lacks(name) for name in _SPARED_BY) for one in datasets):
            return None
        verdict = judge_pins(call.environment, {"trl": _SILENT}, level_in(self, run))
        if verdict is None:
            return None
        names = list(dict.fromkeys(f"`{name}`" for one in datasets for name in one.names))
        message = (
            f"`completion_only_loss` has no effect: the dataset has {', '.join(names[:4])} and no `completion`, so "
            "that the prompts are learnt as well; give it `prompt` and `completion`, or for messages "
            f"`assistant_only_loss` ({verdict.scope})"
        )
        begun = tuple(one.places[0]._replace(message="the dataset begins here") for one in datasets if one.places)
        place = said_at(call, switch, run)
        related = (*begun, *also_at(call, place), *verdict.related)
        return self.finding(place, message, severity=verdict.severity, related=related)


rule = NoCompletions()
