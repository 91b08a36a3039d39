"""Writing a file in one step: whoever reads it sees the old content or the new, never half of either."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import BinaryIO

from trl_lint import tracked
from trl_lint.paths import is_below, repository_around
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.stamps import opened, refuse_away

_PREFIX = ".trl-lint-"
_SUFFIX = ".tmp"


_LEFT = regex(re.escape(_PREFIX) + r"([0-9]+)" + re.escape(_SUFFIX) + r"\Z")
_OLD = 10.0  # seconds after which a file with our name, whose process is gone, is taken for left over


class WriteError(Exception):
    """A file was left as it is; the text says why."""


def unwritable(path: str) -> str | None:
    """Why the file at a path must not be written, None if it may."""
    try:
        refuse_away(path)
        target = os.path.realpath(path)
        status = os.stat(target)
    except OSError as error:
        return f"cannot be written: {tracked.reason(error)}"
    if not stat.S_ISREG(status.st_mode):
        return "is no file any more, so it was left as it is"
    # A folder lets us replace a read-only file, but whoever made it read-only meant it.
    if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(target, os.W_OK):
        return "is read-only, so it was left as it is"
    if not os.access(os.path.dirname(target), os.W_OK):
        return "stands in a read-only folder, so it was left as it is"
    # Only a new file can take the place of an old one in one step, and the other names would keep the old one.
    if status.st_nlink > 1:
        return f"has {status.st_nlink} names (hard links), so it was left as it is"
    return None


def write_file(path: str, data: bytes, expected: bytes) -> None:
    """Replace the content of the file at `path`, which must still be `expected`. Raises WriteError.

    A symbolic link stays one and its target is written. Mode and, where allowed, owner are kept.
    """
    target = os.path.realpath(path)
    try:
        _replace(target, data, _expect(path, expected))
    except OSError as error:
        raise WriteError(f"cannot be written: {tracked.reason(error)}; it was left as it is") from None


def _expect(path: str, expected: bytes) -> os.stat_result:
    """The status of a file that may be written and still holds what is expected. Raises WriteError, OSError."""
    if (reason := unwritable(path)) is not None:
        raise WriteError(reason)
    with opened(os.path.realpath(path)) as stream:
        if stream.read() != expected:
            raise WriteError("has changed since it was read, so it was left as it is; run again")
        return os.fstat(stream.fileno())


def put_file(path: str, data: bytes) -> None:
    """Write a file of our own, whatever stood there before; what stood there stays if that fails. Raises OSError.

    What is no ordinary file of one name (a device, a pipe, a hard link) is written as it stands. Whoever writes a
    repository does not decide where its links lead us: none in it is followed.
    """
    path = os.path.abspath(path)
    refuse_away(path)
    if link := _link_of_the_project(path):
        where = "a link" if link == path else f"behind the link {os.path.basename(link)}"
        raise OSError(errno.ELOOP, f"it is {where} of the project, which may lead anywhere; name the place itself")
    if not os.path.exists(path):
        _replace(os.path.realpath(path), data, None)
    elif unwritable(path) is None:
        target = os.path.realpath(path)
        _replace(target, data, os.stat(target))
    else:
        with open(path, "wb") as stream:
            stream.write(data)


def _link_of_the_project(path: str) -> str:
    """The first link on the way of an absolute path that stands in the project around the working folder, "" if none.

    The project is the repository, or the working folder where there is none.
    """
    here = os.getcwd()
    root = os.path.realpath(repository_around(here) or here)
    current = os.path.abspath(os.sep) if os.path.splitdrive(path)[0] == "" else os.path.splitdrive(path)[0] + os.sep
    for part in path[len(current) :].split(os.sep):
        folder, current = current, os.path.join(current, part)
        if os.path.islink(current) and is_below(os.path.realpath(folder), root):
            return current
    return ""


def write_together(
    contents: Mapping[str, bytes], before: Mapping[str, bytes], fixes: Iterable[Collection[str]]
) -> dict[str, str]:
    """Write files, each as `write_file` does; the paths of those that were left as they are, and why.

    `before` is what they must still hold. `fixes` are the paths of each fix: of what a fix changes, and of all that
    hangs together with it through others, everything is written or nothing.
    """
    left: dict[str, str] = {}
    for group in _connected(contents, fixes):
        written: list[str] = []
        path = ""
        try:
            for path in group:
                with contextlib.suppress(OSError):  # which writing meets again
                    _expect(path, before[path])
            for path in group:
                write_file(path, contents[path], before[path])
                written.append(path)
        except WriteError as error:
            shared = f"shares a fix with {os.path.basename(path)}, which was not written"
            left.update(dict.fromkeys(group, f"{shared}, so it was left as it is"), **{path: str(error)})
            left.update(_taken_back(written, contents, before, shared))
    return left


def _taken_back(
    written: Iterable[str], contents: Mapping[str, bytes], before: Mapping[str, bytes], reason: str
) -> Iterator[tuple[str, str]]:
    """Give files what they held before; what is to be said of those for which that failed."""
    for path in written:
        try:
            write_file(path, before[path], contents[path])
        except WriteError as error:
            yield path, f"{reason}, and what it held before cannot be put back: it {error}"


def _connected(paths: Iterable[str], fixes: Iterable[Collection[str]]) -> list[list[str]]:
    """Paths in groups, sorted: those of one fix are in one group."""
    group_of = {path: {path} for path in paths}
    for fix in fixes:
        merged = set().union(*(group_of[path] for path in fix if path in group_of))
        group_of.update(dict.fromkeys(merged, merged))
    return sorted({min(group): sorted(group) for group in group_of.values()}.values())


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


def _replace(target: str, data: bytes, status: os.stat_result | None) -> None:
    """Put a file with this content at a path, in one step; `status` is that of the file it replaces, if there is one.

    Raises OSError.
    """
    folder = os.path.dirname(target)
    if os.path.isdir("/proc/self"):  # only there files get their names late, and processes can be looked up
        _sweep(folder)
    old = None if status is None else _Old(target, status)
    scratch = _written_nameless(folder, data, old) or _written(folder, data, old)
    try:
        os.replace(scratch, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise


# What people and programs put on a file, and what a change of its content leaves as it is.
_KEPT_ATTRIBUTES = ("user.", "security.selinux", "trusted.")
_LISTS = "system.posix_acl_"  # who may do what, besides the mode


class _Old(NamedTuple):
    """A file that gets another content: its path and status."""

    path: str
    status: os.stat_result


def _dress(file: int | str, old: _Old) -> None:
    """Give a file, by handle or path, the owner, mode, attributes and access lists of the one it replaces."""
    status = old.status
    _copy_attributes(old.path, file, _KEPT_ATTRIBUTES)  # of a file without a bit for writing nobody may change them
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):  # only an administrator may give files away
            os.chown(file, status.st_uid, status.st_gid)
    os.chmod(file, stat.S_IMODE(status.st_mode))
    _copy_attributes(old.path, file, (_LISTS,))  # the mode would take something away from them


def _copy_attributes(path: str, file: int | str, kinds: tuple[str, ...]) -> None:
    """Copy extended attributes, as far as the system has them and lets us."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(path):
            if name.startswith(kinds):
                with contextlib.suppress(OSError):
                    os.setxattr(file, name, os.getxattr(path, name))


