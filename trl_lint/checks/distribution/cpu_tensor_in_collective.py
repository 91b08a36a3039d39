"""TRL104: a tensor made on the CPU is handed to a collective of NCCL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from trl_lint.checks.distribution._device import edit_device, read_conflict
from trl_lint.checks.distribution._device_imports import imported_conflicts
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding, Severity
from trl_lint.memos import per_project
from trl_lint.paths import is_test_file
from trl_lint.project import Project
from trl_lint.python.dataflow.torch_facts import (
    ACCELERATOR_COLLECTIVES,
    COLLECTIVES,
    DATA_FACTORIES,
    FACTORIES,
)
from trl_lint.python.module import PythonModule
from trl_lint.sources import SourceError

# Where one of these stands, tensors on the CPU have a backend of their own, or may have.
_CPU_BACKEND = rb"gloo|[\"']mpi[\"']|[\"']ccl[\"']|[\"']cpu:|init_process_group\(\s*\)"
_NO_CODE = (".yaml", ".yml", ".json", ".toml", ".txt", ".cfg", ".md", ".ini")


class CpuTensorInCollective(Rule):
    code = "TRL104"
    is_slow = True
    imports = ("torch",)
    triggers = tuple(f"torch.{name}" for name in sorted(FACTORIES | DATA_FACTORIES))
    needles = (
        *(f".{name}(".encode() for name in sorted(COLLECTIVES | ACCELERATOR_COLLECTIVES)),
        b"def prediction_step(",
    )
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        conflict = read_conflict(site, "collective")
        if conflict is None or has_cpu_backend(site.project):
            return
        severity: Severity | None = None if conflict.is_certain else "warning"
        yield self.finding(
            site.location,
            f"`{site.module.segment(site.call.func)}(…)` makes a tensor on the CPU, which NCCL cannot communicate",
            severity=severity,
            related=(conflict.place.location(conflict.node, "it is communicated here"),),
            fix=edit_device(site, conflict),
        )

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        found = list(imported_conflicts(module, project, "collective"))
        if not found or has_cpu_backend(project):
            return
        told = {conflict.factory for _, conflict in imported_conflicts(module, project, "mix")}  # by TRL103
        for call, conflict in found:
            if conflict.factory in told:
                continue
            yield self.finding(
                module.location(call),
                f"`{module.segment(call.func)}(…)` makes a tensor on the CPU, which NCCL cannot communicate",
                severity=None if conflict.is_certain else "warning",
                related=(
                    conflict.source.location(conflict.factory, "it is made here"),
                    conflict.place.location(conflict.node, "it is communicated here"),
                ),
            )


@per_project
def has_cpu_backend(project: Project) -> bool:
    """Whether any code of the project may start a process group whose backend takes CPU tensors.

    `init_process_group()` without a backend starts one for each kind of device since torch 2.0.
    """
    for path in project.paths:
        if not path.endswith(_NO_CODE) and not is_test_file(path):
            with suppress(OSError, SourceError):
                if project.files.fits(path, _CPU_BACKEND):
                    return True
    return False


rule = CpuTensorInCollective()
