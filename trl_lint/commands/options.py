"""From the parsed command line to Options and Settings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.reports import FORMATS, visible
from trl_lint.selection import SelectorError, nearest, read_selectors
from trl_lint.settings import (
    Options,
    PerFileIgnore,
    Settings,
    per_file_ignore,
    settings_for,
)
from trl_lint.settings_file import SettingsError, read_targets

if TYPE_CHECKING:
    import argparse

# The options in the second column make no sense with the one in the first.
_EXCLUSIVE = (
    ("config", ("isolated",)),
    ("add_noqa", ("diff", "fix", "write_baseline")),
    ("write_baseline", ("diff", "fix")),
)


def read_options(args: argparse.Namespace) -> Options:
    """What the command line says. Raises UsageError."""
    for one, others in _EXCLUSIVE:
        for other in others:
            if getattr(args, one) not in (None, False) and getattr(args, other):
                raise UsageError(f"`--{one.replace('_', '-')}` and `--{other.replace('_', '-')}` exclude each other")
    if args.output_format is not None and args.output_format not in FORMATS:
        guess = nearest(args.output_format, FORMATS)
        hint = f"; did you mean `{guess}`?" if guess else f"; choose from {', '.join(FORMATS)}"
        raise UsageError(f"unknown output format `{args.output_format}`{hint}")
    try:
        targets = read_targets(args.target or ())
    except SettingsError as error:
        raise UsageError(f"--target: {error}") from None
    return Options(
        select=_codes(args.select, "--select"),
        ignore=_codes(args.ignore, "--ignore"),
        extend_select=_codes(args.extend_select, "--extend-select") or (),
        per_file_ignores=_per_file_ignores(args.per_file_ignores),
        exclude=_patterns(args.exclude),
        extend_exclude=_patterns(args.extend_exclude) or (),
        force_exclude=args.force_exclude,
        respect_gitignore=args.respect_gitignore,
        targets=targets,
        baseline=args.baseline,
        output_format=args.output_format,
        fix=args.fix,
        unsafe_fixes=args.unsafe_fixes,
        show_fixes=args.show_fixes,
        hints=args.hints,
        fail_on=args.fail_on,
        respect_file_noqa=args.respect_file_noqa,
    )


def _codes(values: Sequence[str] | None, option: str) -> tuple[str, ...] | None:
    if values is None:
        return None
    try:
        found = read_selectors(values)
    except SelectorError as error:
        raise UsageError(f"{option}: {error}") from None
    if not found:  # the value of an empty variable, perhaps: with no rule at all, all is well
        raise UsageError(f"{option}: no rule is named")
    return found


def _patterns(values: Sequence[str] | None) -> tuple[str, ...] | None:
    if values is None:
        return None
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _per_file_ignores(values: Sequence[str] | None) -> tuple[PerFileIgnore, ...] | None:
    """`tests/*:TRL103,TRL2` as often as needed; a value may also hold several such pairs, separated by commas."""
    if values is None:
        return None
    codes: dict[str, list[str]] = {}
    for value in values:
        pattern = None
        for part in filter(None, (part.strip() for part in value.split(","))):
            before, colon, code = part.rpartition(":")
            if colon:
                pattern = before.strip()
            if not pattern:
                raise UsageError(f"--per-file-ignores: `{value}` is not of the form PATTERN:CODES")
            codes.setdefault(pattern, []).append(code)
    found = []
    for pattern, selectors in codes.items():
        found.append(per_file_ignore(pattern, _codes(selectors, "--per-file-ignores") or (), os.getcwd()))
    return tuple(found)


def group_by_settings(
    paths: Sequence[str], options: Options, args: argparse.Namespace
) -> list[tuple[Settings, list[str]]]:
    """Settings for the paths. Raises SettingsError."""
    return settings_for(paths, options, args.config, args.isolated)


def unread(paths: Iterable[str]) -> Iterator[str]:
    """A line for each named file that no reader understands: it would pass as clean."""
    from trl_lint.project.discovery import is_source
    from trl_lint.project.pins import is_manifest

    for path in paths:
        name = os.path.basename(path)
        if "." in name and tracked.is_file(path) and not is_source(path) and not is_manifest(os.path.abspath(path)):
            yield f"{visible(path)}: nothing is checked in a file of this name"
