"""A trainer of trl 0.14 or 0.15 that runs vLLM itself: is its GPU there, and is it free?"""

from __future__ import annotations

from trl_lint.checks._phrases import places
from trl_lint.checks._trainers import uses_trainer
from trl_lint.checks.launch._visible import Evidence, read_seen
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Location, Severity
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.servers import share_of
from trl_lint.run.vllm_device import OwnDevice, own_device

# Below this share of the memory of a GPU somebody has thought of the trainer that is there too.
_MOST_OF_A_GPU = 0.5


class Trouble(NamedTuple):
    """What is wrong in words, how bad it is, and the places it rests on."""

    message: str
    severity: Severity
    related: tuple[Location, ...]


def missing_gpu(run: Run) -> Trouble | None:
    """The GPU that the trainer asks for vLLM is not among those that it sees."""
    processes, seen = _counts(run)
    if processes is None or seen is None or not _is_meant(run):
        return None

    def device_in(release: str) -> OwnDevice | None:
        own = own_device(run, release, processes, seen.gpus)
        return own if own is not None and own.gpu is not None and own.gpu >= seen.gpus else None

    level = Level("error", run.launch.is_documentation)
    verdict = judge_releases(run.choices["trl"], lambda release: device_in(release) is not None, level)
    own = device_in(verdict.version) if verdict is not None else None
    if verdict is None or own is None:
        return None
    there = "1 GPU is visible" if seen.gpus == 1 else f"{seen.gpus} GPUs are visible"
    if own.is_auto:
        needs, advice = f"vLLM needs a GPU of its own, cuda:{own.gpu}", _advice(run, seen.gpus)
    else:
        needs, advice = f"vLLM is to run on cuda:{own.gpu}", f": the last one is cuda:{seen.gpus - 1}"
    message = f"the trainer stops with a ValueError, because {needs}, and only {there}{advice} ({verdict.scope})"
    related = {place[:3]: place for place in (*_related(run, own), seen.location)}
    return Trouble(message, verdict.severity, (*related.values(), *verdict.related))


def shared_gpu(run: Run) -> Trouble | None:
    """A process of the trainer runs on the GPU of vLLM, which takes more than half of its memory."""
    processes, seen = _counts(run)
    here = share_of(run).number
    if processes is None or here is None or not _is_meant(run):
        return None

    def taken_in(release: str) -> tuple[OwnDevice, float] | None:
        own = own_device(run, release, processes, seen.gpus if seen is not None else None)
        if own is None or own.gpu is None or own.gpu >= here:
            return None
        share = _utilization(run, release)
        return (own, share) if share is not None and share > _MOST_OF_A_GPU else None

    is_only = seen is not None and seen.gpus == 1  # sharing it is what trl 0.15 has in mind
    level = Level("info" if is_only else "warning", run.launch.is_documentation)
    verdict = judge_releases(run.choices["trl"], lambda release: taken_in(release) is not None, level)
    taken = taken_in(verdict.version) if verdict is not None else None
    if verdict is None or taken is None:
        return None
    own, share = taken
    rest = (
        "lower `vllm_gpu_memory_utilization`"
        if is_only
        else f"name a GPU that no process takes{_free(processes, seen)}"
    )
    message = (
        f"vLLM takes {share:g} of the memory of cuda:{own.gpu}, and "
        f"{'the trainer' if here == 1 else f'process {own.gpu} of the trainer'} runs there too: {rest} "
        f"({verdict.scope})"
    )
    return Trouble(message, verdict.severity, (*_related(run, own), *verdict.related))


def _counts(run: Run) -> tuple[int | None, Evidence | None]:
    """All processes of the run, and the GPUs that each of them sees."""
    said = run.processes
    return (said.integer if isinstance(said, Setting) else None), read_seen(run)


def _is_meant(run: Run) -> bool:
    """Whether the trainer is certainly that of trl: one of the project's own may place vLLM otherwise."""
    return run.arguments_class == "trl.GRPOConfig" and "trl" in run.choices and uses_trainer(run, "trl.GRPOTrainer")


def _utilization(run: Run, release: str) -> float | None:
    versions = {**run.choices.newest(("trl", "transformers")), "trl": release}
    said = run.config.at(versions).final("vllm_gpu_memory_utilization")
    return said.number if isinstance(said, Setting) else None


def _free(processes: int, seen: Evidence | None) -> str:
    return f' (`vllm_device="auto"` is cuda:{processes})' if seen is None or processes < seen.gpus else ""


def _advice(run: Run, seen: int) -> str:
    """What to start instead. One process needs a launcher that makes a process group, else it takes all GPUs."""
    if seen == 1:
        return ': `vllm_device="cuda:0"` shares the only one'
    program = run.launch.program
    if program is not None and program.hides_gpus:
        hides = f"`{program.command}` hides every GPU on which no process trains"
        return f": {hides}, `accelerate launch` and `torchrun` do not"
    return ": start one process, with `torchrun --nproc_per_node 1`" if seen == 2 else f": start {seen - 1} processes"


def _related(run: Run, own: OwnDevice) -> tuple[Location, ...]:
    place = own.place.location
    vllm = () if place is None else (place._replace(message="vLLM is asked for here"),)
    return (*vllm, *(places([("processes", run.processes)]) if isinstance(run.processes, Setting) else ()))
