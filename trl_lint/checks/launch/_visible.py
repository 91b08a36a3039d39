"""How many GPUs one process of a command certainly sees, and where that is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise, takewhile

from trl_lint.finding import Location
from trl_lint.project.launches import Launch
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.servers import share_of
from trl_lint.sources.shell import Word

# Behind these, what runs is still one plain process on this machine. With any other wrapper (mpirun, docker, ssh, ray)
# nobody can tell from here how many processes there are, or what they see.
TRANSPARENT = frozenset(
    (
        "bash", "command", "conda", "env", "eval", "exec", "ionice", "mamba", "micromamba", "nice", "nohup", "nsys",
        "numactl", "pdm", "pipenv", "pixi", "poetry", "setsid", "sh", "srun", "stdbuf", "taskset", "time", "timeout",
        "uv", "zsh",
    )
)  # fmt: skip
_NUMBER_OF_TASKS = regex(r"(?:-n|--ntasks)(?:=?(\d+))?")
_JOB = regex(r"\b(?:SLURM|PBS)_JOB")
_ASKS_FOR_JOB = regex(r"(?:-[nvz]|test|\[) {1,4}[\"']?\$?\{?(?:SLURM|PBS)_")
_GPU_OPTION = regex(r"-G|--(?:gpus|gres|gpu-bind|jobid|het-group)")
_TASK_OPTION = regex(r"-n\d*$|-G|--(?:ntasks|gpus|gres|gpu-bind|overlap|multi-prog)")


class Evidence(NamedTuple):
    """How many GPUs the process sees, and where that is written."""

    gpus: int
    location: Location


def read_evidence(launch: Launch) -> Evidence | None:
    """The GPUs that one process certainly sees; None where the texts do not tell."""
    if any(name not in TRANSPARENT for name in launch.wrappers):
        return None
    if "srun" in launch.wrappers and not _is_single_task(launch):
        return None
    if "CUDA_VISIBLE_DEVICES" in launch.env:
        gpus, word = launch.visible_gpus, launch.visible_word
        if not gpus or word is None:
            return None
        message = "1 GPU is visible" if len(gpus) == 1 else f"{len(gpus)} GPUs are visible"
        return Evidence(len(gpus), launch.source.location(word.start, word.end, message))
    return _of_scheduler(launch)


def of_job(launch: Launch) -> Evidence | None:
    """The most GPUs that a command has on a machine, where a batch job asks for them; None where nobody tells.

    With several tasks each may see fewer.
    """
    if "CUDA_VISIBLE_DEVICES" in launch.env or any(name not in TRANSPARENT for name in launch.wrappers):
        return None
    words = (*launch.command.outer, *launch.command.words)
    names = [os.path.basename(word.text or "") for word in words]
    options = words[names.index("srun") + 1 :] if "srun" in names else ()
    if any(word.text is None or _GPU_OPTION.match(word.text) for word in _before(options, launch)):
        return None
    return _of_scheduler(launch)


def _before(words: tuple[Word, ...], launch: Launch) -> Iterator[Word]:
    return takewhile(lambda word: word.start != launch.launcher_word.start, words)


def _of_scheduler(launch: Launch) -> Evidence | None:
    scheduler = launch.scheduler
    if scheduler is None or not scheduler.gpus or _may_be_outside(launch):
        return None
    message = "the job gets 1 GPU" if scheduler.gpus == 1 else f"the job gets {scheduler.gpus} GPUs"
    return Evidence(scheduler.gpus, launch.source.location(scheduler.start, scheduler.end, message))


def _may_be_outside(launch: Launch) -> bool:
    """Whether the script asks if it is a job at all, so that the command may run outside of one."""
    text = launch.source.text
    return _ASKS_FOR_JOB.search(text) is not None or (bool(launch.command.branch) and _JOB.search(text) is not None)


def read_seen(run: Run) -> Evidence | None:
    """The GPUs that each process of a run certainly sees, those of the launcher's own choice; None where nobody tells.

    `deepspeed` hides all GPUs but those of its processes (deepspeed/launcher/launch.py, `set_visible_devices_envs`).
    """
    launch = run.launch
    if launch.program is not None and launch.program.hides_gpus:
        number = share_of(run).number
        said = run.processes
        if number is None or not isinstance(said, Setting) or said.location is None:
            return None
        message = f"{launch.launcher} shows the processes {number} of the GPUs"
        return Evidence(number, said.location._replace(message=message))
    if launch.launcher == "accelerate":
        ids = run.configs.accelerate.given("gpu_ids")
        if isinstance(ids, Setting) and ids.value not in ("all", None):
            return None
    return read_evidence(launch)


def _is_single_task(launch: Launch) -> bool:
    """srun starts as many tasks as the job has, unless it is told otherwise: only an explicit single task is one."""
    words = (*launch.command.outer, *launch.command.words)
    names = [os.path.basename(word.text or "") for word in words]
    options = words[names.index("srun") + 1 :] if "srun" in names else ()
    tasks = launch.scheduler.tasks if launch.scheduler is not None else None
    for word, following in pairwise(options):
        if word.text is None or word.start == launch.launcher_word.start:
            return word.text is not None and tasks == 1
        number = _NUMBER_OF_TASKS.fullmatch(word.text)
        if number is not None and (number[1] or following.text) == "1":
            tasks = 1
        elif _TASK_OPTION.match(word.text):
            return False
    return False
