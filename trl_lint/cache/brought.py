"""Reports that came from elsewhere: with a cache that CI restores, or a tree that somebody copied.

The system's words on a file, its times and its number, say nothing then: what a report rests on is read again and
compared. And somebody may have put a report into the repository that is checked, to be shown in place of what there is
to say: what the repository holds is not believed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from trl_lint.cache.entry import CONTENTS, STAMP, Entry, read_entry, write_entry
from trl_lint.cache.renewal import looked_again
from trl_lint.cache.shelf import entry_path, is_through_link, key_prefix, still_answered
from trl_lint.cache.tool import tool_identity, tool_looks
from trl_lint.stamps import NOTHING, lasting, stamp_of

# A folder that many trees share has many reports; those of other questions are passed by their names.
_MOST_TRIED = 8
_LARGEST_INDEX = 100_000_000
# What else keeps a working tree; which files of it are its own, we cannot tell.
_OTHER_REPOSITORIES = (".hg", ".jj", ".svn", ".sl", ".bzr", ".fslckout", "_darcs", ".pijul")


def brought_report(folder: str, key: list[str], place: list[str]) -> Entry | None:
    """A report that holds here as it stands, kept from now on as our own."""
    for entry, changed in brought_entries(folder, key, place):
        if not changed:
            write_entry(entry_path(folder, key, place), entry)
            return entry
    return None


def brought_entries(folder: str, key: list[str], place: list[str]) -> Iterator[tuple[Entry, set[str]]]:
    """The entries from elsewhere that may hold here, as they read here, each with the files that have changed.

    Their looks have today's stamps and digests, so they can be kept.
    """
    names = _candidates(folder, key, place)
    if not names or is_through_link(entry_path(folder, key, place)):
        return
    may_be_believed: bool | None = None
    tool: str | None = None
    for name in names:
        entry = read_entry(os.path.join(os.path.dirname(entry_path(folder, key, place)), name), place[0])
        if entry is None or entry.key != key:
            continue
        if may_be_believed is None:
            may_be_believed = is_believable(folder)
        if not may_be_believed:
            return
        if not all(_is_plain(text) for _, text in entry.output):
            continue
        if not _is_same_tool(entry, place):
            if tool is None:
                tool = tool_identity(place[2:])
            if not tool or entry.tool != tool:
                continue
        entry.place = [*entry.place[:2], *place[2:]]
        changed = _changed(entry) if _settles(entry) and still_answered(entry) else None
        if changed is not None:
            yield entry, changed


def _candidates(folder: str, key: list[str], place: list[str]) -> list[str]:
    """The names of the entries that may be about the question; the one with the name of our own first."""
    own = entry_path(folder, key, place)
    prefix = key_prefix(key)
    try:
        names = [name for name in os.listdir(os.path.dirname(own)) if name.startswith(prefix)]
    except OSError:
        return []
    return sorted(names, key=lambda name: (name != os.path.basename(own), name))[:_MOST_TRIED]


# -- whom to believe --------------------------------------------------------------------------------------------------


def is_believable(folder: str) -> bool:
    """Whether what stands in a cache folder was not brought by the repository that is checked.

    So it is where git keeps no file of that folder: all of it was put there by somebody who owns the cache. Without a
    repository around it, it may have come in an archive that strangers packed, unless it stands apart from the working
    folder; and in CI the working folder has to be in a repository then.
    """
    folder = os.path.realpath(folder)
    path, last = folder, ""
    is_told = False
    while path != last:
        if any(os.path.lexists(os.path.join(path, name)) for name in _OTHER_REPOSITORIES):
            return False
        if os.path.lexists(os.path.join(path, ".git")):
            if not _is_kept_out(os.path.relpath(folder, path), os.path.join(path, ".git")):
                return False
            is_told = True
        path, last = os.path.dirname(path), path
    is_apart = not _is_below(folder, os.path.realpath(os.getcwd()))
    return is_told or (is_apart and (not os.environ.get("CI") or _is_in_git(os.getcwd())))


def _is_in_git(path: str) -> bool:
    last = ""
    while path != last and not os.path.lexists(os.path.join(path, ".git")):
        path, last = os.path.dirname(path), path
    return path != last


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _is_kept_out(inner: str, git: str) -> bool:
    """Whether a repository has no file under a path in it; `git` is its folder or the file that leads there."""
    if inner == os.curdir:
        return False
    data = _index(git)
    if data == b"":
        return True  # nothing was added yet
    # Paths stand in the index as they are, in versions 2 and 3; version 4 leaves out what they begin with alike. A
    # split index (`link`) has most of them in another file. https://git-scm.com/docs/index-format
    if data is None or data[:4] != b"DIRC" or data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3") or b"link\0\0" in data:
        return False
    # Where letters of either case are the same file, any of them may have been written.
    return os.fsencode(inner).replace(os.fsencode(os.sep), b"/").lower() not in data.lower()


def _index(git: str) -> bytes | None:
    """The list of files that a repository keeps, b"" where there is none yet, None where it cannot be read."""
    try:
        if os.path.isfile(git):
            with open(git, encoding="utf-8") as stream:
                target = stream.read(4096).partition("gitdir:")[2].strip()
            git = os.path.join(os.path.dirname(git), target)
        path = os.path.join(git, "index")
        if os.path.isdir(git) and not os.path.lexists(path):
            return b""
        if os.path.getsize(path) > _LARGEST_INDEX:
            return None
        with open(path, "rb") as data:
            return data.read()
    except (OSError, ValueError):
        return None


def _is_plain(text: str) -> bool:
    """Whether a text holds nothing that drives a terminal: a report that was piped has no colours."""
    return text.replace("\n", "").replace("\t", "").isprintable()


# -- what still holds -------------------------------------------------------------------------------------------------


def _is_same_tool(entry: Entry, place: list[str]) -> bool:
    """Whether the very files of the tool that wrote an entry are still in their places, and Python looks there."""
    if entry.place[2:] != place[2:]:
        return False
    try:
        return all(stamp_of(os.stat(path)) == stamp for kind, path, stamp, _ in entry.looks if kind == STAMP)
    except (OSError, ValueError):
        return False


def _settles(entry: Entry) -> bool:
    """Let an entry ask what a run would ask about paths outside the base, where that is now; False if nobody can tell.

    A path outside may have been reached from the base, upwards, or have been named in full: both are asked about. What
    was looked for all the way up is looked for all the way up.
    """
    before, now = entry.was_based, entry.place[1]
    if before == now:
        return True
    if entry.is_bound:
        return False
    outside = [(question, path) for question, path, _ in entry.answers if not _is_below(path, now)]
    asked = dict.fromkeys(outside)
    for question, path in outside:
        asked[question, os.path.normpath(os.path.join(now, os.path.relpath(path, before)))] = None
    above = before
    while above != os.path.dirname(above):
        above = os.path.dirname(above)
    names = {(question, os.path.basename(path)) for question, path in outside if os.path.dirname(path) == above}
    while now != os.path.dirname(now):
        now = os.path.dirname(now)
        asked.update(dict.fromkeys((question, os.path.join(now, name)) for question, name in names))
    inside = [answer for answer in entry.answers if answer[:2] not in asked]
    # Whoever found something outside is bound to its place.
    entry.answers = [*inside, *((question, path, NOTHING) for question, path in asked)]
    return True


def _changed(entry: Entry) -> set[str] | None:
    """The files with other contents than those that an entry rests on; None where more than that has changed."""
    began = time.time_ns()
    changed = set()
    looks = []
    for kind, path, _, digest in entry.looks:
        if kind == STAMP:
            continue
        try:
            now = looked_again(kind, path, digest)
        except (OSError, ValueError):
            return None
        if now is None or not digest:
            return None
        if now[1] == digest:
            looks.append((kind, path, lasting(now[0], began), digest))
        elif kind == CONTENTS:
            changed.add(path)
            looks.append((kind, path, "", digest))
        else:
            return None
    entry.looks = [*looks, *tool_looks()]
    return changed
