"""TRL128: a model is loaded before the training arguments switch ZeRO-3 on."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import RunTrainerRule, first_found, place_for, seen_at
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.finding import Finding
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.sharding import zero3_place
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.models import loader, possible_lines
from trl_lint.run.trainer.order import is_before

# What switches ZeRO-3 on as well, or is for models that are loaded another way.
_OTHERWISE = regex(
    r"Accelerator\(|HfDeepSpeedConfig|HfTrainerDeepSpeedConfig|DeepSpeedPlugin|zero\.Init|deepspeed\.init"
)


class ModelBeforeZero3(RunTrainerRule):
    code = "TRL128"
    needles = (b"deepspeed",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        is_known = call.trainer.startswith(("trl.", "transformers.")) and not is_unsloth(call.module)
        if is_known and call.runs and not mentions(call.module, _OTHERWISE):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        stage = zero3_place(run) if run is not None else None
        if run is None or stage is None:
            return None
        loads = [loader(line) for line in possible_lines(call.lines("model"), run)]
        load = loads[0] if loads and None not in loads else None
        args = [made for made in call.given("args") if not made.is_nothing]
        if load is None or not args or not load.origin.startswith("transformers."):
            return None
        if any(made.kind not in ("call", "parsed") or not is_before(load, made, call.frame) for made in args):
            return None
        message = (
            "ZeRO-3 is on once the training arguments are made, and this loads the model before: every process loads "
            "all of it, and puts all of it on its GPU, before it is shared out; make the arguments first"
        )
        related = (
            *seen_at(call, load, "loaded here"),
            args[0].location._replace(message="the arguments"),
            stage._replace(message="ZeRO-3"),
            run.launch.location._replace(message="the run"),
        )
        return self.finding(place_for(call, load), message, related=related)


rule = ModelBeforeZero3()
