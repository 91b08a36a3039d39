"""From the parsed command line to settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.options import OPTIONS, SETTINGS, Setting
from trl_lint.reports import FORMATS, visible
from trl_lint.selection import SelectorError, read_selectors
from trl_lint.settings import PerFileIgnore, Said, Settings, per_file_ignore, settings_for
from trl_lint.settings_file import SettingsError, read_targets
from trl_lint.words import nearest

if TYPE_CHECKING:
    import argparse

# The options in the second column make no sense with the one in the first.
_EXCLUSIVE = (
    ("config", ("isolated",)),
    ("add_noqa", ("diff", "fix", "write_baseline")),
    ("write_baseline", ("diff", "fix")),
    ("since", ("add_noqa", "diff", "fix", "write_baseline")),
    ("show_files", ("add_noqa", "diff", "fix", "show_settings", "write_baseline")),
    ("show_settings", ("add_noqa", "diff", "fix", "write_baseline")),
)


def read_options(args: argparse.Namespace) -> Said:
    """What the command line says, by the names of options. Raises UsageError."""
    for first, others in _EXCLUSIVE:
        for other in others:
            if getattr(args, first) not in (None, False) and getattr(args, other) not in (None, False):
                raise UsageError(f"`--{first.replace('_', '-')}` and `--{other.replace('_', '-')}` exclude each other")
    if args.output_format is not None and args.output_format not in FORMATS:
        guess = nearest(args.output_format, FORMATS)
        hint = f"; did you mean `{guess}`?" if guess else f"; choose from {', '.join(FORMATS)}"
        raise UsageError(f"unknown output format `{args.output_format}`{hint}")
    said = {one.name: getattr(args, one.attribute) for one in OPTIONS if one.setting or one.name == "force-exclude"}
    for one in SETTINGS.values():
        read = _READERS.get(one.setting)
        if read is not None and said[one.name] is not None:
            said[one.name] = read(said[one.name], f"--{one.name}")
    return said


def _codes(values: Sequence[str], flag: str) -> tuple[str, ...]:
    try:
        found = read_selectors(values)
    except SelectorError as error:
        raise UsageError(f"{flag}: {error}") from None
    if not found:  # the value of an empty variable, perhaps: with no rule at all, all is well
        raise UsageError(f"{flag}: no rule is named")
    return found


def _patterns(values: Sequence[str], flag: str) -> tuple[str, ...]:
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _per_file_ignores(values: Sequence[str], flag: str) -> tuple[PerFileIgnore, ...]:
    """`tests/*:TRL103,TRL2` as often as needed; a value may also hold several such pairs, separated by commas."""
    codes: dict[str, list[str]] = {}
    for value in values:
        pattern = None
        for part in filter(None, (part.strip() for part in value.split(","))):
            before, colon, code = part.rpartition(":")
            if colon:
                pattern = before.strip()
            if not pattern:
                raise UsageError(f"{flag}: `{value}` is not of the form PATTERN:CODES")
            codes.setdefault(pattern, []).append(code)
    here = os.getcwd()
    return tuple(per_file_ignore(pattern, _codes(selectors, flag), here) for pattern, selectors in codes.items())


def _releases(values: Sequence[str], flag: str) -> dict[str, str]:
    try:
        return read_targets(values)
    except SettingsError as error:
        raise UsageError(f"{flag}: {error}") from None


_READERS: dict[Setting, Callable[[Sequence[str], str], Any]] = {
    "releases": _releases,
    "rules": _codes,
    "rules by pattern": _per_file_ignores,
    "strings": _patterns,
}


def group_by_settings(paths: Sequence[str], said: Said, args: argparse.Namespace) -> list[tuple[Settings, list[str]]]:
    """Settings for the paths. Raises SettingsError."""
    return settings_for(paths, said, args.config, args.isolated)


def unread(paths: Iterable[str]) -> Iterator[str]:
    """A line for each named file that no reader understands: it would pass as clean."""
    from trl_lint.project.discovery import is_source
    from trl_lint.project.pins import is_manifest

    for path in paths:
        name = os.path.basename(path)
        if "." in name and tracked.is_file(path) and not is_source(path) and not is_manifest(os.path.abspath(path)):
            yield f"{visible(path)}: nothing is checked in a file of this name"
