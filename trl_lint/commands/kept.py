"""A check whose report is kept, shown again where nothing has changed, or made from the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint import tracked
from trl_lint.cache.folder import cache_folder, clean, is_there, prepare
from trl_lint.cache.replay import entry_in, show
from trl_lint.cache.store import Memory
from trl_lint.commands.check_run import CheckRun

if TYPE_CHECKING:
    import argparse


def run_kept(args: argparse.Namespace) -> int:
    """Check what the command line asks for; the exit status. Raises UsageError, SettingsError."""
    memory = Memory(args.given)
    with tracked.recording(memory.record):
        this = CheckRun(args, memory)
        folder = cache_folder(this.settings, args.cache_dir)
        is_new = not is_there(folder)
        # The folder is made before anything is listed: it may stand among what is checked.
        if this.settings.fix or not prepare(folder):
            return this.run()
        entry = entry_in(folder, memory.key, memory.place) if this.settings.cache_dir else None
        status = show(entry, memory.arguments) if entry is not None else None
        if status is not None:
            return status
        status = _run_and_keep(this, folder, memory)
        if is_new and not this.is_concerned:
            clean(folder)  # where there is nothing to check, nothing is left
        return status


def _run_and_keep(this: CheckRun, folder: str, memory: Memory) -> int:
    from trl_lint.cache.reuse import earlier_run

    found = earlier_run(folder, memory.key, memory.place) if len(this.groups) == 1 else None
    entry, this.earlier = found or (None, None)
    status = this.run()
    if status != 2:
        memory.keep(folder, status, this.parts, entry if this.is_part else None)
    return status
