"""What a log says about a failure: its exceptions, messages and frames, on which rank and line."""

from __future__ import annotations

from trl_lint.records import NamedTuple

MAX_FRAMES = 120
MAX_MESSAGE = 6000


class Frame(NamedTuple):
    """One entry of a traceback. `number` is the line of the log; `code` may be empty."""

    path: str
    line: int
    function: str
    code: str = ""
    number: int = 0

    @property
    def text(self) -> str:
        """The frame in one line, for patterns: `path:function: code`."""
        return f"{self.path.replace(chr(92), '/')}:{self.function}: {self.code}"


class Part:
    """One exception of a chain with its own traceback."""

    def __init__(self, is_original: bool = False) -> None:
        self.exception = ""
        self.message = ""
        self.frames: list[Frame] = []
        self.is_original = is_original
        self.is_root = False  # the next exception of the chain was raised from this one
        self.number = 0
        self.announced = ""  # what a logger put before the header: the message, where the traceback was cut off
        self._lines: list[int] = []  # of the log, for the second line of the message and those behind it

    def add_frame(self, frame: Frame) -> None:
        # Ranks that print without prefixes repeat each other's lines.
        if frame[:3] in [known[:3] for known in self.frames[-4:]]:
            return
        if len(self.frames) >= MAX_FRAMES:
            del self.frames[MAX_FRAMES // 4]  # the ends say most
        self.frames.append(frame)

    def add_message(self, text: str, number: int = 0) -> None:
        if len(self.message) < MAX_MESSAGE:
            self._lines.append(number)
            self.message += f"\n{text}" if self.message else text

    def line_of(self, at: int) -> int:
        """The line of the log that has line `at` of the text, counted from 0."""
        added = at - 1 if self.number and not (self.exception == "" and not self.message) else at
        return self._lines[added] if 0 <= added < len(self._lines) else self.number

    @property
    def text(self) -> str:
        return ": ".join(filter(None, (self.exception, self.message)))


class Failure:
    """A chain of exceptions, or one line that reports an end. `progress`: how much training was logged before it."""

    def __init__(self, number: int, rank: int | None, stream: str, progress: int) -> None:
        self.number = number
        self.rank = rank
        self.stream = stream
        self.progress = progress
        self.parts: list[Part] = []
        # "trace"; "loose": the line of an exception alone; "words": other last words; "outside": those of what ended
        # the program from outside; "hint": something is tried again; "ignored": the program went on.
        self.kind = "trace"

    @property
    def main(self) -> Part:
        """The exception to show: the last one, what it was raised from, or the original that a wrapper reports."""
        named = [part for part in self.parts if part.exception or part.message] or self.parts
        for part in reversed(named):
            if part.is_original:
                return part
        last = len(named) - 1
        while last and named[last - 1].is_root:
            last -= 1
        return named[last]

    @property
    def exception(self) -> str:
        return self.main.exception

    @property
    def message(self) -> str:
        return self.main.message

    @property
    def frames(self) -> list[Frame]:
        """The frames of all parts, outermost first."""
        return [frame for part in self.parts for frame in part.frames]

    @property
    def innermost(self) -> Frame | None:
        """The frame that raised the exception shown; of another part if that one has none."""
        frames = self.main.frames or self.frames
        return frames[-1] if frames else None

    @property
    def text(self) -> str:
        """Every exception with its message, for patterns."""
        return "\n".join(part.text for part in self.parts)


class Note(NamedTuple):
    """A line outside tracebacks that may say something about the run."""

    number: int
    rank: int | None
    text: str
