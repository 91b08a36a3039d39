"""Who starts what on which machine: launchers, srun, ssh and Ray against the machines that a job has."""

from __future__ import annotations

import os
from collections.abc import Iterator

from trl_lint.finding import Location
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.scheduler import Scheduler
from trl_lint.project.scripts import Script
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.runs import run_of
from trl_lint.run.servers import share_of
from trl_lint.sources.shell import Command, Word
from trl_lint.words import read_count

# With one of these in a script, something may start the other machines.
_STARTERS = regex(r"\b(?:srun|mpirun|mpiexec|pdsh|ssh|clush|parallel|xargs|ray|dask|sbatch|submitit)\b")
_TASK_OPTION = regex(r"-[nN]\d*\Z|--(?:n?tasks|nodes|ntasks-per-node|nodelist|overlap|relative)\b|-[wxr]\Z|--exclude")
_TASKS_PER_NODE = regex(r"\$\{?SLURM_TASKS_PER_NODE\b(?![%#/:])")
_RANK_OF_JOB = regex(r"(?<!\\)\$\{?(?:SLURM_(?:NODEID|PROCID|LOCALID)|OMPI_COMM_WORLD_RANK|PMI_RANK)\b")
_HERE = frozenset({"localhost", "127.0.0.1", "0.0.0.0"})
_RANKS, _MACHINES = ("--node_rank", "--machine_rank"), ("--nnodes", "--num_machines", "--num_nodes")
_ADDRESSES = ("--master_addr", "--main_process_ip")


class Fault(NamedTuple):
    """Where something is wrong, in words, and the places beside it."""

    location: Location
    message: str
    related: tuple[Location, ...] = ()


def faults(script: Script, project: Project) -> Iterator[Fault]:
    """What a script starts on the wrong machines, or not at all."""
    for launch in script.launches:
        if launch.is_documentation or launch.command.errors or launch.program is None:
            continue
        if launch.launcher == "deepspeed":
            yield from _without_hosts(launch)
        elif launch.program.starts_programs:
            yield from _of_launcher(launch, script, project)
    nodes = script.scheduler.nodes if script.scheduler is not None else None
    for command in script.commands if (nodes or 0) > 1 and "ray start" in script.source.text else ():
        yield from _heads(command, script, nodes or 0)


def _of_launcher(launch: Launch, script: Script, project: Project) -> Iterator[Fault]:
    scheduler, by_srun = script.scheduler, "srun" in launch.wrappers
    machines = _number(launch, _MACHINES)
    rank = next((launch.options[name] for name in _RANKS if name in launch.options), None)
    if scheduler is not None and by_srun and (scheduler.on_each or 0) > 1 and not _has_task_option(launch):
        number = share_of(run_of(launch, project)).number or _number(launch, ("--nproc_per_node",))
        if number is not None and number > 1:
            yield Fault(
                _tasks_at(script),
                f"`srun` starts {scheduler.on_each} of `{launch.launcher}` on each machine (ntasks-per-node), and each "
                f"starts {number} processes: it takes one task a machine",
                (launch.location._replace(message="started here"),),
            )
    if scheduler is not None and (scheduler.nodes or 0) > 1:
        yield from _not_a_number(launch)
    if machines is None or machines < 2 or launch.hides_options():
        return
    if launch.launcher == "accelerate":
        yield from _of_all(launch, machines, scheduler)
    here = next((launch.options[name] for name in _ADDRESSES if name in launch.options), None)
    if here is not None and here.text in _HERE and len(script.launches) == 1:
        yield Fault(
            launch.place_of_value(here),
            f"`{here.text}` is another machine on each of the {machines}: name the first one",
        )
    if _has_backend(launch):
        return
    if rank is not None and (by_srun or "ssh" in launch.wrappers):
        is_one = read_count(rank.text) is not None
        is_early = (
            by_srun and rank.text is None and _RANK_OF_JOB.search(rank.raw) is not None and not _is_quoted(launch)
        )
        if (is_one and _on_several(launch, script)) or is_early:
            why = (
                "is the same on every machine" if is_one else "is filled in before `srun` starts, on the first machine"
            )
            yield Fault(launch.place_of_value(rank), f"the rank of the machine {why}: all {machines} get this one")
    elif scheduler is not None and (scheduler.nodes or 0) > 1 and not _STARTERS.search(script.code):
        yield Fault(
            launch.location,
            f"only the first machine of the job runs this, and it waits for {machines}: start it with `srun`, one task "
            "on each",
        )


