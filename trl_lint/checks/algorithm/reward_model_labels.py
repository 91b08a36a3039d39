"""TRL731: a reward model is loaded with a head of several outputs, where one score is needed."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks.algorithm._reward_models import scoring_load
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.knowledge.models import model_of
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import is_handed_on, only, possible_lines
from trl_lint.run.trainer.running import value_in

# RewardTrainer refuses a model with another number: read in 0.28.0, 0.29.0, 0.29.1, 1.9.2 and 1.16.0. Before, it takes
# the mean over all outputs without a word.
_REFUSES = ">=0.29.0"
_TAKES = "<0.29.0"


# What a script may set to make the head another one.
_IN_ITS_PLACE = regex(r"config|score|classifier")


class RewardModelLabels(TrainerRule):
    code = "TRL731"
    words = (b"RewardTrainer",)
    needles = (b"ForSequenceClassification",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer == "trl.RewardTrainer" and call.own is None and not is_unsloth(call.module):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        lines = possible_lines(call.lines("model"), run)
        found = [_of_several(line, run) for line in lines]
        made = found[0] if found and None not in found else None
        if made is None:
            return None
        environment = call.environment
        verdict = judge_pins(environment, {"trl": _REFUSES}, Level(self))
        says = "the trainer stops (ValueError: reward models require `num_labels=1`)"
        if verdict is None or verdict.severity == "info":
            verdict = judge_pins(environment, {"trl": _TAKES}, Level("warning"))
            says = "the trainer compares pairs of several scores without a word"
        if verdict is None:
            return None
        message = (
            f"a reward is one number, and this head has {_shown(made, run)}: {says}; load the model with "
            f"`num_labels=1` ({verdict.scope})"
        )
        related = (*seen_at(call, made, "the model"), *verdict.related)
        return self.finding(place_for(call, made), message, severity=verdict.severity, related=related)


def _shown(made: Made, run: Run | None) -> str:
    return "2 outputs by default" if made.kind == "call" else f"{value_in(made, run)} outputs"


def _of_several(line: Line, run: Run | None) -> Made | None:
    """What gives a model another number of labels than one: the argument, or the load without it. None if nothing does.

    Without the argument the checkpoint decides: of one that is a known language model it is certain that it has none.
    """
    load = scoring_load(line)
    if load is None or is_handed_on(line.steps):
        return None
    if any(change.kind == "other" or _IN_ITS_PLACE.search(change.path) for change in line.changes):
        return None
    if any(made.kind != "absent" for name in ("config", "id2label", "label2id") for made in load.argument(name)):
        return None
    labels = only(load.argument("num_labels"), run)
    if labels is None:
        return None
    if labels.kind == "absent":
        named = only(load.argument("pretrained_model_name_or_path", 0), run)
        name = value_in(named, run) if named is not None else None
        return load if isinstance(name, str) and model_of(name) is not None else None
    value = value_in(labels, run)
    return labels if isinstance(value, int) and not isinstance(value, bool) and value != 1 else None


rule = RewardModelLabels()