def _undressed(path: str) -> None:
    """Give a new file of ours the mode that any new file gets here."""
    umask = os.umask(0o077)
    os.umask(umask)
    os.chmod(path, 0o666 & ~umask)


def _written_nameless(folder: str, data: bytes, old: _Old | None) -> str:
    """A new file with this content that gets its name when all is done, "" where the system has no such files.

    Writing is what takes time: whoever kills us meanwhile leaves nothing behind.
    """
    if not hasattr(os, "O_TMPFILE"):
        return ""
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666 if old is None else 0o600)
    except OSError:
        return ""
    scratch = os.path.join(folder, f"{_PREFIX}{os.getpid()}{_SUFFIX}")
    with os.fdopen(handle, "wb") as stream:
        _write(stream, data)
        if old is not None:
            _dress(handle, old)
        try:
            # With a folder handle Python asks for the link to be followed, which is what gives the file its name.
            os.link(f"/proc/self/fd/{handle}", scratch, src_dir_fd=handle, follow_symlinks=True)
        except OSError:
            return ""
    return scratch


def _written(folder: str, data: bytes, old: _Old | None) -> str:
    """A new file with this content."""
    import tempfile

    handle, scratch = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            _write(stream, data)
        _undressed(scratch) if old is None else _dress(scratch, old)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise
    return scratch


def _write(stream: BinaryIO, data: bytes) -> None:
    stream.write(data)
    stream.flush()
    os.fsync(stream.fileno())
