"""The lines of one writer, put together to failures: Python's tracebacks, IPython's, rich's and Ray's, and last words.

A traceback may be cut off at either end, may be mixed with progress bars, and may be one of a chain.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from trl_lint.diagnose.failures import Failure, Frame, Part
from trl_lint.diagnose.last_words import kind_of_words, read_summary
from trl_lint.diagnose.lines import Line
from trl_lint.regexes import regex

_HEADER = regex(r"(?P<original>Original )?Traceback \(most recent call last\)")
_FRAME = regex(r'\s*File "(?P<path>[^"]+)", line (?P<line>\d{1,9})(?:, in (?P<function>.*))?$')
_CELL_FRAME = regex(
    r"(?:File |Cell )?(?P<path>In ?\[\d+\]|[~/\w.<][^\s:]*(?:\.py|>|\]))(?:[:,] ?(?:line )?(?P<line>\d{1,9}))?,?"
    r" in (?P<function>[\w.<>]+)?\(?.*$"
)
# IPython tells the line of a module without a function.
_MODULE_FRAME = regex(r"File (?P<path>[^\s:]+\.py):(?P<line>\d{1,9})(?P<function>)$")
_RICH_FRAME = regex(r"(?P<path>\S+\.py):(?P<line>\d{1,9}) in (?P<function>\S+)$")
_CHAINED = regex(
    r"(?:During handling of|The above exception was the direct cause|-- Process \d+ terminated with the following)"
)
_EXCEPTION = regex(r"(?P<type>[A-Za-z_][\w.]*(?:\([\w.]+\))?)(?:: ?(?P<message>.*))?$")
_TWICE = regex(r"(?P<type>[A-Za-z_][\w.]{0,80}(?:Error|Exception))(?P=type)(?:: ?){2}\s*(?P<message>.*)$")
_RAISED = regex(r"raise ([A-Za-z_][\w.]{0,80})\(")
_LOWER = regex(r"(?:[a-z_]\w*\.)+(?:timeout|gaierror|herror|error)$")
_NAMED = regex(
    r"(?:Error|Exception|Exit|Interrupt|Warning|Failure|Timeout|Expired|Iteration|Killed|Group|Missing\w{0,60}|Invalid\w{0,60}"
    r"|Unavailable|Disconnect\w{0,60}|Refused|NotFound|Mismatch)(?:\([\w.]+\))?$"
)
_LOOSE = regex(
    r"(?P<type>(?:[a-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout)|Exception(?=: ))(?:\([\w.]+\))?"
    r"|(?:[a-z_]\w*\.)+(?:exc|errors?|exceptions?|lib|zipfile|gzip)\.[A-Z]\w*(?=: )|(?:zipfile|gzip)\.Bad\w+(?=: ))"
    r"(?:: (?P<message>.+)|\(['\"](?P<shown>.+)['\"],?\)$|:?$)"
)
# Who writes, where no traceback has shown it: a host of several (`node1: `), or what people put before what they quote.
_WRITER = regex(r"[A-Za-z][\w.-]{0,40}\d[\w.-]{0,20}: (?=[A-Za-z])|.{0,12}(?:报错|错误)(?:信息)?[：:] ?")
# What Colab makes of the path of a frame.
_LINK = regex(r"\[([^\[\]]{1,500})\]\(https?://[^()\s]{1,500}\)")
_NOISE = regex(
    r"\s*\d{1,3}%\||.*\d/\d+ \[\d\d:|wandb:|.*(?:it/s|s/it)\]|srun: |slurmstepd[:-]|\[[WEIF]\d* |\{'|.*: FutureWarning:"
    r"|Sending process|/\S+\.py:\d+: \w*Warning|Exception ignored in|--- Logging error|Sampling |Processed prompts"
    r"|Loading |usage: |nohup: |Set the environment variable HYDRA|scontrol show |(?:WARNING|INFO|ERROR): "
)
_CARETS = regex(r"[~^|\s]+$")
_IGNORED = regex(
    r"Exception ignored in|--- Logging error ---"
    r"|Exception in thread .{0,100}\(most likely raised during interpreter shutdown"
)
_IPYTHON = ("File /", "File ~")
_LEADS = ("] ", "| ", ": ", ") ", "> ")
_ANNOUNCED = 60  # what stands before a header and is longer is a message, not a prefix
_MAX_NOISE = 40
_MAX_MESSAGE_LINES = 40


class Tracer:
    """Reads the lines of one writer and hands over each failure when it is complete."""

    def __init__(self, done: Callable[[Failure], None]) -> None:
        self._done = done
        self._failure: Failure | None = None
        self._part: Part | None = None
        self._state = ""  # "", frames, message, after
        self._count = 0
        self._is_stamped = False
        self._box = False
        self._stray = ""  # the first line below the frames that is neither code nor an exception
        self._half = ""  # the beginning of a path that rich broke at the edge of its box
        self._lead: re.Pattern[str] | None = None  # what this writer puts before each line, as the header shows it
        self._ignored = -9  # the line that says that an exception changes nothing
        self.last = 0

    @property
    def is_open(self) -> bool:
        return bool(self._state)

    def feed(self, line: Line, progress: int) -> bool:
        """Take one line; whether it belonged to a failure."""
        self.last = line.number
        text = line.text
        if self._box or "╭" in text or "│" in text or "╰" in text:
            text = self._unboxed(text)
        if self._lead is not None and (lead := self._lead.match(text)):
            text = text[lead.end() :]
        if "](http" in text:
            text = _LINK.sub(r"\1", text)
        header = _HEADER.search(text)
        if header is not None:
            before = text[: header.start()].strip(" ,:")
            if not self._box and (header.start() or self._lead is not None):
                self._lead = _lead(text[: header.start()]) if header.start() else None
            self._begin(line, progress, bool(header["original"]))
            if self._part is not None and len(before) > _ANNOUNCED:
                self._part.announced = before
            return True
        if self._state == "frames":
            return self._in_frames(line, text, progress)
        if self._state == "message":
            return self._in_message(line, text, progress)
        if self._state == "after":
            if self._is_between(text):
                return True
            self.close()
        return self._outside(line, text, progress)

    def _unboxed(self, text: str) -> str:
        """A line of rich's box as plain text."""
        stripped = text.strip()
        if stripped.startswith("╭"):
            self._box = "Traceback" in stripped
        elif stripped.startswith("╰"):
            self._box = False
            return ""
        elif self._box:
            return stripped.strip("│").strip()
        return text

    def _begin(self, line: Line, progress: int, is_original: bool) -> None:
        if self._failure is not None and self._state == "frames" and self._part is not None:
            if not self._part.frames:
                return  # two ranks printed their headers one after the other
            if not is_original and len(self._part.frames) < 3 and not self._box:
                return  # the same, a little later
        is_inner = self._announces()
        if self._failure is not None and (is_original or is_inner or self._state in ("frames",) or self._chain):
            is_original = is_original or is_inner  # goes on in the same failure
        else:
            is_box = self._box  # the header has just opened it
            self.close()
            self._box = is_box
            self._failure = Failure(line.number, line.rank, line.stream, progress)
            if line.number - self._ignored <= 2:
                self._failure.kind = "ignored"
        self._chain = False
        self._is_stamped = line.is_stamped
        self._new_part(is_original)

    _chain = False

    def _announces(self) -> bool:
        """Whether the message that was read last ends with a colon: the traceback behind it is what it speaks of."""
        part = self._part
        return self._state in ("message", "after") and part is not None and part.text.rstrip().endswith(":")

    def _new_part(self, is_original: bool) -> None:
        assert self._failure is not None
        self._part = Part(is_original)
        self._failure.parts.append(self._part)
        self._state = "frames"
        self._count = 0
        self._stray = ""
        if len(self._failure.parts) > 12:
            del self._failure.parts[6]

    def _in_frames(self, line: Line, text: str, progress: int) -> bool:
        assert self._part is not None
        frame = _read_frame(self._half + text, line.number, self._box)
        self._half = text if self._box and frame is None and text[:1] == "/" else ""
        if frame is not None:
            if self._stray and frame.function in ("<module>", "") and self._ends_without_a_type():
                return self._outside(line, text, progress)
            self._part.add_frame(frame)
            return True
        stripped = text.strip()
        if not stripped or (stripped[0] in "~^" and _CARETS.match(stripped)):
            return True
        if self._box:
            if stripped.startswith("❱") and self._part.frames and not self._part.frames[-1].code:
                code = stripped.lstrip("❱ 0123456789").strip("│ ")
                self._part.frames[-1] = self._part.frames[-1]._replace(code=code)
            return True
        if text[0] in " \t-" or self._is_cell_code(text):
            frames = self._part.frames
            arrow = re.match(r"-+>\s*\d+\s(?P<code>.*)", stripped)
            if frames and not frames[-1].code and (arrow or text[0] in " \t") and not stripped[0].isdigit():
                code = arrow["code"].strip() if arrow else stripped
                frames[-1] = frames[-1]._replace(code=code[:300])
            return True
        if (found := _read_exception(text)) is not None:
            self._part.exception, self._part.message = found
            self._part.number = line.number
            self._state = "message"
            self._count = 0
            return True
        if kind_of_words(text) == "outside":
            self.close()
            return self._outside(line, text, progress)
        self._count += 1
        if self._part.frames and not _NOISE.match(text):
            self._stray = self._stray or text
        if self._count > _MAX_NOISE:
            self.close()
        return False

    def _ends_without_a_type(self) -> bool:
        """End a traceback that a hook printed without the exception: a message stands below the line that raised it.

        Whether it is one.
        """
        assert self._part is not None
        raised = _RAISED.match(self._part.frames[-1].code) if self._part.frames else None
        if raised is None:
            return False
        self._part.exception, self._part.message = raised[1], self._stray
        self.close()
        return True

    def _is_cell_code(self, text: str) -> bool:
        return re.match(r"\s*\d+ ", text) is not None or text.startswith("---")

    def _in_message(self, line: Line, text: str, progress: int) -> bool:
        assert self._part is not None and self._failure is not None
        if not text.strip():
            self._state = "after"
            self._count = 0
            return True
        if _CHAINED.match(text):
            self._link(text)
            self._state = "after"
            self._count = 0
            return True
        frame = _read_frame(text, line.number, False)
        if frame is not None and text[:1] in " \t":  # Ray prints the frames of the worker below the message
            self._new_part(True)
            self._part.add_frame(frame)
            return True
        is_other = (line.is_stamped and not self._is_stamped) or _NOISE.match(text) or kind_of_words(text)
        self._count += 1
        if is_other or self._count > _MAX_MESSAGE_LINES:
            self.close()
            return self._outside(line, text, progress)
        if text != self._part.text.partition("\n")[0]:  # ranks without prefixes repeat each other
            self._part.add_message(text, line.number)
        return True

    def _link(self, text: str) -> None:
        """Note that another exception of the chain follows, and whether this one brought it about."""
        assert self._part is not None
        self._chain = True
        self._part.is_root = text.startswith("The above exception")

    def _is_between(self, text: str) -> bool:
        """Whether a line may stand between two exceptions of a chain."""
        self._count += 1
        if _CHAINED.match(text):
            self._link(text)
            return True
        return self._count <= 3 and (not text.strip() or self._chain)

    def _outside(self, line: Line, text: str, progress: int) -> bool:
        if _IGNORED.match(text):
            self._ignored = line.number
        frame = _FRAME.match(text)
        if frame is None and (at := text.find('  File "')) > 0 and text[: at + 1].endswith(_LEADS):
            self._lead = _lead(text[:at])
            text = text[at:]
            frame = _FRAME.match(text)
        # Ray may print frames without their indentation.
        is_ipython = text.startswith(_IPYTHON) and _CELL_FRAME.match(text) is not None
        is_frame = is_ipython or (
            frame is not None and (text[:1] in " \t" or (bool(line.stream) and bool(frame["function"])))
        )
        if is_frame and not text.strip().startswith('File "<string>'):
            # The beginning of the log, or of the traceback, was lost.
            indent = len(text) - len(text.lstrip())
            if indent > 2 and self._lead is None:
                self._lead = _lead(text[: indent - 2])  # the traceback stands indented, as pip shows it
            self._failure = Failure(line.number, line.rank, line.stream, progress)
            self._is_stamped = line.is_stamped
            self._new_part(False)
            return self._in_frames(line, text, progress)
        kind: str = kind_of_words(text)
        named = None
        if not kind and (summary := read_summary(text)) is not None:
            kind, named = "hint", summary
        if not kind and (writer := _WRITER.match(text)) is not None:
            text = text[writer.end() :]
        if not kind and (loose := _LOOSE.match(text)) is not None:
            kind, named = "loose", (loose["type"], loose["message"] or loose["shown"] or "")
        if not kind:
            return False
        failure = Failure(line.number, line.rank, line.stream, progress)
        part = Part()
        part.number = line.number
        part.exception, part.message = named or ("", text.strip())
        failure.parts.append(part)
        failure.kind = kind
        self._failure, self._part, self._state, self._count = failure, part, "message", 0
        self._is_stamped = line.is_stamped
        return True

    def close(self) -> None:
        """End what is open."""
        if self._part is not None and not self._part.exception and not self._part.message:
            self._part.message = self._part.announced  # the end of the traceback was lost
        if self._failure is not None and (self._failure.frames or self._failure.text.strip()):
            self._done(self._failure)
        self._failure = self._part = None
        self._state = ""
        self._chain = False
        self._box = False


