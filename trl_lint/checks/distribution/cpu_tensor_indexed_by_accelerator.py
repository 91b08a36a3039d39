"""TRL105: a tensor made on the CPU is indexed by one on an accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.distribution._device import read_conflict
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.python.dataflow.torch_facts import DATA_FACTORIES, FACTORIES


class CpuTensorIndexedByAccelerator(Rule):
    code = "TRL105"
    is_slow = True
    triggers = tuple(f"torch.{name}" for name in sorted(FACTORIES | DATA_FACTORIES))
    needles = (b"torch",)
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        conflict = read_conflict(site, "index")
        if conflict is not None:
            from trl_lint.checks.distribution._callers import reported

            yield from reported(self, site, conflict, "is indexed with", "it is indexed here")


rule = CpuTensorIndexedByAccelerator()
