"""A shell script as a whole: all its commands in their order, for what no single launch says."""

from __future__ import annotations

from functools import cached_property

from trl_lint.project.launches import Launch
from trl_lint.project.scheduler import Scheduler, read_scheduler
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.shell import Command, commands

# Where no command starts a program that is known, these are worth a look.
_NEEDLES = regex(rb"\bray[ \t\\]+(?:start|job)\b")


class Script:
    """`launches` are those of its commands that start training or serving; `scheduler` is what its head asks for."""

    def __init__(self, source: Source, launches: list[Launch]) -> None:
        self.source = source
        self.launches = launches

    @cached_property
    def commands(self) -> list[Command]:
        return commands(self.source)

    @cached_property
    def code(self) -> str:
        """The text without the lines that are comments."""
        return "\n".join(line for line in self.source.text.splitlines() if not line.lstrip().startswith("#"))

    @cached_property
    def scheduler(self) -> Scheduler | None:
        return read_scheduler(self.source)


def script_of(file: SourceFile, launches: list[Launch]) -> Script | None:
    """The script that a shell file is; None where it starts nothing that rules know of."""
    if not (launches or _NEEDLES.search(file.data)):
        return None
    source = launches[0].source if launches else Source(file, "shell")
    return Script(source, launches)
