"""Proving that the commands of a repaired file are still understood: as many as before, and the same programs."""

from __future__ import annotations

from collections import Counter

from trl_lint.project.launch import Launch
from trl_lint.project.launches import holds_launches, read_launches
from trl_lint.sources import SourceError, SourceFile

# How a program is named by a command: its file or module, or the subcommand of its launcher.
_Program = tuple[str, tuple[str, ...]]


def launches_objection(before: SourceFile, after: SourceFile) -> str | None:
    """Why the launches of a file must not become these, None if nothing speaks against it.

    Only a file that holds launches is read; what was not understood before need not be understood now.
    """
    if not holds_launches(before.path):
        return None
    try:
        old, new = read_launches(before), read_launches(after)
    except SourceError:
        return None  # said by the checks of its language
    if len(old) != len(new):
        return f"it would start {len(new)} programs instead of {len(old)}"
    lost = Counter(map(_program, old)) - Counter(map(_program, new))
    for (name, _), _ in lost.items():
        if name:
            return f"the command that starts `{name}` could not be read any more"
    return None


def _program(launch: Launch) -> _Program:
    """What a launch runs; the name is empty where that is not known."""
    word = launch.script
    name = launch.module or (word.text if word is not None else None) or launch.subcommand or ""
    return name, launch.candidates
