"""The lines of a log around its failure, read a second time: the first reading keeps none."""

from __future__ import annotations

from trl_lint.diagnose.blocks import Readable, lines_between
from trl_lint.diagnose.failures import Failure
from trl_lint.diagnose.lines import read_line
from trl_lint.records import NamedTuple

BEFORE, AFTER, MOST = 25, 15, 160


class Excerpt(NamedTuple):
    """`lines` of the log from line `first` on, without escape sequences; `is_cut`: the middle was left out."""

    first: int
    lines: tuple[str, ...]
    is_cut: bool = False


def excerpt_of(stream: Readable, failure: Failure) -> Excerpt:
    """What stands around a failure, at most MOST lines. Raises OSError."""
    start = max(1, failure.number - BEFORE)
    end = max(failure.number, failure.main.number, *(frame.number for frame in failure.frames), 0) + AFTER
    shown = [_shown(line) for line in lines_between(stream, start, min(end, start - 1 + 100 * MOST))]
    if len(shown) <= MOST:
        return Excerpt(start, tuple(shown))
    half = MOST // 2
    return Excerpt(start, (*shown[:half], "…", *shown[-half:]), True)


def _shown(raw: bytes) -> str:
    """One line; of a progress bar its last state."""
    text = raw.decode("utf-8", "replace").rstrip("\r\n").rpartition("\r")[2]
    line = read_line(text, 0)
    head = text[: len(text) - len(line.text)] if line.text and text.endswith(line.text) else ""
    clean = "".join(char for char in head if char.isprintable())
    return f"{clean}{line.text}"[:2000]
