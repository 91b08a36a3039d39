"""The state of a path in a few words. Every warm run imports this, so it imports next to nothing."""

from __future__ import annotations

import errno
import os
import stat
from io import FileIO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FILE, FOLDER, LINK, OTHER, NOTHING = "f", "d", "l", "o", "-"
# A file that changed so shortly before a look may change again without its times showing it. Clocks of file systems
# tick at least every ten milliseconds, apart from those that show round numbers only: FAT counts in two seconds.
_TICK_NS = 100_000_000
_COARSE_TICK_NS = 2_100_000_000
_ROUND_NS = 10_000_000
_DIGEST_BYTES = 16
# What tools leave in the folders they work in.
CACHES = frozenset(("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".trl_lint_cache"))
# Names of folders that rules and readers go by, wherever in a path they stand.
_MEANINGS = frozenset(("test", "tests", "testing", "requirements", "requirement", "reqs", "constraints"))
NO_FILE = "Not a regular file"
IS_WINDOWS = os.sep == "\\"
_NOT_WAITING = getattr(os, "O_NONBLOCK", 0)


def opened(path: str) -> FileIO:
    """A file, to be read. Raises OSError, also for what is no file: a pipe would keep us waiting, a device for ever.

    What stands at a path may change between a look and the opening, so the file that is open is asked.
    """
    refuse_away(path)
    stream = FileIO(path, opener=_at_once)
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, NO_FILE, path)
    return stream


def refuse_away(path: str) -> None:
    """Raises OSError for a name that leads to another computer or to a device: there is no such file."""
    if _leads_away(path):
        raise OSError(errno.ENOENT, "No such file: its name leads to another computer or to a device", path)


def _leads_away(path: str) -> bool:
    if not IS_WINDOWS:
        return False
    from trl_lint.windows import leads_away

    return leads_away(path)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | _NOT_WAITING)


def kind_of(path: str) -> str:
    """What a path leads to."""
    try:
        refuse_away(path)
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return NOTHING
    return FILE if stat.S_ISREG(mode) else FOLDER if stat.S_ISDIR(mode) else OTHER


def link_kind_of(path: str) -> str:
    """What stands at a path, without following it."""
    try:
        refuse_away(path)
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return NOTHING
    return LINK if stat.S_ISLNK(mode) else FILE if stat.S_ISREG(mode) else FOLDER if stat.S_ISDIR(mode) else OTHER


def _real(path: str) -> str:
    return path if _leads_away(path) else os.path.realpath(path)


def _alike(path: str) -> str:
    """The name of a folder, if the last part of a path may be meant for it, as `verl` for `verl-main`; else ""."""
    folder, text = os.path.split(path)
    name = os.path.basename(folder)
    ours, meant = _letters(name), _letters(text)
    return name if ours.startswith(meant) or ours.endswith(meant) else ""


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _meaning(path: str) -> str:
    """What the names of the folders around a path say about all that is in it."""
    return " ".join(sorted(_MEANINGS.intersection(path.lower().replace("\\", "/").split("/"))))


# What may be asked about a path without reading it: the cache asks again.
QUESTIONS: dict[str, Callable[[str], str]] = {
    "kind": kind_of, "link": link_kind_of, "real": _real, "alike": _alike, "meaning": _meaning,
}  # fmt: skip


def stamp_of(status: os.stat_result) -> str:
    """What changes when a file or folder does: also the time of the change itself, which nobody can set back."""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def lasting(stamp: str, began: int) -> str:
    """A stamp; "" if a change right after our look, which began at that time, need not alter it."""
    _, modified, changed, _ = map(int, stamp.split())
    tick = _TICK_NS if changed % _ROUND_NS else _COARSE_TICK_NS
    return "" if max(modified, changed) > began - tick else stamp


def kind_of_entry(entry: os.DirEntry[str]) -> str:
    """What stands under a name in a folder, without following it."""
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return FOLDER
    return FILE if entry.is_file(follow_symlinks=False) else OTHER


def listing_digest(found: dict[str, str]) -> str:
    """A digest of the names in a folder and of what stands under each."""
    return digest_of("\n".join(f"{name}\0{found[name]}" for name in sorted(found)).encode("utf-8", "surrogateescape"))


def digest_of(data: bytes) -> str:
    from hashlib import blake2b

    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()
