"""TRL117: a copy of a model whose weights ZeRO-3 has shared out already."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._started import several_started
from trl_lint.checks._trainer_rule import RunTrainerRule, place_for, seen_at
from trl_lint.finding import Finding
from trl_lint.project.sharding import zero3_place
from trl_lint.project.trainercall import TrainerCall
from trl_lint.project.trainercall.models import possible_lines
from trl_lint.project.trainercall.order import is_before


class ReferenceCopyUnderZero3(RunTrainerRule):
    code = "TRL117"
    needles = (b"create_reference_model",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        for started in several_started(call.module.path, call.project):
            stage = zero3_place(started.run)
            if stage is None:
                continue
            copies = [
                line.step("create_reference_model") for line in possible_lines(call.lines("ref_model"), started.run)
            ]
            copy = copies[0] if copies and None not in copies else None
            if copy is None or not copy.origin.startswith("trl."):
                continue
            if not all(is_before(made, copy, call.frame) for made in call.given("args")):
                continue  # ZeRO-3 is switched on by the training arguments
            message = (
                "`create_reference_model` refuses to copy a model under ZeRO-3, which has shared out its weights: load "
                "the reference model with `from_pretrained`"
            )
            related = (*seen_at(call, copy, "the copy"), stage._replace(message="ZeRO-3"), *started.related)
            yield self.finding(place_for(call, copy), message, related=related)
            return


rule = ReferenceCopyUnderZero3()
