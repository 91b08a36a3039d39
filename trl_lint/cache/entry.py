"""One kept report and all it rests on, in a file that is checked before a byte of it is believed.

The notation is fields between NUL bytes: no parser that could be led to build objects, and nothing to import.
"""

from __future__ import annotations

import os
import stat
import zlib

# Raised whenever the fields change.
_MAGIC = b"trl-lint cache 2"
_LARGEST = 64_000_000
_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)  # fmt: skip

# What a path was looked at for: its contents, the names in it, or (of the tool itself) only its stamp.
CONTENTS, NAMES, STAMP = "c", "n", "s"


class Entry:
    """A report and what it rests on. `looks` are (what for, path, stamp, digest), `answers` (question, path, answer).

    `key` is what the run was asked to do. `output` are the texts for standard output ("o") and standard error ("e").
    `parts` are what each file came to, as `cache.parts` writes it; "" where nobody may start from there.
    """

    __slots__ = ("answers", "key", "looks", "output", "parts", "status", "variables")

    def __init__(
        self,
        key: list[str],
        status: int,
        output: list[tuple[str, str]],
        variables: list[tuple[str, str]],
        answers: list[tuple[str, str, str]],
        looks: list[tuple[str, str, str, str]],
        parts: str = "",
    ) -> None:
        self.key = key
        self.status = status
        self.output = output
        self.variables = variables
        self.answers = answers
        self.looks = looks
        self.parts = parts

    def encoded(self) -> bytes | None:
        """The fields; None if one of them holds the byte that separates them."""
        fields = [str(len(self.key)), *self.key, str(self.status), self.parts]
        for rows in (self.output, self.variables, self.answers):
            fields.append(str(len(rows)))
            for row in rows:
                fields.extend(row)
        fields.append(str(len(self.looks)))
        for column in range(4):
            fields.extend(row[column] for row in self.looks)
        if any("\0" in field for field in fields):
            return None
        return "\0".join(fields).encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> Entry:
    """The entry of some fields. Raises ValueError, also as UnicodeDecodeError, and IndexError."""
    fields = data.decode("utf-8", "surrogatepass").split("\0")
    end = int(fields[0]) + 1
    key, status, parts = fields[1:end], int(fields[end]), fields[end + 1]
    end += 2
    tables: list[list[tuple[str, ...]]] = []
    for width in (2, 2, 3):
        start, end = end + 1, end + 1 + width * int(fields[end])
        tables.append(list(zip(*(fields[start + column : end : width] for column in range(width)), strict=True)))
    start, number = end + 1, int(fields[end])
    if start + 4 * number != len(fields):
        raise ValueError
    columns = (fields[start + number * column : start + number * (column + 1)] for column in range(4))
    looks = list(zip(*columns, strict=True))
    output, variables, answers = tables
    return Entry(key, status, output, variables, answers, looks, parts)  # type: ignore[arg-type]


def read_entry(path: str) -> Entry | None:
    """The entry in a file; None for anything but a whole file that this user's tool wrote in this very place.

    Its number in the file system is part of it. So a copy is none, however it came here: nobody can put a report into
    a repository that others would be shown.
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
    if head != _head(body, status.st_ino):
        return None
    try:
        return decoded(body)
    except (ValueError, IndexError):
        return None


def _is_ours(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def _head(body: bytes, number: int) -> bytes:
    return b"%s %d %08x" % (_MAGIC, number, zlib.crc32(body))


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
            stream.write(_head(body, os.fstat(handle).st_ino) + b"\n" + body)
        os.replace(new, path)
    except OSError:
        try:
            os.unlink(new)
        except OSError:
            return False
        return False
    return True