def _lead(text: str) -> re.Pattern[str]:
    """What a writer puts before its lines, whatever the numbers in it."""
    return re.compile(re.sub(r"\d+", r"\\d+", re.escape(text)))


def _read_frame(text: str, number: int, box: bool) -> Frame | None:
    match = _FRAME.match(text)
    if match is None and box:
        match = _RICH_FRAME.match(text)
    if match is None and not box and text[:1] not in " \t":
        match = _CELL_FRAME.match(text) or _MODULE_FRAME.match(text)
    if match is None:
        return None
    return Frame(match["path"], int(match["line"] or 0), (match["function"] or "").strip(), "", number)


def _read_exception(text: str) -> tuple[str, str] | None:
    """Type and message of the line that ends a traceback, once where two processes wrote it into each other."""
    if (twice := _TWICE.match(text)) is not None:
        half = len(twice["message"]) // 2
        same = twice["message"][:half] == twice["message"][half:]
        text = f"{twice['type']}: {twice['message'][:half] if same else twice['message']}"
    match = _EXCEPTION.match(text)
    if match is None:
        return None
    name = match["type"]
    short = name.rpartition(".")[2]
    is_dotted = "." in name and (short[:1].isupper() or _LOWER.match(name) is not None)
    if not _NAMED.search(name) and not is_dotted and not re.match(r"[A-Z]\w*$", name):
        return None
    return name, match["message"] or ""
