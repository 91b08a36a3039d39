"""TRL729: a model that scores texts gets an adapter of another task, which leaves its new head untrained or stops."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks._trainers import HF_TRAINERS
from trl_lint.checks.algorithm._reward_models import adapter_config, scoring_load, task_of
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.missing import UNKNOWN
from trl_lint.project.runs import Run
from trl_lint.project.trainercall import Line, TrainerCall
from trl_lint.project.trainercall.made import Made
from trl_lint.project.trainercall.models import is_name, only, possible_lines
from trl_lint.project.trainercall.running import value_in

# PEFT asks a model of this task for `prepare_inputs_for_generation` (peft_model.py of 0.7.1 to 0.21.2). Up to
# transformers 4.51.3 every model has it; from 4.52.1 on only those that generate.
_STOPS = ">=4.52.1"
_HEADS = ("score", "classifier")


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
            environment = call.project.environment(call.module.path)
            verdict = judge_pins(environment, {"transformers": _STOPS}, Level(self))
            if verdict is not None and verdict.severity != "info":
                message = (
                    "this model scores texts and does not generate: PEFT stops at the task CAUSAL_LM (AttributeError: "
                    f'no attribute "prepare_inputs_for_generation"); give `task_type="SEQ_CLS"` ({verdict.scope})'
                )
                return self._finding(call, config, message)._replace(
                    severity=verdict.severity, related=(*seen_at(call, config, "the adapter"), *verdict.related)
                )
        if task not in ("CAUSAL_LM", "") or not _leaves_head(config, run):
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


def _leaves_head(config: Made, run: Run | None) -> bool:
    """Whether a LoRA config certainly trains no head."""
    saved = only(config.argument("modules_to_save"), run)
    target = only(config.argument("target_modules"), run)
    if saved is None or target is None or not (saved.kind == "absent" or saved.is_none):
        return False
    if target.kind == "absent" or target.is_none:
        return True
    items = target.items() if target.kind == "list" and not target.changes else None
    values = [UNKNOWN if (one := only(item, run)) is None else value_in(one, run) for item in items or ()]
    return bool(values) and all(isinstance(value, str) and value not in _HEADS for value in values)


rule = AdapterOfAnotherTask()
