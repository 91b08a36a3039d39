"""A clock with phases: the time of a function without that of the timed functions it calls."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any


class Clock:
    """Milliseconds by phase. A phase that another one interrupts stands still meanwhile, so that the phases add up.

    `timer` gives seconds: `time.perf_counter` for what a user waits, `time.process_time` for work, which a busy machine
    disturbs less.
    """

    def __init__(self, timer: Callable[[], float] = time.perf_counter) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._timer = timer
        self._running: list[str] = []
        self._since = timer()

    def _turn(self) -> None:
        now = self._timer()
        if self._running:
            self.spent[self._running[-1]] += (now - self._since) * 1000
        self._since = now

    def start(self, phase: str) -> None:
        self._turn()
        self._running.append(phase)

    def stop(self) -> None:
        self._turn()
        self._running.pop()

    def time(self, owner: Any, name: str, phase: str) -> None:
        """Count every call of `owner.name` (of a module, a class or one object) as a phase.

        A generator works while it is read, so it is read to its end within the phase.
        """
        function: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            self.start(phase)
            try:
                result = function(*args, **kwargs)
                return list(result) if isinstance(result, Iterator) else result
            finally:
                self.stop()

        setattr(owner, name, timed)
