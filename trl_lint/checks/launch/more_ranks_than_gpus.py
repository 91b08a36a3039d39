"""TRL503: a command starts more processes, or more ranks of a model, than it makes GPUs visible."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.checks._phrases import places
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Location
from trl_lint.grading import milder
from trl_lint.knowledge.families import Server
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting, of_flag
from trl_lint.run.runs import Run
from trl_lint.run.servers import read_server, share_of, shown_ids
from trl_lint.sources import SourceError

# With these the ranks of a server are not all on the machine of the command.
_SPREAD = (
    "pipeline_parallel_size", "distributed_executor_backend", "data_parallel_address", "data_parallel_size_local",
    "headless", "nnodes", "data_parallel_backend", "data_parallel_hybrid_lb", "data_parallel_external_lb",
)  # fmt: skip
_CONFIGS = (".yaml", ".yml", ".json")
_NO_GPU = ("--no_cuda", "--no-cuda", "--no_gpu", "--no-gpu")
_CPU_IN_CODE = (b"gloo", b"use_cpu=True", b"no_cuda=True", b"cpu=True")
_CPU = ("--cpu", "--use_cpu", "--use_mps_device", "--tpu", "--use_xpu")


class MoreRanksThanGpus(Rule):
    code = "TRL503"
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        found = list(self._check_ranks(run))
        yield from found or self._check_own_vllm(run)

    def _check_own_vllm(self, run: Run) -> Iterator[Finding]:
        """A trainer of trl 0.14 or 0.15 starts vLLM on one more GPU, and stops with a ValueError if it is not there."""
        from trl_lint.checks.launch._own_vllm import missing_gpu

        missing = missing_gpu(run)
        if missing is not None:
            message, severity, related = missing
            place = run.launch.location
            yield self.finding(
                place,
                message,
                severity=severity,
                related=tuple(one for one in related if one[:3] != place[:3]),
            )

    def _check_ranks(self, run: Run) -> Iterator[Finding]:
        room = _cluster_of(run) or _room_of(run)
        if room is None:
            return
        program = run.launch.program
        server = program.server_of(run.launch.subcommand) if program is not None else None
        if run.framework == "vllm":
            yield from self._check_server(run, room)
        elif server is not None:
            yield from self._check_sizes(run, server, room)
        elif run.asked_of_ray:
            yield from self._check_ray(run, room)
        elif program is not None and program.starts_processes and not program.hides_gpus:
            yield from self._check_training(run, room)
        elif program is None:
            yield from self._check_engine(run, room)

    def _check_engine(self, run: Run, room: Room) -> Iterator[Finding]:
        """A warning: older releases of vLLM ask Ray for what is not there."""
        from trl_lint.checks.launch._engine_gpus import ranks_of_engine

        engine = ranks_of_engine(run, _SPREAD)
        if engine is not None and engine[0] > room.gpus:
            place = engine[1]._replace(message="what it is to share out")
            yield self._finding(run, f"vLLM needs {engine[0]} GPUs in this process", room, (place,), is_mild=True)

    def _check_server(self, run: Run, room: Room) -> Iterator[Finding]:
        if any(of_flag(run.launch, name) is not ABSENT for name in _SPREAD) or run.launch.flag("-pp") is not ABSENT:
            return
        ranks = read_server(run).ranks
        if ranks is not None and ranks > room.gpus:
            yield self._finding(run, f"the server needs {ranks} GPUs", room, ())

    def _check_sizes(self, run: Run, server: Server, room: Room) -> Iterator[Finding]:
        """A server of another framework: the product of its sizes."""
        if server.reads_configs and any((word.text or "").endswith(_CONFIGS) for word in run.launch.args):
            return  # a config may set the sizes
        if not server.sizes or any(of_flag(run.launch, name) is not ABSENT for name in server.spread):
            return
        said = [of_flag(run.launch, name) for name in server.sizes]
        if UNKNOWN in said:
            return
        sizes = [setting.integer if isinstance(setting, Setting) else 1 for setting in said]
        ranks = math.prod(size or 0 for size in sizes)
        if ranks > room.gpus:
            yield self._finding(run, f"the server needs {ranks} GPUs", room, ())

    def _check_ray(self, run: Run, room: Room) -> Iterator[Finding]:
        """A warning: a cluster that is running on the machine may have been started with other GPUs."""
        from trl_lint.checks.launch._ray_gpus import wanted_gpus

        wanted = wanted_gpus(run)
        if wanted is not None and wanted.number > room.gpus:
            yield self._finding(run, wanted.words, room, wanted.places, is_mild=True)

    def _check_training(self, run: Run, room: Room) -> Iterator[Finding]:
        if not run.launch.options.keys().isdisjoint(_CPU) or _has_own_ids(run) or _may_be_on_cpu(run):
            return
        number = share_of(run).number
        if number is not None and number > room.gpus:
            said = [("processes", run.processes)] if isinstance(run.processes, Setting) else []
            yield self._finding(run, f"{number} processes start on a machine", room, places(said))

    def _finding(
        self, run: Run, what: str, room: Room, related: tuple[Location, ...], is_mild: bool = False
    ) -> Finding:
        is_mild = is_mild or room.is_asked_for or run.launch.is_documentation
        return self.finding(
            room.place,
            f"{what}, and {room.words}",
            severity=milder(self.page.severity, is_mild),
            related=(*related, run.launch.location._replace(message="the run")),
        )


class Room(NamedTuple):
    """The GPUs that a run has on a machine: how many, in words, and where that is written.

    `is_asked_for`: a scheduler is asked for them, in a file that may be started without one, or with other options.
    """

    gpus: int
    words: str
    place: Location
    is_asked_for: bool = False


def _room_of(run: Run) -> Room | None:
    """The GPUs that the text gives a run; None where it does not say, and for a run on the CPU."""
    launch = run.launch
    if (own := _own_choice(run)) is not None:
        return own
    ids, word = launch.visible_gpus, launch.visible_word
    if ids:
        place = launch.location if word is None else launch.source.location(word.start, word.end)
        gpus = f"1 GPU ({ids[0]}) is" if len(ids) == 1 else f"{len(ids)} GPUs ({shown_ids(ids)}) are"
        is_composed = [each.text for each in launch.command.outer[1:2]] == ["compose"]
        return Room(len(ids), f"{gpus} visible", place, is_composed)  # another compose file may be laid over one
    from trl_lint.checks.launch._visible import of_job

    job = of_job(launch)
    if job is None:
        return None
    from trl_lint.project.starters import is_submitted_with_gpus

    if is_submitted_with_gpus(launch.source.path, run.project):
        return None
    return Room(job.gpus, job.location.message, job.location, True)


def _own_choice(run: Run) -> Room | None:
    """The GPUs that the script itself makes visible: `os.environ["CUDA_VISIBLE_DEVICES"] = "0"` in every process."""
    path, program = run.launch.script_path, run.launch.program
    if path is None or program is None or not program.starts_programs:
        return None
    with suppress(OSError, SourceError):
        if not run.project.files.holds(path, b'"CUDA_VISIBLE_DEVICES"', b"'CUDA_VISIBLE_DEVICES'"):
            return None
        from trl_lint.checks.launch._variables import python_settings

        module = run.project.module_in(path)
        top = {module.location(node)[1] for node in module.tree.body}
        for setting in python_settings(module):
            ids = [one for one in (setting.value or "").split(",") if one.strip()]
            if setting.name == "CUDA_VISIBLE_DEVICES" and ids and setting.location[1] in top:
                gpus = "1 GPU" if len(ids) == 1 else f"{len(ids)} GPUs"
                return Room(len(ids), f"CUDA_VISIBLE_DEVICES of the script leaves {gpus}", setting.location)
    return None


def _cluster_of(run: Run) -> Room | None:
    """The cluster that the script of a run starts for it."""
    if not run.asked_of_ray:
        return None
    from trl_lint.checks.launch._ray_gpus import cluster_of

    found = cluster_of(run)
    return Room(found[0], found[1].message, found[1]) if found is not None else None


def _has_own_ids(run: Run) -> bool:
    """Whether the accelerate config chooses the GPUs or the CPU: that replaces CUDA_VISIBLE_DEVICES of the shell."""
    if run.accelerate is None:
        return False
    ids, on_cpu, kind = map(run.configs.accelerate.given, ("gpu_ids", "use_cpu", "distributed_type"))
    if isinstance(ids, Setting) and ids.value not in ("all", None):
        return True
    is_on_gpus = isinstance(kind, Setting) and kind.value in ("MULTI_GPU", "DEEPSPEED", "FSDP", "MEGATRON_LM")
    return not is_on_gpus or (isinstance(on_cpu, Setting) and on_cpu.truth is True)


def _may_be_on_cpu(run: Run) -> bool:
    """Whether the processes may do without GPUs: the command or the script speaks of gloo or of the CPU."""
    if any((word.text or "").rpartition("=")[2] in ("cpu", "gloo") for word in run.launch.args):
        return True
    if "ACCELERATE_USE_CPU" in run.launch.env or not run.launch.options.keys().isdisjoint(_NO_GPU):
        return True
    path = run.launch.script_path
    with suppress(OSError, SourceError):
        return path is not None and run.project.files.holds(path, *_CPU_IN_CODE)
    return False


rule = MoreRanksThanGpus()
