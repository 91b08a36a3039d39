"""An earlier run of the same kind, of which a new one may re-use what rests on nothing that has changed."""

from __future__ import annotations

import time

from trl_lint.cache.brought import brought_entries
from trl_lint.cache.entry import CONTENTS, Entry
from trl_lint.cache.parts import Parts, decoded
from trl_lint.cache.renewal import looked_again
from trl_lint.cache.replay import restamped
from trl_lint.cache.shelf import entry_path, own_entry, still_answered
from trl_lint.records import NamedTuple
from trl_lint.stamps import lasting


class Earlier(NamedTuple):
    """What an earlier run came to. Of all that it rests on, only the files `changed` hold something else now."""

    parts: Parts
    changed: frozenset[str]


def earlier_run(folder: str, key: list[str], place: list[str]) -> tuple[Entry, Earlier] | None:
    """The entry of a key, if since then at most the contents of files have changed, and the tool has not.

    What has changed is taken out of the entry; what has another date only gets it.
    """
    entry = own_entry(entry_path(folder, key, place), key, place)
    found = [(entry, _changed(entry))] if entry is not None else brought_entries(folder, key, place)
    for entry, changed in found:
        parts = decoded(entry.parts, entry.place[1]) if changed is not None and entry.parts else None
        if parts is not None and changed is not None:
            return entry, Earlier(parts, frozenset(changed))
    return None


def _changed(entry: Entry) -> set[str] | None:
    """The files with other contents than those that our own entry rests on; None where more has changed."""
    if not still_answered(entry):
        return None
    began = time.time_ns()
    changed = set()
    for number in restamped(entry):
        kind, name, _, digest = entry.looks[number]
        try:
            now = looked_again(kind, name, digest)
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
    return changed
