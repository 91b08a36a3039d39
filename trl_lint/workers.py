"""Many files at once, in forked processes: each works on its share and hands back what it found.

A fork starts in a millisecond or two with all that was read before it, where a pool of fresh interpreters would begin
from nothing. So whoever shares work reads first what every share needs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Below this many files, forking and handing back cost more than they save.
_WORTH_FILES = 60
# Neighbours are alike in size and share what is around them, so a share is made of short runs of neighbours.
_RUN = 8
_MOST = 8


def usable_processors() -> int:
    """How many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_fork() -> bool:
    # Forked processes on macOS may not use its own libraries, and Windows has none.
    return hasattr(os, "fork") and sys.platform != "darwin"


def jobs_for(wanted: int | None, files: int) -> int:
    """How many processes to use for so many files; `wanted` is what the user asked for, None for our own choice."""
    if not can_fork():
        return 1
    if wanted is not None:
        return min(wanted, max(files, 1))
    return min(usable_processors(), _MOST) if files >= _WORTH_FILES else 1


def shares(items: Sequence[T], count: int) -> list[list[T]]:
    """Split items evenly, keeping short runs of neighbours together."""
    runs = [list(items[start : start + _RUN]) for start in range(0, len(items), _RUN)]
    return [[item for run in runs[number::count] for item in run] for number in range(count)]


def spread(items: Sequence[T], count: int, work: Callable[[Sequence[T]], R]) -> Iterator[R]:
    """What `work` returns for each share of the items: one of them worked on here, the others in forked processes.

    A result crosses by pickle, from our own child. The share of a child that died is worked on here.
    """
    own, *others = shares(items, count)
    children = [(share, *_forked(share, work)) for share in others if share]
    yield work(own)
    for share, process, pipe in children:
        done: tuple[R] | None = _received(process, pipe)
        yield work(share) if done is None else done[0]


def _forked(share: Sequence[T], work: Callable[[Sequence[T]], R]) -> tuple[int, int]:
    """The process that works on a share, and the end of a pipe from which its result is to be read."""
    import pickle

    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    status = 1
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as stream:
            pickle.dump((work(share),), stream, pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        # Nothing of the parent's may run twice: no handler at exit, no buffer of a stream.
        os._exit(status)


def _received(process: int, pipe: int) -> tuple[R] | None:
    import pickle

    with os.fdopen(pipe, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(process, 0)
    if status != 0:
        return None
    result: tuple[R] = pickle.loads(data)
    return result
