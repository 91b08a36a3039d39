"""What a process that checks one file after the other keeps between two of them, and when it looks at the disk again.

The language server and the flake8 plugin keep the same. Nobody tells flake8 what has changed: a run that goes from file
to file sees one state of its project. Where somebody comes back to a file, or after a break, everything that the
results rest on is looked at again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from trl_lint import tracked
from trl_lint.baseline import Baseline
from trl_lint.engine import Result
from trl_lint.finding import Finding
from trl_lint.settings import Said, Settings, find_config, load
from trl_lint.settings_file import NOTHING_UNSAVED, Unsaved
from trl_lint.sources import SourceFile
from trl_lint.workspace import Workspace

_MAX_CONTEXTS = 4
# At most every fifth second goes into looking for changes, however large the tree is.
_PAUSE = 4
# How long nobody asks for a file before somebody may have worked meanwhile.
_BREAK_SECONDS = 1.0


class Kept:
    """The settings of some files as they were read, the baseline that they name, and the workspace under them.

    `said` is what they are told beside their files, as on a command line; `overlays` as of a `Workspace`; `unsaved` are
    those that count as settings. Raises SettingsError, BaselineError.
    """

    def __init__(
        self,
        config: str | None,
        said: Said,
        overlays: Mapping[str, bytes] | None = None,
        unsaved: Unsaved = NOTHING_UNSAVED,
    ) -> None:
        self._record = tracked.Record()
        with tracked.recording(self._record):
            # A client names files one by one, and some of those it found by itself: what is excluded stays excluded.
            self.settings: Settings = load(config, {"force-exclude": True, **said}, unsaved)
            self.baseline: Baseline | None = _baseline(self.settings)
        self.workspace = Workspace(self.settings, overlays, tracked.Record())

    def look_again(self) -> bool:
        """Take in what has changed on the disk; False if the settings have, so that this is of no use any more."""
        changed, is_moved = self._record.renew()
        if changed or is_moved:
            return False
        self.workspace.look_again()
        return True

    def shown(self, path: str, result: Result, hints: bool = False) -> list[Finding]:
        """The findings of a result that are in a file and are shown: those that no baseline knows, and hints only if
        the settings ask for them, or `hints` does.
        """
        found = result.findings if self.baseline is None else self.baseline.new(result.findings, result.files)
        hints = hints or self.settings.hints or self.settings.fail_on == "info"
        return [one for one in found if one.location.path == path and (hints or one.severity != "info")]


class Context(Kept):
    """What is kept for a client that names one file after the other, and never says what has changed."""

    def __init__(self, config: str | None, ignore_noqa: bool) -> None:
        super().__init__(config, {"ignore-noqa": ignore_noqa})
        self.settings.wants_edits = False
        self._checked: set[str] = set()
        self._last_use = time.monotonic()
        self._next_look = 0.0

    def use(self, path: str) -> None:
        """Remember that a file is checked now."""
        self._checked.add(path)
        self._last_use = time.monotonic()

    def is_due(self, path: str) -> bool:
        """Whether it is time for a look at the disk before a file is checked."""
        now = time.monotonic()
        is_back = path in self._checked or now - self._last_use > _BREAK_SECONDS
        return is_back and now >= self._next_look

    def look_again(self) -> bool:
        """As of `Kept`; the next look is due after some time."""
        began = time.monotonic()
        is_valid = super().look_again()
        now = time.monotonic()
        self._next_look = now + _PAUSE * (now - began)
        return is_valid

    def check(self, file: SourceFile) -> Result:
        """Check a file as it is on disk, with its tree if there is one."""
        held = self.workspace.files.put(file)
        if held.data != file.data:  # it was read for its project's sake, and has changed since the last look
            self.workspace.look_again()
            held = self.workspace.files.put(file)
        held.tree = file.tree
        try:
            return self.workspace.check([file.path])
        finally:
            held.tree = None  # findings and comments keep a file, but nobody asks for its tree again

    def check_text(self, path: str, data: bytes) -> Result:
        """Check a file as if it held this; for all other files it holds what is on disk."""
        self.workspace.change({path: data})
        try:
            return self.workspace.check([path])
        finally:
            self.workspace.change({path: None})


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
        if context is None or not context.look_again():
            context = Context(key[0], ignore_noqa)
    context.use(path)
    _contexts[key] = context  # the one used last stays longest
    while len(_contexts) > _MAX_CONTEXTS:
        del _contexts[next(iter(_contexts))]
    return context


def forget() -> None:
    """Read everything anew when it is asked for again."""
    _contexts.clear()


def _baseline(settings: Settings) -> Baseline | None:
    if settings.baseline is None:
        return None
    from trl_lint.baseline import read_baseline

    return read_baseline(settings.baseline)
