"""Many files at once, in forked processes: each takes from one queue, and hands back what it found.

A fork starts in a millisecond or two with all that was read before it, where a pool of fresh interpreters would begin
from nothing. So whoever shares work reads first what every share needs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Below this many files, forking and handing back cost more than they save.
_WORTH_FILES = 60
# Neighbours share what is around them, so they are taken in short runs; the last ones alone, that nobody waits long.
_RUN = 8
_LAST_RUN = 2
# All numbers of the queue stand in a pipe from the beginning, and the smallest pipes hold 16 kB.
_NUMBER = 4
_MOST_RUNS = 3000  # shares of the files, which take all of them
_MOST = 8  # processes


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


def runs_of(items: Sequence[T], count: int) -> list[Sequence[T]]:
    """Split items into runs of neighbours for so many processes, short ones at the end."""
    size = max(_RUN, -(-len(items) // _MOST_RUNS))
    last = max(0, len(items) - min(count, _MOST) * size)
    last -= last % size
    long = [items[start : start + size] for start in range(0, last, size)]
    return long + [items[start : start + _LAST_RUN] for start in range(last, len(items), _LAST_RUN)]


class _Queue(Generic[T]):
    """The runs of items that are not taken yet. Every process that shares it takes the next, and each is taken once."""

    def __init__(self, runs: Sequence[Sequence[T]]) -> None:
        self.runs = runs
        self.taken: list[int] = []  # by this process
        self._pipe, writing = os.pipe()
        os.write(writing, b"".join(number.to_bytes(_NUMBER, "big") for number in range(len(runs))))
        os.close(writing)

    def items(self) -> Iterator[T]:
        while number := os.read(self._pipe, _NUMBER):
            self.taken.append(int.from_bytes(number, "big"))
            yield from self.runs[self.taken[-1]]

    def close(self) -> None:
        os.close(self._pipe)


def spread(items: Sequence[T], count: int, work: Callable[[Iterable[T]], R]) -> Iterator[R]:
    """What `work` returns in each of `count` processes, this one among them, that take items until none is left.

    A result crosses by pickle, from our own child. What a child that died had taken is worked on here. No child
    outlives this process, whatever ends it, nor this call if it is left early.
    """
    queue = _Queue(runs_of(items, count))
    line = _Lifeline()
    children: list[tuple[int, int]] = []
    try:
        for _ in range(count - 1):
            children.append(_forked(queue, line, work))
        yield work(queue.items())
        left = set(range(len(queue.runs))).difference(queue.taken)
        while children:
            done: tuple[list[int], R] | None = _received(*children[0])
            del children[0]
            if done is not None:
                left.difference_update(done[0])
                yield done[1]
        if left:
            yield work(item for number in sorted(left) for item in queue.runs[number])
    finally:
        line.cut()
        queue.close()
        for process, pipe in children:
            os.close(pipe)
            os.waitpid(process, os.WNOHANG)  # it ends soon; whoever interrupts us does not want to wait for it


class _Lifeline:
    """A pipe that only this process can write to: its readers see its end when this process ends, whatever ends it."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()

    def hold(self) -> None:
        """Make this process, a child of the one that made the line, end with it."""
        import _thread

        os.close(self._writing)
        _thread.start_new_thread(self._wait, ())

    def _wait(self) -> None:
        os.read(self._reading, 1)
        os._exit(1)

    def cut(self) -> None:
        """End the children that are left."""
        os.close(self._writing)
        os.close(self._reading)


def _forked(queue: _Queue[T], line: _Lifeline, work: Callable[[Iterable[T]], R]) -> tuple[int, int]:
    """The process that works on its part of a queue, and the end of a pipe from which its result is to be read."""
    import pickle

    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    status = 1
    try:
        line.hold()
        os.close(reading)
        _leave_output()
        with os.fdopen(writing, "wb") as stream:
            done = work(queue.items())
            pickle.dump((queue.taken, done), stream, pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        # Nothing of the parent's may run twice: no handler at exit, no buffer of a stream.
        os._exit(status)


def _leave_output() -> None:
    """Let go of the parent's standard output: whoever reads it waits until nobody can write any more."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _received(process: int, pipe: int) -> tuple[list[int], R] | None:
    import pickle

    with os.fdopen(pipe, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(process, 0)
    if status != 0:
        return None
    result: tuple[list[int], R] = pickle.loads(data)
    return result
