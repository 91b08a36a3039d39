"""What a batch script asks its scheduler for."""

from __future__ import annotations

import re

from trl_lint.records import NamedTuple
from trl_lint.sources import Source
from trl_lint.sources.shell import Directive
from trl_lint.words import read_count


class Scheduler(NamedTuple):
    """What the head of a batch script asks for: GPUs on the node that runs it, tasks (per node, or in all), machines,
    tasks on each; None where unknown.
    """

    gpus: int | None
    tasks: int | None
    start: int
    end: int
    nodes: int | None = None
    on_each: int | None = None


def read_scheduler(source: Source) -> Scheduler | None:
    """The GPUs and tasks that the `#SBATCH` or `#PBS` lines of a script ask for; None without such lines."""
    from trl_lint.sources.shell import directives

    found = [d for d in directives(source) if d.scheduler in ("SBATCH", "PBS")]
    if not found:
        return None
    gpus: int | None = None
    place = found[0]
    nodes = tasks = per_task = on_each = None
    for directive in found:
        count = _gpus_per_node(directive)
        if count is not None:
            gpus, place = count, directive
        if directive.name in ("--nodes", "-N"):
            nodes = read_count(directive.value)
        elif directive.name == "--exclusive":
            return Scheduler(None, None, directive.start, directive.end, nodes)  # all that the machine has, it may be
        elif directive.name in ("--ntasks", "-n", "--ntasks-per-node"):
            tasks = max(tasks or 0, read_count(directive.value) or 1_000_000)
            if directive.name == "--ntasks-per-node":
                on_each = read_count(directive.value)
    for directive in found:
        if directive.scheduler == "SBATCH" and gpus is None:
            # Without a number of nodes the GPUs may be spread over several.
            if directive.name in ("--gpus", "-G") and nodes == 1:
                gpus, place = read_count(directive.value.rpartition(":")[2]), directive
            elif directive.name == "--gpus-per-task" and tasks == 1:
                per_task = read_count(directive.value.rpartition(":")[2])
                gpus, place = per_task, directive
    if on_each is None and tasks and nodes and tasks % nodes == 0:
        on_each = tasks // nodes
    return Scheduler(gpus, tasks, place.start, place.end, nodes, on_each)


def _gpus_per_node(directive: Directive) -> int | None:
    """GPUs per node of `--gres=gpu:a100:4`, `--gpus-per-node=4` (sbatch) or `-l select=1:ngpus=4` (PBS)."""
    if directive.scheduler == "PBS":
        match = re.search(r"(?:\b|:)(?:ngpus|gpus)=(\d+)", directive.value) if directive.name == "-l" else None
        return read_count(match[1]) if match else None
    if directive.name == "--gpus-per-node":
        return read_count(directive.value.rpartition(":")[2])
    if directive.name == "--gres":
        counts = [p for p in directive.value.split(",") if p == "gpu" or p.startswith("gpu:")]
        if len(counts) == 1:
            last = re.sub(r"\(.*", "", counts[0]).rpartition(":")[2]
            # `gpu` and `gpu:a100` ask for one.
            return read_count(last) if last.isdecimal() else 1
    return None
