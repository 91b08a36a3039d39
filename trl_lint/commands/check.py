"""`trl-lint check`: with the report of an earlier run where nothing has changed, else with a run of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.cache.replay import is_off
from trl_lint.commands import UsageError
from trl_lint.settings_file import SettingsError

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace) -> int:
    """Check what the command line asks for; the exit status. Raises UsageError."""
    try:
        if not _may_be_kept(args):
            from trl_lint.commands.check_run import CheckRun

            return CheckRun(args, None).run()
        from trl_lint.commands.kept import run_kept

        return run_kept(args)
    except SettingsError as error:
        raise UsageError(str(error)) from None


def _may_be_kept(args: argparse.Namespace) -> bool:
    """Whether the command line asks for a report that is the same as long as nothing changes, and for no more."""
    does_more = args.fix or args.diff or args.add_noqa is not None or args.write_baseline
    does_more = does_more or args.since is not None or args.show_files or args.show_settings
    return not (does_more or args.no_cache or is_off() or args.verbose or "-" in args.paths)
