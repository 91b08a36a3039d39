"""Reading a log of any size once, in bounded memory.

Most of a log is progress. A block of it is searched for the words that failures are reported with, and only the lines
that hold one, and those of an open traceback, are read as text.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator

from trl_lint.diagnose.blocks import LONGEST, Readable, blocks
from trl_lint.diagnose.failures import Failure, Note
from trl_lint.diagnose.lines import Line, read_line, read_lines
from trl_lint.diagnose.tracer import Tracer
from trl_lint.regexes import regex

_FIRST = 300
# Of these so many that are alike: an exception caught again and again must not hide the one in the middle of a log.
_ALIKE = 100
_LAST = 300
_FLOOD = 4000
_TAIL = 8 << 20
_STALE = 4000
_MAX_STREAMS = 2048
_SHORT, _MOST_IDLE = 250, 1000
# Lines with these tell that a run starts or has come to its end.
_TELLS = (
    b"usage: ", b"nohup: ", b"OMP_NUM_THREADS", b"shards:   0%", b"local Ray inst", b"runner.py:", b"train_runtime",
)  # fmt: skip
# Every one of them costs about 0.8 ms for a megabyte of log.
WORDS = (
    b"Traceback", b"rror", b"xception", b"File ", b"ssert", b"illed", b"ignal", b"oom", b"bort", b"Segmentation",
    b"not found", b"No s", b"nan", b"arning", b"ersion", b"LLM engine", b"Could not", b"Cannot ", b"Xid", b"imeout",
    b"Successfully installed", b"exitcode", b"NCCL WARN", b"already in use", b"return code", b"he node ", b"CUDA SETUP",
    b"not up yet", b"SIG", b"ailed", b"which is incompatible", b"modulefile", *_TELLS,
)  # fmt: skip
_CHANGE_NOTHING = (b"ignored", b"Logging error")  # said of the exception that follows
_STEPS = (b"'loss':", b'"loss":', b"step:")
_ROOT_CAUSE = regex(r"Root Cause \(first observed failure\)")
_TABLE_RANK = regex(r"\s*rank\s+: (\d{1,9}) \(local_rank: \d+\)")
# What is printed once when a run starts, by launchers and by the first thing that takes time.
_START = regex(
    r"(?:usage: |nohup: )|.{0,160}(?:Setting OMP_NUM_THREADS environment variable|Started a local Ray instance"
    r"|runner\.py:\d{1,5}:main\] cmd = )|.{0,40}Loading checkpoint shards:   0%"
)
_FINISH = regex(r".{0,300}['\"]?train_runtime['\"]? {0,9}[:=] ")
_MOST_STARTS = 1000
_DIGITS = regex(r"[\d.]+")
_TRACEBACK = b"Traceback (most recent call last)"
# The part of a message that is the same whenever the exception is raised.
_CONSTANT = regex(r"[^\d'\"\n]{0,60}")


class Log:
    """What was found in a log. Failures and notes are in the order of their lines, the first and the last of many."""

    def __init__(self) -> None:
        self.size = 0
        self.lines = 0
        self.progress = 0
        self.root_rank: int | None = None
        self.starts: deque[int] = deque(maxlen=_MOST_STARTS)  # lines at which a run starts
        self.finished = 0  # the last line that says that a training came to its end
        self._first: list[Failure] = []
        self._alike: Counter[tuple[object, ...]] = Counter()
        self.recurring: set[bytes] = set()  # how the last lines of exceptions begin that come again and again
        self._last: deque[Failure] = deque(maxlen=_LAST)
        self._first_notes: list[Note] = []
        self._last_notes: deque[Note] = deque(maxlen=_LAST)
        self._seen: set[str] = set()
        self._again: deque[tuple[int, bytes]] = deque(maxlen=_LAST)  # lines that were kept before
        self.count = 0

    @property
    def failures(self) -> list[Failure]:
        return sorted([*self._first, *self._last], key=lambda failure: failure.number)

    @property
    def notes(self) -> list[Note]:
        return [*self._first_notes, *self._last_notes]

    @property
    def last_notes(self) -> list[Note]:
        """The notes and what only repeats one of them, the last one first."""
        again = [(number, read_line(raw.decode("utf-8", "replace"), number)) for number, raw in self._again]
        repeated = (Note(number, line.rank, line.text[:1000]) for number, line in again)
        return sorted([*self.notes, *repeated], key=lambda note: -note.number)

    def add(self, failure: Failure) -> None:
        self.count += 1
        place = failure.innermost
        key = (failure.exception, place[:3] if place else _DIGITS.sub("0", failure.message[:60]))
        if len(self._first) < _FIRST and self._alike[key] < _ALIKE:
            self._alike[key] += 1
            self._first.append(failure)
            if self._alike[key] == _ALIKE and failure.kind == "trace" and failure.exception:
                self.recurring.add(_beginning(failure).encode("utf-8", "replace"))
        else:
            self._last.append(failure)

    def note(self, line: Line) -> None:
        """Keep a line that is not part of a failure; of those that differ in numbers only the first and the last."""
        key = _DIGITS.sub("0", line.text[:200])
        if not key:
            return
        if key in self._seen:
            self.again(line.text[:1000].encode("utf-8", "replace"), line.number)
            return
        if len(self._seen) < 20_000:
            self._seen.add(key)
        note = Note(line.number, line.rank, line.text[:1000])
        if len(self._first_notes) < _FIRST:
            self._first_notes.append(note)
        else:
            self._last_notes.append(note)

    def again(self, raw: bytes, number: int) -> None:
        """Keep a line that was noted before."""
        self._again.append((number, raw))


def _beginning(failure: Failure) -> str:
    constant = _CONSTANT.match(failure.message)
    return f"\n{failure.exception}: {constant[0] if constant else ''}".rstrip()


def read_log(stream: Readable, tick: Callable[[int], None] = lambda size: None) -> Log:
    """Read a log to its end. `tick` is told how many bytes were read. Raises OSError."""
    scanner = Scanner()
    pieces = blocks(stream, tick)
    for block in pieces:
        scanner.scan(block)
        if scanner.log.count > _FLOOD:
            # Full of failures: the first ones are known, and what ended the run stands at the end, or is none of them.
            for rest in _tail(scanner, pieces):
                scanner.scan(rest)
            break
    scanner.finish()
    return scanner.log


def _tail(scanner: Scanner, blocks: Iterator[bytes]) -> list[bytes]:
    kept: deque[bytes] = deque()
    size = 0
    for block in blocks:
        kept.append(block)
        size += len(block)
        while size - len(kept[0]) > _TAIL:
            gone = kept.popleft()
            size -= len(gone)
            scanner.pass_by(gone)
    return [scanner.passed(), *kept]


class Scanner:
    """Reads a log block by block, each of which ends with a line; `log` is what was found so far."""

    def __init__(self) -> None:
        self.log = Log()
        self._tracers: dict[str, Tracer] = {}
        self._open: set[str] = set()
        self._table = 0
        self._rest = b""
        self._idle: set[bytes] = set()  # short lines that were noted and were part of nothing: warnings come again

    @property
    def is_in_traceback(self) -> bool:
        """Whether the last traceback has not ended yet."""
        return bool(self._open)

    def skip(self, block: bytes) -> None:
        self.log.size += len(block)
        self.log.lines += block.count(b"\n")
        if self.log.count or self._open:
            self.log.progress += _steps(block)

    def pass_by(self, block: bytes) -> None:
        """Scan a block only if it has a traceback that is none of those that come again and again."""
        data = self._rest + block
        last = data.rfind(_TRACEBACK)
        end = data.rfind(b"\n", 0, last) + 1 if last >= 0 else len(data)
        if len(data) - end > LONGEST:
            end = len(data)
        part, self._rest = data[:end], data[end:]  # the last traceback may go on in the next block
        known = sum(part.count(beginning) for beginning in self.log.recurring)
        if part.count(_TRACEBACK) > known:
            self.scan(part)
            self.close_all()
        else:
            self.skip(part)

    def passed(self) -> bytes:
        """What is left of the blocks that were passed by: it belongs to the next one."""
        rest, self._rest = self._rest, b""
        self.close_all()
        return rest

    def scan(self, block: bytes) -> None:
        present = [word for word in WORDS if word in block]
        if not present and not self._open:
            self.skip(block)
            return
        log = self.log
        log.size += len(block)
        marks = _positions(block, present)
        base = log.lines
        progress = log.progress
        at = counted = steps_at = number = 0
        index = 0
        while at < len(block):
            if not self._open:
                while index < len(marks) and marks[index] < at:
                    index += 1
                if index == len(marks):
                    break
                at = max(at, block.rfind(b"\n", at, marks[index]) + 1)
            number += block.count(b"\n", counted, at)
            counted = at
            end = block.find(b"\n", at)
            end = len(block) if end < 0 else end
            if self.log.count or self._open:  # what was trained before the first failure says nothing
                progress += _steps(block[steps_at:at])
            steps_at = at
            self._feed(block[at:end], base + number + 1, progress)
            at = end + 1
        log.progress = progress + (_steps(block[steps_at:]) if log.count or self._open else 0)
        log.lines = base + block.count(b"\n")

    def _feed(self, raw: bytes, number: int, progress: int) -> None:
        if raw in self._idle and not self._open and not self._table:
            self.log.again(raw, number)
            return
        is_told = _has(raw, _TELLS)
        said_nothing = not self._open and len(raw) <= _SHORT and not _has(raw, _CHANGE_NOTHING)
        if len(raw) > 4 * LONGEST:
            raw = raw[:LONGEST]
        if b"\r" in raw and len(raw) > 20_000:
            # Many states of a progress bar in one line; the few parts that say something else are kept.
            raw = b"\r".join(part for part in raw.split(b"\r") if any(word in part for word in WORDS))
        for line in read_lines(raw, number):
            tracer = self._tracers.get(line.stream)
            if tracer is None:
                if len(self._tracers) > _MAX_STREAMS:
                    self.close_all()
                    self._tracers.clear()
                tracer = self._tracers[line.stream] = Tracer(self.log.add)
            is_part = tracer.feed(line, progress)
            if tracer.is_open:
                self._open.add(line.stream)
            else:
                self._open.discard(line.stream)
            if is_told and self._is_told(line):
                said_nothing = False
            elif not self._is_of_a_table(line) and not is_part:
                self.log.note(line)
            else:
                said_nothing = False
        if said_nothing and not self._open and len(self._idle) < _MOST_IDLE:
            self._idle.add(raw)
        if self._open and number % 64 == 0:
            self._close_stale(number)

    def _is_told(self, line: Line) -> bool:
        """Note that a run starts or has come to its end; whether the line says that."""
        if _START.match(line.text):
            self.log.starts.append(line.number)
        elif _FINISH.match(line.text):
            self.log.finished = line.number
        else:
            return False
        return True

    def _is_of_a_table(self, line: Line) -> bool:
        """Read the table with which torchrun ends: it knows which rank failed first."""
        if _ROOT_CAUSE.search(line.text):
            self._table = line.number
        elif self._table and line.number - self._table < 12 and (rank := _TABLE_RANK.match(line.text)):
            self.log.root_rank = int(rank[1])
            self._table = 0
        else:
            return False
        return True

    def _close_stale(self, number: int) -> None:
        for name in [name for name in self._open if number - self._tracers[name].last > _STALE]:
            self._tracers[name].close()
            self._open.discard(name)

    def close_all(self) -> None:
        for tracer in self._tracers.values():
            tracer.close()
        self._open.clear()

    def finish(self) -> None:
        self.close_all()


def _has(raw: bytes, words: tuple[bytes, ...]) -> bool:
    """Whether a line has one of some words; it is asked for every line that is read."""
    for word in words:  # noqa: SIM110
        if word in raw:
            return True
    return False


def _positions(block: bytes, words: list[bytes]) -> list[int]:
    """Where any of the words stands, once for every line at most a few times."""
    found: list[int] = []
    for word in words:
        at = block.find(word)
        while at >= 0:
            found.append(at)
            end = block.find(b"\n", at)
            if end < 0:
                break
            at = block.find(word, end)
    found.sort()
    return found


def _steps(block: bytes) -> int:
    return sum(block.count(mark) for mark in _STEPS) if block else 0
