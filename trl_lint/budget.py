"""How much work may go into one thing: a rule on a file, the reading of a file, a run.

Loops of ours that could run away count their steps, and stop at a number that stands beside them; what they leave out
is unknown, and `note` says so. Time is the last resort, for what nobody thought of. It is that of the processor, so a
busy machine changes nothing: a timer of the process interrupts whatever runs four times in each second of work, and the
work since the last time goes to the innermost thing that runs. Nothing is measured when that begins or ends.

What has used up its time is stopped by an exception that no `except Exception` takes, wherever it is. Regular
expressions are interrupted too, as Python asks for signals while it matches. Other code in C that does not return
(LibCST's parser, `ast.parse`) is stopped only when it has returned, but all of its time counts. tree-sitter's parsers
get a time of their own (`sources/shell_parse.py`). Where there is no such timer (Windows, a thread that is not the main
one), a thread looks at the clock: it stops Python code, but no regular expression.

What was stopped stays so: the same work is not begun again by whoever asks next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from time import process_time
from typing import TYPE_CHECKING, Any, TypeVar

from trl_lint import tracked
from trl_lint.finding import Location, Notice

if TYPE_CHECKING:
    import threading

T = TypeVar("T")
Limit = tuple[float, str, int]  # a number, what was left out beyond it, and where
Key = tuple[str, str]  # what works, and the path of the file that it works on

# Seconds of work. The slowest file of the standard library takes a fifth of a second with all rules together.
RULE_SECONDS = 10.0
READER_SECONDS = 20.0
SEARCH_SECONDS = 60.0  # for the files below each folder that is named
FILE_SECONDS = 60.0  # all of one file: its readers, and its rules
PROJECT_SECONDS = 120.0  # each question about all files of a project, less the readers
RUN_SECONDS = 1800.0  # of each process that takes part

MOST_FINDINGS = 1000  # of one rule in one file: who has so many reads no more of them

_TICK = 0.25
_SHARED = "\0"  # before the root of a project: what is worked out once for all its files
_BEGIN = "work on it was cut short: "


class OverBudgetError(Exception):
    """Something was stopped because it has used up its time; its text says so, for `note`."""


class Cancelled(BaseException):
    """Somebody waits for something else. It goes through all that guards against faults."""


class _Stop(BaseException):
    """Raised in the midst of what has used up its time."""

    def __init__(self) -> None:
        if _meter.watcher is not None:
            _meter.watcher.is_pending = False  # it has arrived, whoever takes it


class _Meter:
    """What runs in this process, the innermost last, and the seconds of work that each thing has had so far."""

    def __init__(self) -> None:
        self.running: list[tuple[Key, float]] = []
        self.work: dict[Key, float] = {}
        self.spent: set[Key] = set()
        self.of_file: dict[str, float] = {}  # nothing of what is shared
        self.all = 0.0
        self.notes: dict[tuple[str, str], Notice] = {}
        self.failures: dict[tuple[str, str], None] = {}
        self.watcher: _Watcher | None = None
        self._looked = process_time()

    def tick(self) -> bool:
        """Count the work since the last time, and whether what has done it is to be stopped."""
        now = process_time()
        work, self._looked = now - self._looked, now
        self.all += work
        if not self.running:
            return False
        key, seconds = self.running[-1]
        done = self.work[key] = self.work.get(key, 0.0) + work
        if not key[1].startswith(_SHARED):
            self.of_file[key[1]] = self.of_file.get(key[1], 0.0) + work
        is_spent = done >= seconds or self.is_over(key[1])
        if is_spent:
            self.spent.add(key)
        return is_spent

    def is_over(self, path: str) -> bool:
        """Whether the run, or a file, has had all that it may take."""
        return self.all >= RUN_SECONDS or self.of_file.get(path, 0.0) >= FILE_SECONDS


_meter = _Meter()
_is_watched = False
_is_cancelled: Callable[[], bool] | None = None
_listeners: list[list[Limit]] = []


@contextmanager
def cancelled_by(question: Callable[[], bool] | None) -> Iterator[None]:
    """Give up what runs inside where the question is answered yes: before a rule looks at a file, or a reader.

    What was worked out by then holds. With None, nothing inside is given up. Raises Cancelled.
    """
    global _is_cancelled
    before, _is_cancelled = _is_cancelled, question
    try:
        yield
    finally:
        _is_cancelled = before


# -- what is limited ------------------------------------------------------------------------------------------------


def within(what: str, path: str, seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns. Raises OverBudgetError if that takes more seconds of work; whoever takes it says `note`.

    All that `what` does on the file at `path` counts together; what is limited by itself inside does not count.
    """
    if _is_cancelled is not None and _is_cancelled():
        raise Cancelled
    meter, key = _meter, (what, path)
    if meter.spent and (key in meter.spent or meter.is_over(path)):
        raise _over(what, seconds)
    depth = len(meter.running)
    meter.running.append((key, seconds))
    try:
        return work()
    except _Stop:
        raise _over(what, seconds) from None
    finally:
        del meter.running[depth:]
        if meter.watcher is not None:
            meter.watcher.settle()


