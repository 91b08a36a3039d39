"""TRL115: each of several processes spreads the model that it trains over the GPUs of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks._trainer_rule import RunTrainerRule
from trl_lint.finding import Finding

if TYPE_CHECKING:
    from trl_lint.project.trainercall import TrainerCall


class DeviceMapInSeveralProcesses(RunTrainerRule):
    code = "TRL115"
    needles = (b"device_map",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        from trl_lint.checks.distribution._device_maps import device_map_findings

        yield from device_map_findings(self, call)


rule = DeviceMapInSeveralProcesses()
