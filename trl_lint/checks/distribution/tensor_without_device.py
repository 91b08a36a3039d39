"""TRL103: a tensor made on the CPU meets one on an accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.distribution._device import is_for_accelerators, read_conflict
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.python.dataflow.torch_facts import DATA_FACTORIES, FACTORIES
from trl_lint.python.module import PythonModule


class TensorWithoutDevice(Rule):
    code = "TRL103"
    is_slow = True
    triggers = tuple(f"torch.{name}" for name in sorted(FACTORIES | DATA_FACTORIES))
    imports = ("torch",)
    needles = (b"torch",)
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        conflict = read_conflict(site, "mix")
        if conflict is not None:
            from trl_lint.checks.distribution._callers import reported

            yield from reported(self, site, conflict, "meets", "the two meet here")

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if not is_for_accelerators(module):
            return
        from trl_lint.checks.distribution._callers import weigh
        from trl_lint.checks.distribution._device_imports import imported_conflicts

        for call, conflict in imported_conflicts(module, project, "mix"):
            weight = weigh(conflict, project)
            if weight is None:
                continue
            made = conflict.source.location(conflict.factory, "it is made here")
            met = conflict.place.location(conflict.node, "the two meet here")
            yield self.finding(
                module.location(call),
                f"`{module.segment(call.func)}(…)` makes a tensor on the CPU, and it meets {weight.other}",
                severity=weight.severity,
                related=(made, met, *weight.related),
            )


rule = TensorWithoutDevice()