def _not_a_number(launch: Launch) -> Iterator[Fault]:
    """sbatch sets it to `8(x2)` for two machines with eight tasks each."""
    for name, word in launch.options.items():
        if word.text is None and _TASKS_PER_NODE.search(word.raw):
            yield Fault(
                launch.place_of_value(word),
                f"`SLURM_TASKS_PER_NODE` is no number on several machines but `8(x2)`: `{name}` takes "
                "`SLURM_NTASKS_PER_NODE`",
            )


def _of_all(launch: Launch, machines: int, scheduler: Scheduler | None) -> Iterator[Fault]:
    """utils/launch.py: `nproc_per_node = num_processes // num_machines`, 0.20.0 to 1.15.0."""
    word = launch.options.get("--num_processes")
    number = read_count(word.text) if word is not None else None
    if word is None or number is None:
        return
    on_each = scheduler.gpus if scheduler is not None and scheduler.nodes == machines else None
    if number % machines:
        message = f"accelerate shares {number} processes out to {machines} machines: {number // machines} start on each"
        yield Fault(launch.place_of_value(word), message)
    elif on_each is not None and on_each == number:
        yield Fault(
            launch.place_of_value(word),
            f"`--num_processes` counts those of all machines: {number // machines} start on each of them, which has "
            f"{on_each} GPUs",
        )


def _without_hosts(launch: Launch) -> Iterator[Fault]:
    """launcher/runner.py: "Num nodes is >1 but no extra nodes available via hostfile", 0.12.0 to 0.19.8."""
    word = launch.options.get("--num_nodes")
    number = read_count(word.text) if word is not None else None
    options = launch.options.keys()
    if word is None or (number or 0) < 2 or launch.hides_options():
        return
    if options.isdisjoint(("--hostfile", "-H", "--no_ssh", "--launcher", "--include", "-i")):
        yield Fault(
            launch.place_of_value(word),
            f"deepspeed knows no machines without a `--hostfile` (or /job/hostfile): it stops at {number} nodes",
        )


def _heads(command: Command, script: Script, nodes: int) -> Iterator[Fault]:
    """`srun ray start --head` on all machines makes a cluster of each."""
    texts = [os.path.basename(word.text or "") for word in command.words]
    if texts[:1] != ["srun"] or "ray" not in texts or "--head" not in texts or command.errors:
        return
    front = command.words[: texts.index("ray")]
    if any(word.text is None or _TASK_OPTION.match(word.text) for word in front):
        return
    yield Fault(
        script.source.location(command.start, command.end),
        f"each of the {nodes} machines starts a head of its own: one of them takes `--head`, the others `--address`",
    )


def _number(launch: Launch, names: tuple[str, ...]) -> int | None:
    word = next((launch.options[name] for name in names if name in launch.options), None)
    return read_count(word.text) if word is not None else None


def _tasks_at(script: Script) -> Location:
    """The line that asks for tasks."""
    from trl_lint.sources.shell import directives

    found = [one for one in directives(script.source) if one.name in ("--ntasks-per-node", "--ntasks", "-n")]
    return script.source.location(found[-1].start, found[-1].end)


def _front(launch: Launch) -> tuple[Word, ...]:
    words = (*launch.command.outer, *launch.command.words)
    return tuple(word for word in words if word.start < launch.launcher_word.start)


def _has_task_option(launch: Launch) -> bool:
    """Whether srun is told how many tasks it starts, or may be."""
    return any(word.text is None or _TASK_OPTION.match(word.text) for word in _front(launch))


def _on_several(launch: Launch, script: Script) -> bool:
    """Whether the command, as it stands, runs on several machines: by srun in a job, or by ssh in a loop over hosts."""
    if "srun" in launch.wrappers:
        nodes = script.scheduler.nodes if script.scheduler is not None else None
        return (nodes or 0) > 1 and not _has_task_option(launch)
    front = _front(launch)
    at = next((at for at, word in enumerate(front) if word.text == "ssh"), len(front))
    host = next((word for word in front[at + 1 :] if not (word.text or "x").startswith("-")), None)
    return host is not None and host.text is None


def _is_quoted(launch: Launch) -> bool:
    """Whether the words stand in single quotes, or in a script of their own, so that the machine fills them in."""
    return bool(launch.command.outer) and launch.source.text[launch.command.outer[-1].end :].lstrip()[:1] != '"'


def _has_backend(launch: Launch) -> bool:
    """Whether the machines find their ranks by themselves."""
    word = launch.options.get("--rdzv_backend")
    return word is not None and word.text != "static"
