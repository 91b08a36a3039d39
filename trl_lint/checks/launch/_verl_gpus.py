"""The GPUs that a command of verl asks Ray for on a machine, beside those that it makes visible.

verl 0.3.0 to 0.9.1 stop where Ray has fewer: "Total available GPUs 1 is less than total desired GPUs 8"
(trainer/ppo/ray_trainer.py, later single_controller/ray/base.py). `ray.init()` of a command starts a cluster on the
machine with what it makes visible, unless one is running there, or is named.
"""

from __future__ import annotations

from trl_lint.checks.configs._hydra import apply_all, find
from trl_lint.checks.configs._verl import VerlRun, read_run
from trl_lint.finding import Location
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.runs import Run
from trl_lint.records import NamedTuple
from trl_lint.sources import Source

# With one of these words in its file, a command may belong to a cluster that has other GPUs.
_CLUSTER = ("ray start", "ray up", "ray job", "RAY_ADDRESS", "ray_address", "ray.init")
_GPUS, _MACHINES, _DEVICE = "trainer.n_gpus_per_node", "trainer.nnodes", "trainer.device"


class Wanted(NamedTuple):
    """How many GPUs a run wants on the machine; `places` is where the command says so, if it does."""

    number: int
    places: tuple[Location, ...]


def wanted_gpus(run: Run) -> Wanted | None:
    """What all releases in use ask Ray for; None where that is not known, or is not for the machine of the command."""
    launch = run.launch
    if "ray" in launch.wrappers or _names_cluster(launch.source, run.project):
        return None
    verl = read_run(launch, run.project)
    if verl is None or "verl" not in verl.choices:
        return None
    numbers = {_number(verl, version) for version in verl.choices["verl"].releases}
    if len(numbers) != 1 or (number := numbers.pop()) is None:
        return None
    words = [override.word for override in verl.overrides if override.key == _GPUS]
    places = tuple(launch.source.location(word.start, word.end, "said here") for word in words)
    return Wanted(number, places)


@per_project
def _names_cluster(source: Source, project: Project) -> bool:
    return any(word in source.text for word in _CLUSTER)


def _number(run: VerlRun, version: str) -> int | None:
    tree = run.tree(version)
    if tree is None or any(True for _ in apply_all(tree, run.overrides)):
        return None
    if find(tree, _MACHINES) != 1 or find(tree, _DEVICE) not in (ABSENT, None, "cuda"):
        return None
    number = find(tree, _GPUS)
    return number if type(number) is int else None
