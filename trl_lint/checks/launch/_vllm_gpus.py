"""What vLLM leaves of the GPUs that one process sees: how many processes may train on the rest."""

from __future__ import annotations

from trl_lint.checks.inference._vllm import is_engine
from trl_lint.checks.launch._training_script import Training
from trl_lint.finding import Location
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.servers import Server, is_beside, servers_of, shown_ids
from trl_lint.run.vllm_device import own_device


class Room(NamedTuple):
    """How many processes may train, one for each GPU that is left; None where no number is known to be right.

    `because` are the places that decide it; where there is no number, they say why.
    """

    processes: int | None
    because: tuple[Location, ...] = ()


def read_room(run: Run, training: Training, module: PythonModule, gpus: int) -> Room:
    """The processes that a script may be started with where one process of it sees `gpus` GPUs."""
    started = next((call for call in module.calls if is_engine(call, module)), None)
    if started is not None:
        return Room(None, (module.location(started, "no fix: each of several processes would start vLLM here"),))
    room = _beside_own(run, training, module, gpus)
    for server in servers_of(run):
        if room.processes is not None and is_beside(run, server):
            room = _beside_server(run, server, gpus, room)
    if room.processes is not None and room.processes > 1:
        from trl_lint.checks.distribution.fixed_gpu_under_launcher import read_gpu

        fixed = next((call for call in module.calls if read_gpu(call, module) is not None), None)
        if fixed is not None:
            return Room(None, (module.location(fixed, "no fix: each of several processes would take this GPU"),))
    return room


# -- vLLM inside the trainer --------------------------------------------------------------------------------------


def _beside_own(run: Run, training: Training, module: PythonModule, gpus: int) -> Room:
    """What is left beside the vLLM that the trainer starts itself; where releases differ in that, nothing is known."""
    here = module.location(training.call.func)
    if training.library != "trl":
        return Room(gpus)
    if "trl" not in run.choices:
        return Room(None, (here._replace(message="no fix: with this release of trl, vLLM may take a GPU"),))
    rooms = [_in_release(run, training, release, here, gpus) for release in run.choices["trl"].releases]
    if len({room.processes for room in rooms}) == 1:
        return rooms[-1]
    because = next(room.because for room in rooms if room.because)
    places = (
        place._replace(message="no fix: whether vLLM takes a GPU depends on the release of trl") for place in because
    )
    return Room(None, tuple(places))


def _in_release(run: Run, training: Training, release: str, here: Location, gpus: int) -> Room:
    versions = {**run.choices.newest(("trl", "transformers")), "trl": release}
    if not run.arguments_class:
        unknown = Room(None, (here._replace(message="no fix: whether vLLM takes a GPU is not known here"),))
        return unknown if _may_own(training, versions) else Room(gpus)
    device = run.config.at(versions).default("vllm_device")
    if not isinstance(device, Setting) or device.value is None:
        return Room(gpus)
    used = run.config.at(versions).final("use_vllm")
    if isinstance(used, Setting) and used.truth is False:
        return Room(gpus)
    own = own_device(run, release, gpus - 1, gpus)
    place = own.place.location if own is not None else used.location if isinstance(used, Setting) else None
    if own is not None and own.gpu == gpus - 1:
        return Room(gpus - 1, ((place or here)._replace(message=f"vLLM takes the last GPU, cuda:{gpus - 1}"),))
    name = f"cuda:{own.gpu}" if own is not None and own.gpu is not None else "a GPU nobody knows"
    reason = f"no fix: vLLM takes {name} and not the last, cuda:{gpus - 1}"
    if own is None:
        reason = "no fix: whether vLLM takes a GPU is not known here"
    return Room(None, ((place or here)._replace(message=reason),))


def _may_own(training: Training, versions: dict[str, str]) -> bool:
    """Whether the config of a trainer can give vLLM a GPU of its own with these releases."""
    from trl_lint.knowledge.api import resolve, signature

    found = resolve(f"trl.{training.base.removesuffix('Trainer')}Config", versions)
    parameter = signature(found, versions).parameters.get("vllm_device") if isinstance(found, str) else None
    return parameter is not None and parameter.default != "None"


# -- a server beside the trainer ----------------------------------------------------------------------------------


def _beside_server(run: Run, server: Server, gpus: int, room: Room) -> Room:
    """What a server leaves: the trainer takes GPUs from the first on, so those of the server must be the last."""
    assert room.processes is not None
    place = server.run.launch.location
    if server.gpus is None or server.ranks is None:
        return Room(None, (place._replace(message="no fix: which GPUs this server takes is not known"),))
    theirs = server.gpus[: server.ranks]
    ours = run.launch.visible_gpus or tuple(map(str, range(gpus)))
    both = [index for index, gpu in enumerate(ours) if gpu in theirs]
    if not both:
        return room
    left = both[0]
    if left == 0 or both != list(range(left, len(ours))):
        return Room(
            None, (place._replace(message="no fix: this server takes a GPU before the last one of the trainer"),)
        )
    message = f"the server takes {'GPU' if len(both) == 1 else 'GPUs'} {shown_ids(tuple(ours[left:]))}"
    return Room(min(left, room.processes), (*room.because, place._replace(message=message)))
