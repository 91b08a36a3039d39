"""TRL115: each of several processes spreads the model that it trains over the GPUs of all of them."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import RunTrainerRule
from trl_lint.checks.distribution._device_maps import device_map_findings
from trl_lint.finding import Finding
from trl_lint.run.trainer import TrainerCall


class DeviceMapInSeveralProcesses(RunTrainerRule):
    code = "TRL115"
    needles = (b"device_map",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        yield from device_map_findings(self, call)


rule = DeviceMapInSeveralProcesses()
