"""The tracked file system: the files, folders and variables that a report may rest on are read here, and recorded.

Whatever a check reads, lists or only asks for goes through here, so that the cache knows what a report rests on: also
the files that were not there. Nothing is recorded unless `recording` is on.

A file that is read counts as used by all: after a change of it everything is checked again. Only who says more narrowly
what was taken from it, and by whom (`by`, `for_itself`, `note_content`), spares the others, and has to be right about
it; a test lists the rules that do.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, update_wrapper
from typing import TypeVar

from trl_lint.dependency_record import Record as Record
from trl_lint.dependency_record import full as full
from trl_lint.stamps import CACHES, FILE, FOLDER, LINK, NO_FILE, NOTHING, QUESTIONS, kind_of, opened, refuse_away

T = TypeVar("T")

# The last two are how the system refuses to open sockets and devices that nobody has.
_GONE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV))


_record: Record | None = None
_about: str | None = None
_checked: str | None = None
_collected: set[str] | None = None
_unread: dict[str, OSError] = {}
_forget: list[Callable[[], None]] = []


def remembered(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """`lru_cache` for a function that reads: a record begins without what was seen before it, and goes on with it."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        @lru_cache(maxsize=most)
        def cached(argument: str, record: int) -> T:
            return function(argument)

        def remembering(argument: str) -> T:
            return cached(argument, 0 if _record is None else _record.number)

        _forget.append(cached.cache_clear)
        return update_wrapper(remembering, function)

    return decorate


def forget() -> None:
    """Drop what functions remember of the file system."""
    for clear in _forget:
        clear()


@contextmanager
def recording(record: Record | None) -> Iterator[None]:
    """Write every look made inside into a record."""
    global _record
    before, _record = _record, record
    try:
        yield
    finally:
        _record = before


def current() -> Record | None:
    """The record that is being written, None if there is none."""
    return _record


def take_over(record: Record | None) -> None:
    """Add what another process recorded to the record of this one."""
    if _record is not None and record is not None and record is not _record:
        _record.merge(record)


# -- what of a file was used ------------------------------------------------------------------------------------------


@contextmanager
def for_itself(path: str) -> Iterator[None]:
    """A file is read for its own sake, or for an answer that `note_content` writes down: that is no use of it."""
    global _about
    before, _about = _about, path
    try:
        yield
    finally:
        _about = before


def note_use(path: str, by: str | None = None) -> None:
    """Something of a file was taken for others: if it changes, so may they.

    `by` is the file for whose sake alone it was read; whoever takes something of that one says so, too.
    """
    if _record is None or path == _about:
        return
    if by is None and _collected is not None:
        _collected.add(path)
    elif by is None:
        _record.used.add(path)
    else:
        _record.needed.setdefault(by, set()).add(path)


@contextmanager
def checking(path: str) -> Iterator[None]:
    """A file is checked: what `note_collected` is given inside was taken for its sake."""
    global _checked
    before, _checked = _checked, path
    try:
        yield
    finally:
        _checked = before


@contextmanager
def collecting() -> Iterator[set[str]]:
    """The files that are used inside, which whoever asks for the result hands to `note_collected`.

    Only for what reads its files itself: what a run or an environment has read before is not noted again.
    """
    global _collected
    before, _collected = _collected, set()
    try:
        yield _collected
    finally:
        _collected = before


def note_collected(paths: set[str]) -> None:
    """What the file that is checked gets now rests on these; without one, everything does."""
    if _record is None:
        return
    if _collected is not None:
        _collected.update(paths)
    elif _checked is None:
        _record.used |= paths
    elif paths - {_checked}:
        _record.needed.setdefault(_checked, set()).update(paths - {_checked})


def note_content(question: str, argument: str, path: str, answer: bool) -> None:
    """All that was taken from a file is the answer to a question, which can be asked again."""
    if _record is not None:
        _record.contents.setdefault((question, argument), {})[path] = answer


def note_name(text: str) -> None:
    """What was found may be other if the project's folder is called `text`, or anything like it."""
    if _record is not None:
        for part in text.split("/"):
            if part and "\0" not in part:
                path = os.path.join(_record.base, part)
                _record.note_answer("alike", path, QUESTIONS["alike"](path))


def note_place() -> None:
    """What was found may be other if the project stands in another place."""
    if _record is not None:
        _record.is_bound = True


# -- files ------------------------------------------------------------------------------------------------------------


def is_gone(error: OSError) -> bool:
    """Whether there is no file of that name, whoever asks; any other error is about one that may be there."""
    return error.errno in _GONE or error.strerror == NO_FILE


