"""Inference servers beside a run, and the GPUs that each of them takes."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

from trl_lint.missing import ABSENT, Missing
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting, of_flag
from trl_lint.run.runs import Run, runs_in
from trl_lint.words import read_count

# The parallel sizes multiply. `vllm serve` and `trl vllm-serve` name them like this, vllm also shorter.
_SIZES = (("tensor_parallel_size", "-tp"), ("pipeline_parallel_size", "-pp"), ("data_parallel_size", "-dp"))
_PORT = 8000
# They too put one of the two on another machine, or in a container.
_ELSEWHERE = frozenset({"ssh", "apptainer", "singularity"})

_ENDS = regex(r"\b(?:p?kill|killall|wait|stop)\b")


class Server(NamedTuple):
    """A vLLM server that the same file starts.

    `own`: whether it is TRL's (`trl vllm-serve`), which speaks another protocol than `vllm serve` before trl 1.11.
    `gpus`: the ids it may use, None where the text does not say. `ranks`: how many of them it takes, None unknown.
    `port`: None unknown. `in_background`: the file goes on while it runs.
    `tensor` and `pipeline` are the sizes of an engine, None unknown.
    """

    run: Run
    own: bool
    gpus: tuple[str, ...] | None
    ranks: int | None
    port: int | None
    in_background: bool
    tensor: int | None = 1
    pipeline: int | None = 1


def servers_of(run: Run) -> list[Server]:
    """The servers started in the text that starts a run (a script, a code block of a page), in its order."""
    return [
        read_server(other)
        for other in runs_in(run.launch.source, run.project)
        if other.framework == "vllm" and other is not (run.origin or run)
    ]


def read_server(run: Run) -> Server:
    """What the command of a server says."""
    launch = run.launch
    sizes = [size_of(run, name, short) for name, short in _SIZES]
    ranks: int | None = 1
    for size in sizes:
        ranks = None if size is None or ranks is None else ranks * size
    port = of_flag(launch, "port")
    number = _PORT if port is ABSENT else port.integer if isinstance(port, Setting) else None
    own = launch.launcher == "trl" or (launch.module or "").startswith("trl.")
    return Server(run, own, launch.visible_gpus, ranks, number, launch.command.background, *sizes[:2])


def size_of(run: Run, name: str, short: str) -> int | None:
    """A size that the command of a server gives by a long or a short flag: 1 for none, None unknown or both."""
    said: Setting | Missing = of_flag(run.launch, name)
    word = run.launch.flag(short)
    if said is ABSENT:
        if word is ABSENT:
            return 1
        text = None if isinstance(word, Missing) else word.text
        return read_count(text)
    return said.integer if isinstance(said, Setting) and word is ABSENT else None


def is_beside(run: Run, server: Server) -> bool:
    """Whether the server certainly runs while the trainer does, and on the same machine."""
    from trl_lint.knowledge.wrappers import names_of_wrappers

    programs = {*run.launch.wrappers, *server.run.launch.wrappers}
    apart = (_ELSEWHERE, names_of_wrappers("container"), names_of_wrappers("several"))
    if not all(programs.isdisjoint(names) for names in apart):
        return False
    ways = dict(run.launch.command.branch)
    if any(ways.get(decision, way) != way for decision, way in server.run.launch.command.branch):
        return False
    # In a script a command in the foreground has ended before the next begins; on a page it has a terminal of its own.
    return server.in_background or run.launch.command.background or run.launch.is_documentation


def is_up(run: Run, server: Server) -> bool:
    """Whether the server certainly runs beside the trainer when that is started, and nothing has ended it by then."""
    if not is_beside(run, server) or "timeout" in server.run.launch.wrappers:
        return False
    trainer, serving = run.launch.command, server.run.launch.command
    if not set(serving.branch) <= set(trainer.branch):
        return False
    if run.launch.is_documentation or trainer.start < serving.start:
        return run.launch.is_documentation or trainer.background
    ends = _ends_in(run.launch.source.text)
    return bisect_left(ends, serving.end) == bisect_left(ends, trainer.start)


@lru_cache(maxsize=8)
def _ends_in(text: str) -> list[int]:
    """Where words stand that end a server: found once for all servers of a text."""
    return [match.start() for match in _ENDS.finditer(text)]


class Share(NamedTuple):
    """What a run takes of the GPUs of one machine.

    `ids`: those it may use, in order, None where the text does not say; `number`: how many it takes, None unknown.
    """

    ids: tuple[str, ...] | None
    number: int | None

    @property
    def taken(self) -> tuple[str, ...] | None:
        """The GPUs that are used: the first `number` of those that may be."""
        if self.ids is None or self.number is None:
            return None
        return self.ids[: self.number]


def share_of(run: Run) -> Share:
    """The GPUs the processes of a training run take on one machine."""
    processes = run.processes.integer if isinstance(run.processes, Setting) else None
    machines = run.workers[0].machines
    return Share(run.launch.visible_gpus, None if processes is None or not machines else max(1, processes // machines))


def shown_ids(ids: tuple[str, ...] | None) -> str:
    """GPU ids in a few characters: `0-3`, `0,2`."""
    if ids is None:
        return "?"
    numbers = [number for one in ids if (number := read_count(one)) is not None]
    if len(numbers) == len(ids) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]}-{numbers[-1]}"
    return ",".join(ids) or "none"
