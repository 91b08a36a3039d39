"""What a command that is no check could not read: a check has findings and notes for that."""

from __future__ import annotations

import os
from collections.abc import Mapping

from trl_lint import tracked
from trl_lint.reports import Report
from trl_lint.sources import Files
from trl_lint.streams import say


def say_unread(unread: Mapping[str, OSError]) -> bool:
    """Say on standard error what is there and could not be read or listed; whether there is anything."""
    report = Report([], [], Files(), os.getcwd())
    for path, error in sorted(unread.items()):
        say(f"trl-lint: {report.path(path)}: cannot be read: {tracked.reason(error)}; make it readable")
    return bool(unread)
