"""TRL729: a model that scores texts gets an adapter of another task, which leaves its new head untrained or stops."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks._trainers import HF_TRAINERS
from trl_lint.checks.algorithm._reward_models import adapter_config, is_by_hand, leaves_alone, scoring_load, task_of
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.knowledge.models import model_of
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import is_handed_on, is_name, only, possible_lines
from trl_lint.run.trainer.running import value_in

# PEFT asks a model of this task for `prepare_inputs_for_generation` (peft_model.py of 0.7.1 to 0.21.2). Up to
# transformers 4.51.3 every model has it; from 4.52.1 on only those that generate.
_STOPS = ">=4.52.1"
# Targets of LoRA that may mean the head.
_HEADS = frozenset({"score", "classifier", "all-linear"})
# Code that trains or fills a head itself.
_BY_HAND = regex(r"requires_grad|load_state_dict|(?:score|classifier)\.weight")


class AdapterOfAnotherTask(TrainerRule):
    code = "TRL729"
    words = (b"LoraConfig",)
    needles = (b"ForSequenceClassification", b"RewardTrainer")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer in HF_TRAINERS and call.own is None and not is_unsloth(call.module):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        lines = possible_lines(call.lines("model"), run)
        configs = [_config(line, call, run) for line in lines]
        config = configs[0] if configs and None not in configs else None
        if config is None:
            return None
        task = task_of(config, run)
        if task == "CAUSAL_LM":
            environment = call.environment
            verdict = judge_pins(environment, {"transformers": _STOPS}, Level(self))
            if verdict is not None and verdict.severity != "info":
                message = (
                    "this model scores texts and does not generate: PEFT stops at the task CAUSAL_LM (AttributeError: "
                    f'no attribute "prepare_inputs_for_generation"); give `task_type="SEQ_CLS"` ({verdict.scope})'
                )
                return self._finding(call, config, message)._replace(
                    severity=verdict.severity, related=(*seen_at(call, config, "the adapter"), *verdict.related)
                )
        if task not in ("CAUSAL_LM", "") or not leaves_alone(config, _HEADS.__contains__, run):
            return None
        if not all(_is_new_head(line, run) and not is_by_hand(line, call, _BY_HAND) for line in lines):
            return None
        shown = "the task CAUSAL_LM" if task else "no task"
        message = (
            f"an adapter with {shown} leaves the head that scores the texts frozen, and this head is new: its weights "
            'stay random; give `task_type="SEQ_CLS"`, with which PEFT trains and saves it'
        )
        return self._finding(call, config, message)

    def _finding(self, call: TrainerCall, config: Made, message: str) -> Finding:
        return self.finding(
            place_for(call, config), message, severity="warning", related=seen_at(call, config, "the adapter")
        )


def _config(line: Line, call: TrainerCall, run: Run | None) -> Made | None:
    """The adapter on a model that certainly scores texts."""
    is_scoring = scoring_load(line) is not None or (call.trainer == "trl.RewardTrainer" and is_name(line.made))
    return adapter_config(line, call, run) if is_scoring else None


def _is_new_head(line: Line, run: Run | None) -> bool:
    """Whether a model is a language model without such a head: one that was trained before has it."""
    load = scoring_load(line)
    named = only(load.argument("pretrained_model_name_or_path", 0), run) if load is not None else line.made
    name = value_in(named, run) if named is not None else None
    is_other = is_handed_on(line.steps) or any(change.kind == "other" for change in line.changes)
    return isinstance(name, str) and model_of(name) is not None and not is_other


rule = AdapterOfAnotherTask()
