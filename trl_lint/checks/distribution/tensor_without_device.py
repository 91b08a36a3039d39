"""TRL103: a tensor made on the CPU meets one on an accelerator."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding, Fix, Severity
from trl_lint.paths import is_test_file
from trl_lint.python.dataflow.torch_facts import DATA_FACTORIES, FACTORIES
from trl_lint.python.islands import rewrite, with_keyword
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import UNKNOWN, argument

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.python.dataflow.device import Mix

# Code that prepares data on the CPU by design; the loader or the trainer moves the batch later.
_CPU_BY_DESIGN = re.compile(
    r"collat|dataset|tokeniz|process(?:or|ing)|sampler|rollout_worker|_on_cpu|to_cpu|pack|dataloader", re.I
)
_DEFAULT_DEVICE = re.compile(
    rb"set_default_device|set_default_tensor_type|with[ \t]+(?:torch\.device\(|[\w.]*device[ \t]*[:,])"
)
_ACCELERATOR = re.compile(rb"cuda|accelerat|\bdevice\b|deepspeed|distributed|npu|xpu")


class TensorWithoutDevice(Rule):
    code = "TRL103"
    triggers = tuple(f"torch.{name}" for name in sorted(FACTORIES | DATA_FACTORIES))
    needles = tuple(f"torch.{name}(".encode() for name in sorted(FACTORIES | DATA_FACTORIES))

    def is_candidate(self, site: Site) -> bool:
        return read_mix(site) is not None

    def visit_Call(self, node: cst.Call, site: Site) -> Iterator[Finding]:
        mix = read_mix(site)
        if mix is None:
            return
        meeting = site.module.location(mix.node, "the two meet here")
        severity: Severity | None = "warning" if mix.tier == "sibling" else None
        yield self.finding(
            site.location,
            f"`{site.module.segment(site.call.func)}(…)` makes a tensor on the CPU, which meets {describe_other(mix)}",
            severity=severity,
            related=(meeting,),
            fix=edit_device(site, mix),
        )


def read_mix(site: Site) -> Mix | None:
    """The first place where the tensor this call makes meets one that lives elsewhere."""
    module = site.module
    if argument(site.call, "device") is UNKNOWN or not is_for_accelerators(module):
        return None
    function = module.function(site.call)
    if function is None or is_cpu_by_design(module, function):
        return None
    mixes = function_mixes(module, function)
    return next((mix for mix in mixes if mix.factory is site.call), None)


def is_for_accelerators(module: PythonModule) -> bool:
    """Whether a file is about accelerators at all, and leaves the default device where it is."""
    known = module.memo.get(("accelerators", module.tree))
    if known is None:
        data = module.source.file.data
        known = (
            not is_test_file(module.path)
            and _ACCELERATOR.search(data) is not None
            and _DEFAULT_DEVICE.search(data) is None
        )
        module.memo["accelerators", module.tree] = known
    return bool(known)


def function_mixes(module: PythonModule, function: FunctionNode) -> list[Mix]:
    """The device mixes of a function, computed once for all its factory calls."""
    cached = module.memo.get(("device", function))
    if cached is None:
        from trl_lint.python.dataflow.device import device_mixes

        cached = module.memo["device", function] = device_mixes(module, function)
    return cached  # type: ignore[return-value]


def is_cpu_by_design(module: PythonModule, function: FunctionNode) -> bool:
    """Collators, datasets, tokenisation: tensors stay on the CPU there, and constructors build modules on it."""
    names = [function.name, os.path.basename(module.path)]
    owner = module.class_of(function)
    while owner is not None:
        names.append(owner.name)
        names.extend(ast.unparse(base) for base in owner.bases)
        owner = module.class_of(owner)
    return function.name == "__init__" or any(_CPU_BY_DESIGN.search(name) for name in names)


def describe_other(mix: Mix) -> str:
    if mix.tier == "placed":
        return f"one on `{mix.other}`" if mix.other else "one on an accelerator"
    if mix.tier == "model":
        return "the output of a model"
    if mix.tier == "param":
        return "one that came in as an argument"
    return "a tensor, on a device that nothing here names"


def edit_device(site: Site, mix: Mix) -> Fix | None:
    """Give the factory the device it lacks; none where no name in scope is certain to have it."""
    if not mix.remedy:
        return None
    edit = rewrite(site.module, site.call, lambda call: with_keyword(call, "device", mix.remedy))
    return Fix(f"Add `device={mix.remedy}`", "safe", (edit,)) if edit is not None else None


rule = TensorWithoutDevice()