def reason(error: OSError | EOFError) -> str:
    """Why the system refused something, as the end of a sentence."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text[0].lower() + text[1:]


def read(path: str, by: str | None = None) -> bytes:
    """The bytes of a file; `by` is as in `note_use`. Raises OSError, also for a pipe or a device."""
    try:
        with opened(path) as stream:
            if _record is None:
                return stream.read()
            status = os.fstat(stream.fileno())
            data = stream.read()
    except OSError as error:
        note_unread(path, error)
        _note_failure(path, error)
        raise
    _record.note_file(path, status, data)
    note_use(path, by)
    return data


def note_unread(path: str, error: OSError) -> None:
    """Something is there and cannot be read: what it says is not known, and whoever reports has to say so."""
    if not is_gone(error):
        _unread[full(path)] = error


def pop_unread() -> dict[str, OSError]:
    """What could not be read since this was asked last, by absolute path."""
    found = dict(_unread)
    _unread.clear()
    return found


def read_text(path: str) -> str:
    """The text of a file in UTF-8, with what is not replaced and line ends as `open` gives them. Raises OSError."""
    return read(path).decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def status(path: str) -> os.stat_result:
    """`os.stat`, of which the size and the kind may be used. Raises OSError and ValueError."""
    try:
        refuse_away(path)
        found = os.stat(path)
    except OSError as error:
        _note_failure(path, error)
        raise
    if _record is not None:
        if stat.S_ISREG(found.st_mode):
            _record.note_file(path, found, None)
        else:
            _record.note_answer("kind", path, kind_of(path))
    return found


def size(path: str) -> int:
    """The size of a file in bytes. Raises OSError."""
    note_use(path)
    return status(path).st_size


def is_larger(path: str, limit: int) -> bool:
    """Whether a file has more than `limit` bytes. Raises OSError."""
    answer = status(path).st_size > limit
    note_content("is larger", str(limit), path, answer)
    return answer


def _note_failure(path: str, error: OSError) -> None:
    if _record is not None:
        if is_gone(error):
            _record.note_answer("kind", path, kind_of(path))
        else:  # there, but not for us: what would change that is no part of the record
            _record.is_inconsistent = True


def is_file(path: str) -> bool:
    return _ask("kind", path) == FILE


def is_folder(path: str) -> bool:
    return _ask("kind", path) == FOLDER


def exists(path: str) -> bool:
    return _ask("kind", path) != NOTHING


def is_there(path: str) -> bool:
    """Whether anything has this name, be it a link that leads nowhere."""
    return _ask("link", path) != NOTHING


def is_link(path: str) -> bool:
    return _ask("link", path) == LINK


def real(path: str) -> str:
    """The path without links."""
    return _ask("real", path)


# -- folders ----------------------------------------------------------------------------------------------------------


def entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder. Raises OSError.

    The types of the entries may be used, without following links; whoever follows one asks for its path here. Caches of
    tools are left out: they hold nothing of anybody's, and come and go while nothing changes.
    """
    try:
        refuse_away(folder)
        before = None if _record is None else os.stat(folder)
        with os.scandir(folder) as listing:
            found = [entry for entry in listing if entry.name not in CACHES]
    except OSError as error:
        _note_failure(folder, error)
        raise
    if _record is not None and before is not None:
        _record.note_folder(folder, before, found)
    return found


def names(folder: str) -> list[str]:
    """The names in a folder, sorted. Raises OSError."""
    return sorted(entry.name for entry in entries(folder))


def leads_to_file(entry: os.DirEntry[str]) -> bool:
    return is_file(entry.path) if entry.is_symlink() else entry.is_file(follow_symlinks=False)


def leads_to_folder(entry: os.DirEntry[str]) -> bool:
    return is_folder(entry.path) if entry.is_symlink() else entry.is_dir(follow_symlinks=False)


def walk(folder: str) -> Iterator[str]:
    """Every file below a folder, in a fixed order. Links to folders are not followed."""
    try:
        found = sorted(entries(folder), key=lambda entry: entry.name)
    except OSError:
        return
    below = []
    for entry in found:
        if not leads_to_folder(entry):
            yield entry.path
        elif not entry.is_symlink():
            below.append(entry.path)
    for path in below:
        yield from walk(path)


def matching(folder: str, pattern: str) -> Iterator[str]:
    """The paths below a folder that a pattern of the shell fits, in a fixed order; `*` takes no hidden file."""
    import fnmatch

    first, _, rest = pattern.partition("/")
    if any(char in first for char in "*?["):
        try:
            found = [name for name in names(folder) if fnmatch.fnmatch(name, first)]
        except OSError:
            return
        found = [name for name in found if first.startswith(".") or not name.startswith(".")]
    else:
        found = [first]
    for name in found:
        path = os.path.join(folder, name)
        if rest:
            yield from matching(path, rest)
        elif exists(path):
            yield path


# -- the environment --------------------------------------------------------------------------------------------------


def variable(name: str) -> str:
    """An environment variable, "" where it is not set."""
    value = os.environ.get(name)
    if _record is not None:
        _record.variables[name] = value
    return value or ""


def _ask(question: str, path: str) -> str:
    answer = QUESTIONS[question](path)
    if _record is not None and "\0" not in path:  # nothing can stand there
        _record.note_answer(question, path, answer)
    return answer
