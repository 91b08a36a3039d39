"""TRL109: a `DistributedSampler` that shuffles the same way in every epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.missing import ABSENT
from trl_lint.paths import is_test_file
from trl_lint.python.dataflow.interpreter import dotted
from trl_lint.python.guards import last_name
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument

# These call `set_epoch` themselves: the trainers, and the loaders that accelerate returns.
_SETS_EPOCH = (b"set_epoch", b".prepare(", b"prepare_data_loader", b"Trainer(", b"lightning", b"fabric")


class SamplerWithoutSetEpoch(Rule):
    code = "TRL109"
    triggers = ("torch.utils.data.DistributedSampler", "torch.utils.data.distributed.DistributedSampler")
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        data = site.module.source.file.data
        if any(word in data for word in _SETS_EPOCH) or is_test_file(site.module.path) or not shuffles(site.call):
            return
        loop = read_loop(site.call, site.module)
        if loop is None:
            return
        head = ast.copy_location(ast.Tuple([loop.target, loop.iter], ast.Load()), loop.target)
        head.end_lineno, head.end_col_offset = loop.iter.end_lineno, loop.iter.end_col_offset
        yield self.finding(
            site.location,
            "every epoch has the same order: nothing in this file calls `set_epoch`",
            related=(site.module.location(head, "the epochs"),),
        )


def shuffles(call: ast.Call) -> bool:
    """`shuffle` is True by default (torch/utils/data/distributed.py)."""
    given = argument(call, "shuffle", 3)
    return given is ABSENT or (isinstance(given, ast.Constant) and given.value is True)


def read_loop(call: ast.Call, module: PythonModule) -> ast.For | None:
    """The loop over epochs that iterates, again and again, over a loader with this sampler."""
    samplers = assigned_names(call, module)
    loaders = {
        name
        for loader in module.calls
        if last_name(loader.func) == "DataLoader" and dotted_argument(loader, "sampler") in samplers
        for name in assigned_names(loader, module)
    }
    for node in ast.walk(module.tree) if loaders else ():
        if isinstance(node, ast.For) and names_in(node.iter) & loaders:
            outer = next((loop for loop in module.ancestors(node) if is_epoch_loop(loop)), None)
            if isinstance(outer, ast.For):
                return outer
    return None


def dotted_argument(call: ast.Call, name: str) -> str:
    given = argument(call, name)
    return (dotted(given) or "") if isinstance(given, ast.expr) else ""


def assigned_names(call: ast.Call, module: PythonModule) -> set[str]:
    """The names that the result of a call gets, where the call, or a choice with it, is all of the right side."""
    node: ast.AST = module.parents[call]
    while isinstance(node, ast.IfExp):
        node = module.parents[node]
    targets = node.targets if isinstance(node, ast.Assign) else ()
    return {name for target in targets if (name := dotted(target)) is not None}


def names_in(node: ast.expr) -> set[str]:
    return {name for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute)) and (name := dotted(part))}


def is_epoch_loop(node: ast.AST) -> bool:
    """`for epoch in range(…)`, of more than one epoch as far as can be seen."""
    if not isinstance(node, ast.For) or "epoch" not in ast.unparse(node.target).lower():
        return False
    return not (isinstance(node.iter, ast.Call) and ast.unparse(node.iter) in ("range(1)", "range(0, 1)"))


rule = SamplerWithoutSetEpoch()
