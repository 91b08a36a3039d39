"""What TRL's parser and commands take, and what they do with a name they do not know: `rules/commands/trl.toml`."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import read_table

Consequence = Literal["fails", "ignored"]


@cache
def _table() -> dict[str, Any]:
    return read_table("commands/trl.toml")


def command_classes(name: str) -> tuple[str, ...]:
    """The dataclasses (dotted public names) that the parser of `trl <name>` is built from; none if it is not known."""
    return next((tuple(row["classes"]) for row in _table()["command"] if row["name"] == name), ())


def has_command(name: str, version: str) -> bool:
    """Whether a release of trl has the subcommand."""
    return any(row["name"] == name and holds(row["releases"], version) for row in _table()["command"])


def builtin_config(name: str) -> int | None:
    """The number of processes that an accelerate config shipped with TRL starts; None if it ships none of that name."""
    return next((row["num_processes"] for row in _table()["accelerate_config"] if name in row["names"]), None)


def unknown_name(parser: str, command: str, where: Literal["keys", "flags"], version: str) -> Consequence | None:
    """What a release of trl does with a name no dataclass has, None if that is not recorded or the release not known.

    `parser`: "TrlParser", or "trl" for its subcommand `command`. `where`: in a config file or on the command line.
    """
    for row in _table()["unknown"]:
        if row["parser"] == parser and command in row.get("commands", (command,)) and holds(row["releases"], version):
            found: Consequence = row[where]
            return found
    return None
