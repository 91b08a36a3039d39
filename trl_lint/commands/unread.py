"""What a command that is no check could not read: a check has findings and notes for that."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from trl_lint import tracked
from trl_lint.reports import Report, visible
from trl_lint.sources import Files


def say_unread(unread: Mapping[str, OSError]) -> bool:
    """Say on standard error what is there and could not be read or listed; whether there is anything."""
    report = Report([], [], Files(), os.getcwd())
    for path, error in sorted(unread.items()):
        place = visible(report.path(path))
        print(f"trl-lint: {place}: cannot be read: {tracked.reason(error)}; make it readable", file=sys.stderr)
    return bool(unread)
