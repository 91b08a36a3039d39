"""TRL116: FSDP is to flatten weights that are stored as integers."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import RunTrainerRule
from trl_lint.checks.distribution._integer_weights import integer_weight_findings
from trl_lint.finding import Finding
from trl_lint.run.trainer import TrainerCall


class IntegerWeightsUnderFsdp(RunTrainerRule):
    code = "TRL116"
    needles = (b"load_in_4bit", b"load_in_8bit")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        yield from integer_weight_findings(self, call)


rule = IntegerWeightsUnderFsdp()
