"""`--show-files` and `--show-settings`: what a run would look at, and by which settings, without the run."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from trl_lint.commands import UsageError
from trl_lint.commands.outcome import Group
from trl_lint.options import SETTINGS
from trl_lint.paths import relative_to
from trl_lint.reports import visible
from trl_lint.selection import known_codes
from trl_lint.settings import Settings
from trl_lint.settings_file import Reader
from trl_lint.streams import say

_MOST_NAMED = 12


def show_files(groups: Sequence[Group], args: argparse.Namespace) -> int:
    """Print the files that would be checked, one on a line; the exit status. Raises UsageError for a missing path."""
    from trl_lint.project.discovery import collect

    here = os.getcwd()
    found: dict[str, None] = {}
    for group in groups:
        files, missing = collect(group.paths, group.settings)
        for path, reason in missing:
            raise UsageError(f"{visible(path)}: {reason}")
        found.update(dict.fromkeys(visible(relative_to(path, here)) for path, _ in files))
    say(*sorted(found), to="stdout")
    return 0


def show_settings(groups: Sequence[Group], args: argparse.Namespace) -> int:
    """Print the settings of each group of paths as TOML, with where each comes from; the exit status."""
    for number, group in enumerate(groups):
        blank = [""] if number else []
        paths = ", ".join(visible(relative_to(os.path.abspath(path), os.getcwd())) for path in group.paths)
        say(*blank, f"# of {paths}", *_lines(group.settings, args), to="stdout")
    return 0


def _lines(settings: Settings, args: argparse.Namespace) -> list[str]:
    reader = Reader(settings.config, is_named=args.config is not None) if settings.config is not None else None
    written = reader.read() if reader is not None else {}
    rows = []
    for name, one in SETTINGS.items():
        said = getattr(args, one.attribute, None)
        if said is not None:
            rows.append((f"{name} = {_toml(said)}", "the command line"))
        elif reader is not None and name in written:
            rows.append((f"{name} = {_toml(written[name])}", relative_to(reader.origins[name], os.getcwd())))
        elif one.otherwise is not None:
            rows.append((f"{name} = {_toml(one.otherwise)}", "the default"))
    width = max((len(text) for text, _ in rows), default=0)
    off = [code for code in known_codes() if not settings.is_selected(code)]
    more = f" and {len(off) - _MOST_NAMED} more" if len(off) > _MOST_NAMED else ""
    shown = (f"{text:<{min(width, 60)}}  # {origin}" for text, origin in rows)
    return [*shown, f"# rules that are off: {', '.join(off[:_MOST_NAMED]) or 'none'}{more}"]


def _toml(value: Any) -> str:
    """A value as TOML spells it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
