"""A clock with phases: the time of a function without that of the timed functions it calls."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any


class Clock:
    """Seconds by phase. A phase that another one interrupts stands still meanwhile, so that the phases add up."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._running: list[str] = []
        self._since = time.perf_counter()

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def start(self, phase: str) -> None:
        self._turn()
        self._running.append(phase)

    def stop(self) -> None:
        self._turn()
        self._running.pop()

    def time(self, owner: Any, name: str, phase: str) -> None:
        """Count every call of `owner.name` (a function of a module, a method of a class or of one object) as a phase.

        A generator runs when it is read, so it is read to its end within the phase.
        """
        function: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            self.start(phase)
            try:
                result = function(*args, **kwargs)
                is_lazy = isinstance(result, Iterable) and not hasattr(result, "__len__")
                return list(result) if is_lazy else result
            finally:
                self.stop()

        setattr(owner, name, timed)
