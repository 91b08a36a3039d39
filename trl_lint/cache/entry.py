"""One kept report and all it rests on, in a file that is checked before a byte of it is believed.

The notation is fields between NUL bytes: no parser that could be led to build objects, and nothing to import. Paths at
or below the base of a run are written from there, with a dot in front, so that a tree may stand elsewhere later.
"""

from __future__ import annotations

import os
import stat
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Raised whenever the fields change.
_MAGIC = b"trl-lint cache 3"
_LARGEST = 64_000_000
_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)  # fmt: skip

# What a path was looked at for: its contents, the names in it, or (of the tool itself) only its stamp.
CONTENTS, NAMES, STAMP = "c", "n", "s"
# In the place of a digest where only the size of a file was asked for.
SIZE = "="


class Entry:
    """A report and what it rests on. `looks` are (what for, path, stamp, digest), `answers` (question, path, answer).

    `key` is what the run was asked to do. `place` is where: the working folder, the base, and the folders that Python
    imports from. `tool` says which tool it was, wherever installed; "" if that cannot be told. `is_bound` is not ""
    where the report holds in this place alone. `output` are the texts for standard output ("o"), standard error ("e")
    and the file that the arguments name for the report ("f"). `parts` are what each file came to, as `cache.parts`
    writes it; "" where nobody may start from there.

    `is_own`: the file was written in this very place, by a run on this machine. `was_based`: the base of that run.
    """

    __slots__ = (
        "answers", "is_bound", "is_own", "key", "looks", "output", "parts", "place", "status", "tool", "variables",
        "was_based",
    )  # fmt: skip

    def __init__(
        self,
        key: list[str],
        place: list[str],
        tool: str,
        is_bound: str,
        status: int,
        output: list[tuple[str, str]],
        variables: list[tuple[str, str]],
        answers: list[tuple[str, str, str]],
        looks: list[tuple[str, str, str, str]],
        parts: str = "",
    ) -> None:
        self.key = key
        self.place = place
        self.tool = tool
        self.is_bound = is_bound
        self.status = status
        self.output = output
        self.variables = variables
        self.answers = answers
        self.looks = looks
        self.parts = parts
        self.is_own = False
        self.was_based = place[1] if place else ""

    def encoded(self) -> bytes | None:
        """The fields; None if one of them holds the byte that separates them."""
        base = self.place[1]
        fields = [str(len(self.key)), *self.key, str(len(self.place)), *self.place]
        fields += [self.tool, self.is_bound, str(self.status), self.parts]
        answers = [
            (question, short(path, base), short(answer, base) if question == "real" else answer)
            for question, path, answer in self.answers
        ]
        for rows in (self.output, self.variables, answers):
            fields.append(str(len(rows)))
            for row in rows:
                fields.extend(row)
        fields.append(str(len(self.looks)))
        for column in range(4):
            fields.extend(short(row[column], base) if column == 1 else row[column] for row in self.looks)
        if any("\0" in field for field in fields):
            return None
        return "\0".join(fields).encode("utf-8", "surrogatepass")


def short(path: str, base: str) -> str:
    """A path as it is written: from the base, if it is in there. `long` reads it."""
    if path.startswith(base) and path[len(base) : len(base) + 1] in ("", os.sep):
        return "." + path[len(base) :]
    return path


def long(written: Sequence[str], base: str) -> list[str]:
    """The paths that `short` has written, below today's base."""
    return [base + path[1:] if path[:1] == "." else path for path in written]


def decoded(data: bytes, here: str = "") -> Entry:
    """The entry of some fields. Raises ValueError, also as UnicodeDecodeError, and IndexError.

    `here` is the working folder today; the base and what is below it are where they are seen from there. Without it all
    is where it was.
    """
    fields = data.decode("utf-8", "surrogatepass").split("\0")
    end = int(fields[0]) + 1
    key = fields[1:end]
    start, end = end + 1, end + 1 + int(fields[end])
    place = fields[start:end]
    base = _base_today(place[0], place[1], here or place[0])
    tool, is_bound, number, parts = fields[end : end + 4]
    status = int(number)
    end += 4
    tables: list[list[list[str]]] = []
    for width in (2, 2, 3):
        start, end = end + 1, end + 1 + width * int(fields[end])
        tables.append([fields[start + column : end : width] for column in range(width)])
    start, number_of_looks = end + 1, int(fields[end])
    if start + 4 * number_of_looks != len(fields):
        raise ValueError
    columns = [fields[start + number_of_looks * column : start + number_of_looks * (column + 1)] for column in range(4)]
    columns[1] = long(columns[1], base)
    output, variables, (questions, paths, answers) = tables
    answers = [
        long([answer], base)[0] if question == "real" else answer
        for question, answer in zip(questions, answers, strict=True)
    ]
    was_based = place[1]
    place[0], place[1] = here or place[0], base
    entry = Entry(
        key, place, tool, is_bound, status, list(zip(*output, strict=True)), list(zip(*variables, strict=True)),
        list(zip(questions, long(paths, base), answers, strict=True)), list(zip(*columns, strict=True)), parts,
    )  # fmt: skip
    entry.was_based = was_based
    return entry


def _base_today(folder: str, base: str, here: str) -> str:
    """The base as seen from the working folder of today, if it was `base` from `folder`."""
    inner = folder[len(base) :]
    if short(folder, base) == folder or not here.endswith(inner) or here == inner:
        raise ValueError
    return here[: len(here) - len(inner)]


def read_entry(path: str, here: str = "") -> Entry | None:
    """The entry in a file; None for anything but a whole file of this user. `here` is as in `decoded`.

    Its number in the file system is part of it: so a copy is known for one, however it came here. Whether to believe
    one is the business of `cache.brought`.
    """
    try:
        handle = os.open(path, os.O_RDONLY | _FLAGS)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= _LARGEST or not _is_ours(status):
            return None
        data = os.read(handle, status.st_size + 1)
    except OSError:
        return None
    finally:
        os.close(handle)
    head, _, body = data.partition(b"\n")
    words = head.rsplit(b" ", 2)
    if len(words) != 3 or words[0] != _MAGIC or words[2] != b"%08x" % zlib.crc32(body):
        return None
    try:
        entry = decoded(body, here)
    except (ValueError, IndexError):
        return None
    entry.is_own = words[1] == b"%d" % status.st_ino
    return entry


def _is_ours(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def write_entry(path: str, entry: Entry) -> bool:
    """Put an entry in place, whole or not at all; whether that went well. Never raises for what the disk says."""
    body = entry.encoded()
    if body is None or len(body) >= _LARGEST - 100:
        return False
    new = f"{path}.{os.getpid()}.tmp"
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as stream:
            number = os.fstat(handle).st_ino
            stream.write(b"%s %d %08x\n" % (_MAGIC, number, zlib.crc32(body)) + body)
        os.replace(new, path)
    except OSError:
        try:
            os.unlink(new)
        except OSError:
            return False
        return False
    return True
