"""One line of a log, freed from what launchers, schedulers and terminals put around it.

The prefixes are those of torch (`[rank3]:`), of pdsh before it (`node1: `), torchrun (`[default3]:`), `srun --label`
(`3: `), Open MPI, Ray, vLLM, containers, uvicorn (`ERROR:    `), pytest (`E       `), quoted text (`> `) and the usual
loggers. At most one blank goes with a prefix: what stands behind it may be indented code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

MAX_LINE = 4000

_ESCAPES = regex(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[@-Z\\-_])"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
# How progress bars end; what follows at once is the line of somebody who did not wait for the end of theirs.
_BAR_END = regex(r"(?:/s|s/ ?[a-z]{1,12})\]")
_RANKED = regex(r"\[(?:rank|default)_?\d{1,5}\]:? ?(?:Original )?$")
_TRACEBACK = "Traceback (most recent call last)"
_LEVEL = r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)"
# Alternatives in the order in which they are tried; a line may begin with several of them.
_PREFIX = regex(
    rf"""
    \[(?:rank|default)_?(?P<torch>\d{{1,5}})\]:?[ ]?
    | [A-Za-z0-9][\w.-]{{1,60}}:[ ](?=\[(?:rank|default)_?\d)
    | [ ]{{0,4}}(?P<slurm>\d{{1,5}}):(?:[ ]|$)
    | \[\d+,(?P<mpi>\d{{1,9}})\]<std(?:err|out)>:[ ]?
    | \((?P<actor>[\w.:-]+(?:[ ]\w+)*?(?:[ ](?:pid|rank)=\d+)+(?:,[ ]ip=[\d.]+)?)\)[ ]?
    | \((?P<raylet>raylet)(?:,[ ]ip=[\d.]+)?\)[ ]?
    | (?P<container>[\w.-]+)[ ]+\|[ ]
    | \d{{4}}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)[ ]std(?:out|err)[ ][FP][ ]
    | \[{_LEVEL}\|[\w.]+:\d+\][ ][\d-]+[ ][\d:.,]+[ ]>>[ ]
    | (?P<level>{_LEVEL})[ ]\d\d-\d\d[ ]\d\d:\d\d:\d\d[ ](?:\[[\w./-]+:\d+\]|[\w./-]+:\d+\])[ ]?
    | (?P<glog>[IWEF]\d{{4}})[ ]\d\d:\d\d:\d\d\.\d+[ ]+(?:\d+[ ])?[\w./-]+:\d+\](?:[ ]\[\d+\])?[ ]?
    | (?P<stamp>\[?(?:\d{{4}}[-/]\d\d[-/]\d\d|\d\d/\d\d/\d{{4}})[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?
        (?:[ ]?[-|:]?[ ]?\[?{_LEVEL}\]?[ ]?[-|:]?)?)[ ]?
    | \[\d\d:\d\d:\d\d(?:\.\d+)?\](?:[ ]{_LEVEL})?[ ]?
    | ERROR:[ ]{{4}}(?=[ ]{{0,12}}\S) | E[ ]{{7}}(?=[ ]{{0,12}}\S) | >[ ](?=[ ]{{0,20}}\S)
    """,
    re.VERBOSE,
)
_TEXT_KEYS = ("message", "msg", "log", "text", "line", "data", "content", "exc_info", "exception", "traceback", "stack")
_RANK_KEYS = ("rank", "global_rank", "local_rank", "RANK", "LOCAL_RANK")


class Line(NamedTuple):
    """`number` counts from 1; `stream` tells apart writers that were mixed; `is_stamped`: a logger wrote it."""

    number: int
    stream: str
    rank: int | None
    text: str
    is_stamped: bool = False


def read_lines(raw: bytes, number: int) -> Iterator[Line]:
    """What one physical line says: the parts between carriage returns, or the text inside a JSON record."""
    text = raw.decode("utf-8", "replace")
    if text[:1] == "{" and text.rstrip().endswith("}") and (inner := _of_json(text)) is not None:
        rank, parts = inner
        for part in parts:
            line = read_line(part, number)
            yield line if line.rank is not None or rank is None else line._replace(rank=rank, stream=f"rank {rank}")
        return
    for part in text.split("\r") if "\r" in text else (text,):
        if part:
            yield read_line(part, number)


def read_line(text: str, number: int) -> Line:
    """A line without escape sequences and prefixes."""
    text = _ESCAPES.sub("", text[: 4 * MAX_LINE])[:MAX_LINE]
    text = _behind_a_bar(text)
    rank: int | None = None
    stream = ""
    is_stamped = False
    for _ in range(6):
        match = _PREFIX.match(text)
        if match is None or not match.group():
            break
        found = match["torch"] or match["mpi"] or match["slurm"]
        if found is not None:
            rank = int(found)
        stream = match["actor"] or match["raylet"] or match["container"] or stream
        is_stamped = is_stamped or bool(match["level"] or match["stamp"] or match["glog"])
        text = text[match.end() :]
    if rank is not None:
        stream = f"rank {rank} {stream}"
    return Line(number, stream, rank, text.rstrip(), is_stamped)


def _behind_a_bar(text: str) -> str:
    """What was written into the line of a progress bar; the line itself where that is nothing."""
    if "]" not in text:
        return text
    header = text.find(_TRACEBACK)
    if header > 0 and (ranked := _RANKED.search(text, max(0, header - 40), header)) and ranked.start():
        return text[ranked.start() :]
    end = max((found.end() for found in _BAR_END.finditer(text)), default=-1)
    is_followed = 0 < end < len(text) and not text[end].isspace()
    return text[end:] if is_followed and "[" in text[max(0, end - 80) : end] else text


def _of_json(text: str) -> tuple[int | None, list[str]] | None:
    """Rank and lines of a record that carries text; None if it is not one."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    texts = [value for key in _TEXT_KEYS if isinstance(value := record.get(key), str)]
    if not texts:
        return None
    ranks = (record.get(key) for key in _RANK_KEYS)
    rank = next((rank for rank in ranks if isinstance(rank, int) and not isinstance(rank, bool)), None)
    return rank, [line for value in texts for line in re.split(r"[\r\n]+", value) if line]
