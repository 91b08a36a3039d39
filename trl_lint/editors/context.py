"""What a process that checks one file after the other keeps between two of them, and when that is out of date.

A project is read once for all its files. A run that goes from file to file sees one state of it. Where somebody comes
back to a file, or after a break, every file and folder that it was read from is looked at again: if one has changed,
come or gone, everything is read anew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from trl_lint import tracked
from trl_lint.baseline import Baseline
from trl_lint.engine import Result, Shared, check
from trl_lint.project.discovery import is_source, listings
from trl_lint.records import NamedTuple
from trl_lint.settings import Settings, find_config, load
from trl_lint.sources import Files, SourceFile

_MAX_CONTEXTS = 4
# The clock of a file system is coarser than ours.
_GRAIN_NS = 20_000_000
# At most every fifth second goes into looking for changes, however large the tree is.
_PAUSE = 4
# How long nobody asks for a file before somebody may have worked meanwhile.
_BREAK_SECONDS = 1.0


class Stamp(NamedTuple):
    """What tells that a file or a folder is still the same."""

    modified: int
    size: int
    inode: int


Stamps = dict[str, Stamp | None]  # None: it is not there


class Context:
    """Settings and projects as they were read; `stamps` are those of everything behind them."""

    def __init__(self, config: str | None, ignore_noqa: bool) -> None:
        self.stamps: Stamps = _stamps_of([config] if config else [])
        # A client names files one by one, and some of those it found by itself: what is excluded stays excluded.
        self.settings: Settings = load(config, {"force-exclude": True, "ignore-noqa": ignore_noqa})
        self.settings.wants_edits = False
        if self.settings.baseline:
            self.stamps.update(_stamps_of([self.settings.baseline]))
        self.baseline: Baseline | None = _baseline(self.settings)
        self.shared = Shared(Files(), {})
        self._watched: set[str] = set()
        self._checked: set[str] = set()
        self._last_use = time.monotonic()
        self._next_look = 0.0

    def use(self, path: str) -> None:
        """Remember that a file is checked now."""
        self._checked.add(path)
        self._last_use = time.monotonic()

    def is_due(self, path: str) -> bool:
        """Whether it is time for a look before a file is checked."""
        now = time.monotonic()
        is_back = path in self._checked or now - self._last_use > _BREAK_SECONDS
        return is_back and now >= self._next_look

    def is_fresh(self) -> bool:
        """Whether everything is as it was."""
        began = time.monotonic()
        fresh = all(_stamp(path) == stamp for path, stamp in self.stamps.items())
        now = time.monotonic()
        self._next_look = now + _PAUSE * (now - began)
        return fresh

    def check(self, file: SourceFile) -> Result:
        """Check a file as it is on disk, with its tree if there is one."""
        began = time.time_ns()
        held = self.shared.files.put(file)
        if held.data != file.data:  # it was read for its project's sake, and has changed since the last look
            self.shared = Shared(Files(), {})
            self._watched.clear()
            held = self.shared.files.put(file)
        held.tree = file.tree
        try:
            result = check([file.path], self.settings, shared=self.shared)
        finally:
            held.tree = None  # findings and comments keep a file, but nobody asks for its tree again
        for root in self.shared.projects.keys() - self._watched:
            found = dict(_stamps_below(root, self.settings))
            now = time.time_ns()  # a date in the future is a wrong clock's, and says nothing
            if any(stamp and began - _GRAIN_NS < stamp.modified <= now for stamp in found.values()):
                forget(self)  # it changed while it was read: that may be half of it
            self.stamps.update(found)
            self._watched.add(root)
        # What was read beyond: a list of requirements above the project, a config in an excluded folder.
        self.stamps.update(_stamps_of([p for p in self.shared.files.opened() if p not in self.stamps]))
        self.use(file.path)
        return result


_contexts: dict[tuple[str | None, str, bool], Context] = {}
_here = ""


def context_for(path: str, ignore_noqa: bool = False) -> Context:
    """The context of an absolute path; with `ignore_noqa` no comment counts. Raises SettingsError, BaselineError."""
    global _here
    here = os.getcwd()
    if here != _here:
        tracked.forget()
        _here = here
    key = (find_config(os.path.dirname(path)), here, ignore_noqa)
    context = _contexts.pop(key, None)
    if context is None or context.is_due(path):
        tracked.forget()
        if (found := (find_config(os.path.dirname(path)), here, ignore_noqa)) != key:
            key, context = found, _contexts.pop(found, None)
        if context is None or not context.is_fresh():
            context = Context(key[0], ignore_noqa)
    context.use(path)
    _contexts[key] = context  # the one used last stays longest
    while len(_contexts) > _MAX_CONTEXTS:
        del _contexts[next(iter(_contexts))]
    return context


def forget(context: Context | None = None) -> None:
    """Read a context anew when it is asked for again; without one, all of them."""
    for key in [key for key, known in _contexts.items() if context in (None, known)]:
        del _contexts[key]


def _baseline(settings: Settings) -> Baseline | None:
    if settings.baseline is None:
        return None
    from trl_lint.baseline import read_baseline

    return read_baseline(settings.baseline)


def _stamps_of(paths: Iterable[str]) -> Stamps:
    return {path: _stamp(path) for path in paths}


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)


def _stamps_below(root: str, settings: Settings) -> Iterator[tuple[str, Stamp | None]]:
    """Every folder of a project, and every file in it that some rule may read."""
    for folder, entries in listings(root, settings):
        yield folder, _stamp(folder)
        for entry in entries or ():
            with suppress(OSError):
                # A name without a suffix may be a script, and what git ignores a rule wants to know too.
                if (is_source(entry.path) or "." not in entry.name.lstrip(".")) and entry.is_file():
                    yield entry.path, _stamp(entry.path)