def shared(what: str, root: str, work: Callable[[], T], seconds: float = PROJECT_SECONDS) -> T:
    """What `work` returns, which is worked out once for all files of a project and counts for none of them.

    Raises OverBudgetError if `what` takes more seconds in this project, and then at once for whoever asks again.
    """
    return within(what, _SHARED + root, seconds, work)


def is_run_over() -> bool:
    """Whether this process has used up what a run may take."""
    return _meter.all >= RUN_SECONDS


def note(path: str, reason: str, start: int = 0) -> None:
    """Say of a file that something about it was left out: `loops repeat its add_argument too often`.

    Of all places that one reason has in a file, the first that is told is kept.
    """
    _meter.notes.setdefault((path, reason), Notice("budget", _BEGIN + reason, Location(path, start, start)))


def limit(number: float, what: str, path: str | None = None, start: int = 0) -> None:
    """Say that something was left out beyond a number: `loops in loops more than 30 deep were not read`.

    `what` holds the number as `{}`. Without a path it is said of the file that is being read.
    """
    if _listeners and path is None:
        _listeners[-1].append((number, what, start))
        return
    at = _path_at_work() if path is None else path
    if at is not None:
        note(at, what.format(f"{number:,}"), start)


@contextmanager
def overheard() -> Iterator[list[Limit]]:
    """Give to the caller what `limit` would say inside of the file that is read: many files may have one text."""
    found: list[Limit] = []
    _listeners.append(found)
    try:
        yield found
    finally:
        _listeners.remove(found)


def fail(path: str, reason: str) -> None:
    """As `note`, of what the tool could not do its work without."""
    note(path, reason)
    _meter.failures.setdefault((path, reason))


def _path_at_work() -> str | None:
    """The file that the innermost thing works on."""
    return next((key[1] for key, _ in reversed(_meter.running) if not key[1].startswith(_SHARED)), None)


def taken_notes() -> list[Notice]:
    """What was left out since this was asked last."""
    found = list(_meter.notes.values())
    if found:
        _meter.notes = {}
    return found


def taken_failures() -> list[tuple[str, str]]:
    """The files, with reasons, that the tool could not do its work without, since this was asked last."""
    found = list(_meter.failures)
    if found:
        _meter.failures = {}
    return found


def note_unchecked(paths: Iterable[str]) -> None:
    """Say of files that the run was over before their turn came."""
    _forbid_keeping()
    for path in paths:
        note(path, f"the run took more than {RUN_SECONDS:g} s before its turn came")


def merged(notices: Iterable[Notice]) -> list[Notice]:
    """Notices, with all that was left out about one file in one of them, and the foreign files of one tree counted."""
    found: dict[object, Notice] = {}
    foreign: dict[Notice, int] = {}
    launchers: list[Notice] = []
    for notice in notices:
        if notice.kind == "unread-launcher":
            launchers.append(notice)
            continue
        if notice.kind == "foreign-files":
            foreign[notice] = foreign.get(notice, 0) + 1
            continue
        key = ("budget", notice.location and notice.location.path) if notice.kind == "budget" else notice
        known = found.get(key)
        if known is not None and notice != known:
            parts = {*known.message.removeprefix(_BEGIN).split("; "), *notice.message.removeprefix(_BEGIN).split("; ")}
            first = min(known, notice, key=lambda one: one.sort_key)
            notice = first._replace(message=_BEGIN + "; ".join(sorted(parts)))
        found[key] = notice
    trees = [_counted(notice, count) for notice, count in foreign.items()]
    return [*found.values(), *trees, *([_of_launchers(launchers)] if launchers else [])]


