"""The one thread that uses the engine.

What somebody waits for comes first, in the order in which it was asked, with the file that is typed. The other open
files that may have other findings now wait until nothing has come for a while: a check of theirs is given up where
somebody waits, and done later.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from trl_lint.budget import Cancelled

T = TypeVar("T")
_log = logging.getLogger(__name__)

# How long nothing comes before other open files are checked, and how long these wait at most.
_PAUSE_SECONDS = 0.1
_PATIENCE_SECONDS = 2.0
# How long nobody wants anything before there is time for other things.
_QUIET_SECONDS = 0.3


class Worker:
    """Runs what it is asked for; `check` is called with the path of an open file, `rest` when nobody wants anything.

    Both may raise `Cancelled` where `is_pressed`; what was to be checked then is wanted again. `rest` tells after how
    many seconds it is to be called again though nobody has wanted anything meanwhile; None: not before that.
    """

    def __init__(self, check: Callable[[str], None], rest: Callable[[], float | None]) -> None:
        self._check = check
        self._rest = rest
        self._asked: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._first: dict[str, None] = {}
        self._others: dict[str, float] = {}  # with the time from which they wait for no pause
        self._last = 0.0  # when something came
        self._changed = threading.Condition()
        self._ends = False
        self._has_worked = False
        self._idle_seconds: float | None = None
        self._thread = threading.Thread(target=self._run, name="trl-lint", daemon=True)

    def start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def ask(self, call: Callable[[], T]) -> Future[T]:
        """Call something in the thread; cancelled before its turn, it is not called."""
        future: Future[T] = Future()
        with self._changed:
            self._asked.append((future, call))
            self._last = time.monotonic()
            self._changed.notify()
        return future

    def want(self, paths: Iterable[str], first: str | None = None) -> None:
        """Have files checked; `first` at once, and all others in a pause."""
        with self._changed:
            latest = time.monotonic() + _PATIENCE_SECONDS
            for path in paths:
                self._others.setdefault(path, latest)
            if first is not None:
                self._others.pop(first, None)
                self._first = {first: None, **self._first}
            self._changed.notify()

    def is_pressed(self) -> bool:
        """Whether somebody waits, or something is typed."""
        return bool(self._asked or self._first)

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
                for paths in (self._first, self._others if self._is_quiet() else {}):
                    if paths:
                        path = next(iter(paths))
                        del paths[path]
                        self._has_worked = True
                        return partial(self._checked, path)
                if self._others:
                    self._changed.wait(_PAUSE_SECONDS / 4)
                    continue
                # Between two keystrokes nobody should wait for what has time.
                if not self._changed.wait(_QUIET_SECONDS if self._has_worked else self._idle_seconds):
                    self._has_worked = False
                    return partial(self._rested)
        return None

    def _is_quiet(self) -> bool:
        now = time.monotonic()
        return now - self._last >= _PAUSE_SECONDS or any(latest <= now for latest in self._others.values())

    def _checked(self, path: str) -> None:
        if not _safely(partial(self._check, path)):
            self.want([path])

    def _rested(self) -> None:
        self._has_worked = not _safely(self._take_rest)  # if not, it is time for it again in the next pause

    def _take_rest(self) -> None:
        self._idle_seconds = self._rest()


def _answer(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except Exception as error:
        future.set_exception(error)


def _safely(call: Callable[[], None]) -> bool:
    """Whether a call has come to its end."""
    try:
        call()
    except Cancelled:
        return False
    except Exception:  # a fault of ours on one file, which must not end the server
        _log.exception("a check failed")
    return True
