"""TRL117: a copy of a model whose weights ZeRO-3 has shared out already."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._started import Started
from trl_lint.checks._trainer_rule import RunTrainerRule, first_started, place_for, seen_at
from trl_lint.finding import Finding
from trl_lint.run.sharding import zero3_place
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.models import possible_lines
from trl_lint.run.trainer.order import is_before


class ReferenceCopyUnderZero3(RunTrainerRule):
    code = "TRL117"
    needles = (b"create_reference_model",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        yield from first_started(call, lambda started: self._in_run(call, started))

    def _in_run(self, call: TrainerCall, started: Started) -> Finding | None:
        stage = zero3_place(started.run)
        if stage is None:
            return None
        copies = [line.step("create_reference_model") for line in possible_lines(call.lines("ref_model"), started.run)]
        copy = copies[0] if copies and None not in copies else None
        if copy is None or not copy.origin.startswith("trl."):
            return None
        if not all(is_before(made, copy, call.frame) for made in call.given("args")):
            return None  # ZeRO-3 is switched on by the training arguments
        message = (
            "`create_reference_model` refuses to copy a model under ZeRO-3, which has shared out its weights: load "
            "the reference model with `from_pretrained`"
        )
        related = (*seen_at(call, copy, "the copy"), stage._replace(message="ZeRO-3"), *started.related)
        return self.finding(place_for(call, copy), message, related=related)


rule = ReferenceCopyUnderZero3()
