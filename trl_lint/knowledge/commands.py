"""What TRL's parser and commands take, and what they do with a name they do not know: `rules/commands/trl.toml`."""

from __future__ import annotations

from functools import cache
from typing import Literal

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple

Consequence = Literal["fails", "ignored"]


class Command(NamedTuple):
    """A subcommand of `trl`, and the dataclasses (dotted public names) that its parser is built from."""

    name: str
    releases: Range
    classes: tuple[str, ...]


class UnknownName(NamedTuple):
    """What some releases do with a name that no dataclass has; `commands` is empty for all of them."""

    parser: Literal["TrlParser", "trl"]
    releases: Range
    keys: Consequence
    flags: Consequence
    commands: tuple[str, ...] = ()


class ShippedConfig(NamedTuple):
    """Accelerate configs shipped with TRL that start the same number of processes."""

    names: tuple[str, ...]
    num_processes: int


class Commands(NamedTuple):
    """The whole table; the fields are explained in it."""

    evidence: tuple[str, ...]
    command: tuple[Command, ...]
    unknown: tuple[UnknownName, ...]
    accelerate_config: tuple[ShippedConfig, ...]


@cache
def table() -> Commands:
    """The table. Raises KnowledgeError if it is malformed."""
    return read_rows("commands/trl.toml", Commands, "trl")


def command_classes(name: str) -> tuple[str, ...]:
    """The dataclasses (dotted public names) that the parser of `trl <name>` is built from; none if it is not known."""
    return next((row.classes for row in table().command if row.name == name), ())


def has_command(name: str, version: str) -> bool:
    """Whether a release of trl has the subcommand."""
    return any(row.name == name and holds(row.releases, version) for row in table().command)


def builtin_config(name: str) -> int | None:
    """The number of processes that an accelerate config shipped with TRL starts; None if it ships none of that name."""
    return next((row.num_processes for row in table().accelerate_config if name in row.names), None)


def unknown_name(parser: str, command: str, where: Literal["keys", "flags"], version: str) -> Consequence | None:
    """What a release of trl does with a name no dataclass has, None if that is not recorded or the release not known.

    `parser`: "TrlParser", or "trl" for its subcommand `command`. `where`: in a config file or on the command line.
    """
    for row in table().unknown:
        is_about = row.parser == parser and (not row.commands or command in row.commands)
        if is_about and holds(row.releases, version):
            return row.keys if where == "keys" else row.flags
    return None
