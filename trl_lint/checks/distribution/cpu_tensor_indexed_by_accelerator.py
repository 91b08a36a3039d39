"""TRL105: a tensor made on the CPU is indexed by one on an accelerator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.distribution._device import (
    edit_device,
    is_for_accelerators,
    is_placed,
    meetings_of,
)
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.python.dataflow.torch_facts import DATA_FACTORIES, FACTORIES
from trl_lint.python.values import UNKNOWN, argument

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.project import Project
    from trl_lint.python.dataflow.meetings import Mix
    from trl_lint.sources import SourceFile


class CpuTensorIndexedByAccelerator(Rule):
    code = "TRL105"
    triggers = tuple(f"torch.{name}" for name in sorted(FACTORIES | DATA_FACTORIES))
    needles = (b"torch",)
    skips_tests = True
    glances = True

    def may_concern(self, file: SourceFile, project: Project) -> bool:
        from trl_lint.checks.distribution._glances import makes_strays

        return makes_strays(file, project)

    def is_candidate(self, site: Site) -> bool:
        return read_meeting(site) is not None

    def visit_Call(self, node: cst.Call, site: Site) -> Iterator[Finding]:
        mix = read_meeting(site)
        if mix is None:
            return
        from trl_lint.checks.distribution._callers import weigh

        weight = weigh(mix, site.project)
        if weight is None:
            return
        factory = site.module.segment(site.call.func)
        yield self.finding(
            site.location,
            f"`{factory}(…)` makes a tensor on the CPU, whose index is {weight.other}",
            severity=weight.severity,
            related=(mix.place.location(mix.node, "it is indexed here"), *weight.related),
            fix=edit_device(site, mix),
        )


def read_meeting(site: Site) -> Mix | None:
    """The first index from elsewhere into the tensor this call makes."""
    if argument(site.call, "device") is UNKNOWN or is_placed(site.call) or not is_for_accelerators(site.module):
        return None
    found = meetings_of(site, "index")
    return next((mix for mix in found if mix.is_certain), None)


rule = CpuTensorIndexedByAccelerator()
