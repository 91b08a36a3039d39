"""Writing a file in one step: whoever reads it sees the old content or the new, never half of either."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
import time
from typing import BinaryIO

from trl_lint.regexes import regex

_PREFIX = ".trl-lint-"
_SUFFIX = ".tmp"


_LEFT = regex(re.escape(_PREFIX) + r"([0-9]+)" + re.escape(_SUFFIX) + r"\Z")
_OLD = 10.0  # seconds after which a file with our name, whose process is gone, is taken for left over


class WriteError(Exception):
    """A file was left as it is; the text says why."""


def unwritable(path: str) -> str | None:
    """Why the file at a path must not be written, None if it may."""
    target = os.path.realpath(path)
    try:
        status = os.stat(target)
    except OSError as error:
        return f"cannot be written: {(error.strerror or str(error)).lower()}"
    # A folder lets us replace a read-only file, but whoever made it read-only meant it.
    if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(target, os.W_OK):
        return "is read-only, so it was not repaired"
    if not os.access(os.path.dirname(target), os.W_OK):
        return "stands in a read-only folder, so it was not repaired"
    # Only a new file can take the place of an old one in one step, and the other names would keep the old one.
    if status.st_nlink > 1:
        return f"has {status.st_nlink} names (hard links), so it was not repaired"
    return None


def write_file(path: str, data: bytes, expected: bytes) -> None:
    """Replace the content of the file at `path`, which must still be `expected`. Raises WriteError.

    A symbolic link stays one and its target is written. Mode and, where allowed, owner are kept.
    """
    target = os.path.realpath(path)
    try:
        if (reason := unwritable(path)) is not None:
            raise WriteError(reason)
        status = os.stat(target)
        with open(target, "rb") as stream:
            if stream.read() != expected:
                raise WriteError("has changed since it was read, so it was not repaired")
        _replace(target, data, status)
    except OSError as error:
        raise WriteError(f"cannot be written: {(error.strerror or str(error)).lower()}") from None


def _sweep(folder: str) -> None:
    """Remove what a run left that was killed between the two steps that put a file into its place."""
    for name in os.listdir(folder):
        match = _LEFT.match(name)
        if match is None:
            continue
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            if time.time() - os.lstat(path).st_mtime > _OLD and not os.path.exists(f"/proc/{match[1]}"):
                os.unlink(path)


def _replace(target: str, data: bytes, status: os.stat_result) -> None:
    folder = os.path.dirname(target)
    if os.path.isdir("/proc/self"):  # only there files get their names late, and processes can be looked up
        _sweep(folder)
    scratch = _written_nameless(folder, data, status) or _written(folder, data, status)
    try:
        os.replace(scratch, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise


def _dress(file: int | str, status: os.stat_result) -> None:
    """Give a file, by handle or path, the owner and mode of the one it replaces."""
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):  # only an administrator may give files away
            os.chown(file, status.st_uid, status.st_gid)
    os.chmod(file, stat.S_IMODE(status.st_mode))


def _written_nameless(folder: str, data: bytes, status: os.stat_result) -> str:
    """A new file with this content that gets its name when all is done, "" where the system has no such files.

    Writing is what takes time: whoever kills us meanwhile leaves nothing behind.
    """
    if not hasattr(os, "O_TMPFILE"):
        return ""
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except OSError:
        return ""
    scratch = os.path.join(folder, f"{_PREFIX}{os.getpid()}{_SUFFIX}")
    with os.fdopen(handle, "wb") as stream:
        _write(stream, data)
        _dress(handle, status)
        try:
            # With a folder handle Python asks for the link to be followed, which is what gives the file its name.
            os.link(f"/proc/self/fd/{handle}", scratch, src_dir_fd=handle, follow_symlinks=True)
        except OSError:
            return ""
    return scratch


def _written(folder: str, data: bytes, status: os.stat_result) -> str:
    """A new file with this content."""
    handle, scratch = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            _write(stream, data)
        _dress(scratch, status)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise
    return scratch


def _write(stream: BinaryIO, data: bytes) -> None:
    stream.write(data)
    stream.flush()
    os.fsync(stream.fileno())
