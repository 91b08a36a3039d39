"""The state of a path in a few words. Every warm run imports this, so it imports next to nothing."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FILE, FOLDER, LINK, OTHER, NOTHING = "f", "d", "l", "o", "-"
# A file that changed so shortly before a look may change again without its times showing it: clocks of file systems
# tick every few milliseconds, those of FAT and of some servers every two seconds.
_TICK_NS = 2_000_000_000


def kind_of(path: str) -> str:
    """What a path leads to."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return NOTHING
    return FILE if stat.S_ISREG(mode) else FOLDER if stat.S_ISDIR(mode) else OTHER


def link_kind_of(path: str) -> str:
    """What stands at a path, without following it."""
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return NOTHING
    return LINK if stat.S_ISLNK(mode) else FILE if stat.S_ISREG(mode) else FOLDER if stat.S_ISDIR(mode) else OTHER


def _real(path: str) -> str:
    return os.path.realpath(path)


# What may be asked about a path without reading it: the cache asks again.
QUESTIONS: dict[str, Callable[[str], str]] = {"kind": kind_of, "link": link_kind_of, "real": _real}


def stamp_of(status: os.stat_result) -> str:
    """What changes when a file or folder does: also the time of the change itself, which nobody can set back."""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def lasting(stamp: str, began: int) -> str:
    """A stamp; "" if a change right after our look, which began at that time, need not alter it."""
    times = [int(number) for number in stamp.split()[1:3]]
    return "" if max(times) > began - _TICK_NS else stamp