def _of_launchers(notices: list[Notice]) -> Notice:
    """One notice of the files that name a launcher and are not read: how many, and the first of them."""
    first, *others = sorted(set(notices), key=lambda notice: notice.sort_key)
    named = ", ".join(notice.message for notice in (first, *others[:2]))
    more = f" and {len(others) - 2} more" if len(others) > 2 else ""
    files = f"{len(others) + 1} files name a launcher and are" if others else "1 file names a launcher and is"
    return first._replace(message=f"{files} of a kind that is not read: {named}{more}; what they start was not checked")


def _counted(notice: Notice, count: int) -> Notice:
    from trl_lint.words import counted

    return notice._replace(message=f"{counted(count, 'file')} {notice.message}")


def _over(what: str, seconds: float) -> OverBudgetError:
    _forbid_keeping()
    return OverBudgetError(f"{what} took more than {seconds:g} s")


def _forbid_keeping() -> None:
    # Another run may get further: such a report is not kept.
    record = tracked.current()
    if record is not None:
        record.is_inconsistent = True


# -- the clock ------------------------------------------------------------------------------------------------------


@contextmanager
def watched() -> Iterator[None]:
    """Let what runs inside be stopped. One thread of a process at a time; inside another one it does nothing."""
    global _meter, _is_watched
    if _is_watched:
        yield
        return
    _is_watched, _meter = True, _Meter()
    try:
        with _timer(_meter):
            yield
    finally:
        _is_watched = False


@contextmanager
def _timer(meter: _Meter) -> Iterator[None]:
    # The module beneath `signal`, which takes no time to import; on Windows it has no timers.
    import _signal as signals  # type: ignore[import-not-found]

    def tick(*_: Any) -> None:
        if meter.tick():
            raise _Stop

    try:
        if signals.getsignal(signals.SIGVTALRM) is not signals.SIG_DFL:
            raise ValueError("somebody else uses it")
        signals.signal(signals.SIGVTALRM, tick)
    except (AttributeError, ValueError):  # not there, or not in this thread
        with _Watcher(meter):
            yield
        return
    try:
        signals.setitimer(signals.ITIMER_VIRTUAL, _TICK, _TICK)
        yield
    finally:
        signals.setitimer(signals.ITIMER_VIRTUAL, 0)
        signals.signal(signals.SIGVTALRM, signals.SIG_DFL)


class _Watcher:
    """A thread that ticks, and raises in the thread that has made it."""

    def __init__(self, meter: _Meter) -> None:
        import ctypes
        import threading

        self._meter = meter
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.get_ident()
        self.is_pending = False  # raised, and not arrived yet
        self._raise = ctypes.pythonapi.PyThreadState_SetAsyncExc
        self._raise.argtypes = (ctypes.c_ulong, ctypes.py_object)
        self._watching: threading.Thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._meter.watcher = self
        self._watching.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watching.join()
        self.settle()
        self._meter.watcher = None

    def _watch(self) -> None:
        before = process_time()
        while not self._done.wait(_TICK):
            now = process_time()
            if now - before >= _TICK / 2:
                before = now
                with self._lock:
                    if self._meter.tick() and not self.is_pending:
                        self.is_pending = True
                        self._raise(self._thread, _Stop)

    def settle(self) -> None:
        """Wait for what was raised and has not arrived: what it was meant for has ended.

        It could be taken back (with NULL), but then Python 3.11 goes on to look for it at every step, for good.
        """
        while True:
            with suppress(_Stop):
                with self._lock:
                    if not self.is_pending:
                        return
                for _ in range(100):  # Python raises it where a loop begins again
                    pass
