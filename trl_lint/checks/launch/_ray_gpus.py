"""The GPUs that a command asks Ray for on a machine, beside those that it makes visible.

verl 0.3.0 to 0.9.1 stop where Ray has fewer: "Total available GPUs 1 is less than total desired GPUs 8"
(trainer/ppo/ray_trainer.py, later single_controller/ray/base.py), OpenRLHF waits for them without end. `ray.init()` of
a command starts a cluster on the machine with what it makes visible, unless one is running there, or is named.
"""

from __future__ import annotations

from trl_lint.finding import Location
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.launchers import read_flags
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.config import Workers
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.sources import Source
from trl_lint.words import read_count

# With one of these words in its file, a command may belong to a cluster that has other GPUs.
_CLUSTER = ("ray start", "ray up", "ray job", "RAY_ADDRESS", "ray_address", "ray.init")
# A cluster that this script does not start alone, or a GPU that another command adds to it.
_ELSEWHERE = regex(r"ray up|RAY_ADDRESS|ray_address|ray\.init|\bssh\b|\bsrun\b")
_LOCAL = regex(r"127\.0\.0\.1|localhost|0\.0\.0\.0")


class Wanted(NamedTuple):
    """How many GPUs a run wants on the machine, in words too; `places` is where the command says so, if it does."""

    number: int
    words: str
    places: tuple[Location, ...]


def wanted_gpus(run: Run) -> Wanted | None:
    """What all releases in use ask Ray for; None where that is not known, or is not for the machine of the command."""
    package = run.config.package
    if package not in run.choices or may_be_elsewhere(run):
        return None
    versions = run.choices.newest((package,))
    asked = [
        _pools(run.workers_by_ray(run.config.at({**versions, package: version})))
        for version in run.choices[package].releases
    ]
    pools = asked[0]
    if not pools or any(one != pools for one in asked):
        return None
    number = sum(pools.values())
    told = ", ".join(f"{role} {size}" for role, size in pools.items())
    told = told if len(pools) > 1 else f"`{run.config.option('processes')}`"
    said = (workers.number for workers in run.asked_of_ray if workers.role == workers.pool)
    places = dict.fromkeys(one.location for one in said if isinstance(one, Setting) and one.location is not None)
    shown = "" if places else ", by default"
    gpus = "1 GPU" if number == 1 else f"{number} GPUs"
    return Wanted(
        number, f"this asks Ray for {gpus} ({told}{shown})", tuple(one._replace(message="said here") for one in places)
    )


def _pools(workers: tuple[Workers, ...]) -> dict[str, int] | None:
    """The GPUs of each pool; None where one is not known, stands on several machines, or is of another kind."""
    owners = [one for one in workers if one.role == one.pool]
    if any(one.device != "cuda" or (one.nodes is not ABSENT and one.machines != 1) for one in owners):
        return None
    found = {one.role: one.total for one in owners}
    return {role: count for role, count in found.items() if count is not None} if None not in found.values() else None


def may_be_elsewhere(run: Run) -> bool:
    """Whether a command may go to a cluster that nobody knows here."""
    is_sent = "ray" in run.launch.wrappers or _names_cluster(run.launch.source, run.project)
    return is_sent and cluster_of(run) is None


def cluster_of(run: Run) -> tuple[int, Location] | None:
    """The GPUs of the cluster that the script of a command starts for it, and where that is written.

    That is its only `ray start`, with `--head` and a number; None where the command may go to another cluster.
    """
    launch = run.launch
    started = _started_cluster(launch.source, run.project)
    if started is None or started[1].end > launch.command.start:
        return None
    front = (word.text or word.raw for word in launch.command.words if word.start < launch.launcher_word.start)
    addresses = [text for text in front if "://" in text or "ADDRESS" in text.upper()]
    return started if all(text == "--address" or _LOCAL.search(text) for text in addresses) else None


@per_project
def _started_cluster(source: Source, project: Project) -> tuple[int, Location] | None:
    if source.language != "shell" or source.text.count("ray start") != 1 or _ELSEWHERE.search(source.text):
        return None
    from trl_lint.sources.shell import commands

    for command in commands(source):
        texts = [word.text for word in command.words]
        if texts[:2] != ["ray", "start"]:
            continue
        if command.outer or command.branch or "--head" not in texts or command.errors:
            return None
        given = read_flags(command.words).given
        word = given.get("--num-gpus", given.get("--num_gpus"))
        number = read_count(word.text) if word is not None else None
        if word is None or number is None:
            return None
        gpus = "1 GPU" if number == 1 else f"{number} GPUs"
        return number, source.location(word.start, word.end, f"the cluster of this script has {gpus}")
    return None


@per_project
def _names_cluster(source: Source, project: Project) -> bool:
    return any(word in source.text for word in _CLUSTER)
