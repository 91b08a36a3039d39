"""The one thread that uses the engine.

What somebody waits for comes first, in the order in which it was asked; then the open files that may have other
findings now, one after the other, so that whatever comes meanwhile waits for one file at most.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
_log = logging.getLogger(__name__)

# How long nobody wants anything before there is time for other things.
_QUIET_SECONDS = 0.3


class Worker:
    """Runs what it is asked for; `check` is called with the path of an open file, `rest` when nobody wants anything."""

    def __init__(self, check: Callable[[str], None], rest: Callable[[], None]) -> None:
        self._check = check
        self._rest = rest
        self._asked: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._wanted: dict[str, None] = {}
        self._changed = threading.Condition()
        self._ends = False
        self._has_worked = False
        self._thread = threading.Thread(target=self._run, name="trl-lint", daemon=True)

    def start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def ask(self, call: Callable[[], T]) -> Future[T]:
        """Call something in the thread; cancelled before its turn, it is not called."""
        future: Future[T] = Future()
        with self._changed:
            self._asked.append((future, call))
            self._changed.notify()
        return future

    def want(self, paths: Iterable[str], first: str | None = None) -> None:
        """Have files checked; `first` before all others."""
        with self._changed:
            before = [] if first is None else [first]
            self._wanted = dict.fromkeys([*before, *self._wanted, *paths])
            self._changed.notify()

    def is_pressed(self) -> bool:
        """Whether somebody waits."""
        return bool(self._asked)

    def stop(self, seconds: float = 2.0) -> None:
        """End the thread, after what it does now or after some seconds."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(seconds)

    # -- the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while (job := self._next()) is not None:
            job()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._ends:
                if self._asked:
                    future, call = self._asked.popleft()
                    self._has_worked = True
                    return partial(_answer, future, call)
                if self._wanted:
                    path = next(iter(self._wanted))
                    del self._wanted[path]
                    self._has_worked = True
                    return partial(_safely, partial(self._check, path))
                # Between two keystrokes nobody should wait for what has time.
                if not self._changed.wait(_QUIET_SECONDS if self._has_worked else None):
                    self._has_worked = False
                    return partial(_safely, self._rest)
        return None


def _answer(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except Exception as error:
        future.set_exception(error)


def _safely(call: Callable[[], None]) -> None:
    try:
        call()
    except Exception:  # a fault of ours on one file, which must not end the server
        _log.exception("a check failed")
