"""Where the entries of a cache stand, and which of them are our own: what showing and bringing them share."""

from __future__ import annotations

import os
import zlib

from trl_lint import __version__
from trl_lint.cache.entry import Entry, read_entry
from trl_lint.stamps import QUESTIONS

NAME = ".trl_lint_cache"
VERSION = f"trl-lint-{__version__}"
SUFFIX = ".report"


def entry_path(folder: str, key: list[str], place: list[str]) -> str:
    """Where the entry of a key and a place stands in a cache folder. Two may meet there: an entry holds them whole."""
    return os.path.join(folder, VERSION, f"{key_prefix(key)}{_number([place[0], *place[2:]])}{SUFFIX}")


def key_prefix(key: list[str]) -> str:
    """What the names of all entries of a key begin with."""
    return f"{_number(key)}-"


def _number(texts: list[str]) -> str:
    return f"{zlib.crc32(chr(0).join(texts).encode('utf-8', 'surrogatepass')):08x}"


def own_entry(path: str, key: list[str], place: list[str]) -> Entry | None:
    """The entry at a path, if it was written there and here, for this key and place."""
    entry = None if is_through_link(path) else read_entry(path)
    if entry is None or not entry.is_own or entry.key != key:
        return None
    return entry if entry.place[0] == place[0] and entry.place[2:] == place[2:] else None


def is_through_link(path: str) -> bool:
    """Whether the way to an entry leads through a link, which may lead out of the tree."""
    inner = os.path.dirname(path)
    folder = os.path.dirname(inner)
    return (os.path.basename(folder) == NAME and os.path.islink(folder)) or os.path.islink(inner)


def still_answered(entry: Entry) -> bool:
    """Whether variables and paths give the answers that they gave."""
    for name, value in entry.variables:
        now = os.environ.get(name)
        if value != ("" if now is None else f"={now}"):
            return False
    return all(QUESTIONS[question](path) == answer for question, path, answer in entry.answers)
