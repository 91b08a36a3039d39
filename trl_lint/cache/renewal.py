"""Paths whose times have changed: after a checkout of the same commit they hold what they held before."""

from __future__ import annotations

import os
import stat
import time

from trl_lint.cache.entry import CONTENTS, NAMES, SIZE, Entry, write_entry
from trl_lint.stamps import CACHES, digest_of, kind_of_entry, lasting, listing_digest, opened, stamp_of


def renewed(entry: Entry, changed: list[int], path: str) -> Entry | None:
    """The entry, if the paths whose stamps have changed hold the same as before; the file at `path` is renewed, too."""
    began = time.time_ns()
    better = False
    for number in changed:
        kind, name, before, digest = entry.looks[number]
        try:
            now = looked_again(kind, name, digest)
        except (OSError, ValueError):
            return None
        if not digest or now is None or now[1] != digest:
            return None
        stamp = lasting(now[0], began)
        better = better or stamp != before
        entry.looks[number] = kind, name, stamp, digest
    if better:
        write_entry(path, entry)
    return entry


def looked_again(kind: str, path: str, before: str) -> tuple[str, str] | None:
    """Stamp and digest of a path today; None if it can have none. `before` is the digest that it had."""
    status = os.stat(path)
    if kind == CONTENTS and stat.S_ISREG(status.st_mode):
        if before.startswith(SIZE):
            return stamp_of(status), f"{SIZE}{status.st_size}"
        with opened(path) as stream:
            return stamp_of(os.fstat(stream.fileno())), digest_of(stream.read())
    if kind == NAMES:
        with os.scandir(path) as listing:
            found = {entry.name: kind_of_entry(entry) for entry in listing if entry.name not in CACHES}
            return stamp_of(status), listing_digest(found)
    return None
