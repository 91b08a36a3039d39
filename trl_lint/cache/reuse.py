"""An earlier run of the same kind, of which a new one may re-use what rests on nothing that has changed."""

from __future__ import annotations

import os
import time

from trl_lint.cache.entry import CONTENTS, Entry, read_entry
from trl_lint.cache.parts import decoded
from trl_lint.cache.renewal import looked_again
from trl_lint.cache.replay import NAME, entry_path, restamped, still_answered
from trl_lint.engine import Earlier
from trl_lint.stamps import lasting


def earlier_run(folder: str, key: list[str]) -> tuple[Entry, Earlier] | None:
    """The entry of a key, if since then at most the contents of files have changed, and the tool has not.

    What has changed is taken out of the entry; what has another date only gets it.
    """
    path = entry_path(folder, key)
    if (os.path.basename(folder) == NAME and os.path.islink(folder)) or os.path.islink(os.path.dirname(path)):
        return None
    entry = read_entry(path)
    if entry is None or entry.key != key or not entry.parts or not still_answered(entry):
        return None
    began = time.time_ns()
    changed = set()
    for number in restamped(entry):
        kind, name, _, digest = entry.looks[number]
        try:
            now = looked_again(kind, name)
        except (OSError, ValueError):
            return None
        if not digest or now is None:
            return None
        if now[1] == digest:
            entry.looks[number] = kind, name, lasting(now[0], began), digest
        elif kind == CONTENTS:
            changed.add(name)
        else:
            return None
    parts = decoded(entry.parts)
    if parts is None:
        return None
    return entry, Earlier(parts, frozenset(changed))
