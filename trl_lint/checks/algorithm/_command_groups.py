"""Whole groups of generations in the batches of commands that take flags: `rules/semantics/groups.toml`."""

from __future__ import annotations

from functools import partial

from trl_lint.checks.configs._command_keys import is_left_alone
from trl_lint.knowledge.arithmetic import GroupRule, group_rule_of_command
from trl_lint.knowledge.families import Arguments, arguments_of
from trl_lint.missing import UNKNOWN, Missing
from trl_lint.records import NamedTuple
from trl_lint.run.batch import accumulation_of
from trl_lint.run.effective import Setting, without_reason
from trl_lint.run.readers.command_words import Given, words_of
from trl_lint.run.runs import Run
from trl_lint.sources.shell import Word


def _is_file(word: Word) -> bool:
    """Whether the first word is a file all the same, which the releases in use do not read."""
    return not (word.text or "").startswith("-")


class Sized(NamedTuple):
    """A run by a command, and whose releases say what its sizes have to be."""

    run: Run
    given: Given
    arguments: Arguments
    command: str

    def rule(self, version: str) -> GroupRule | None:
        """What a release asks of the sizes; None where the command does not train in groups."""
        rule = group_rule_of_command(self.arguments.package, self.command, version)
        for name, value in rule.method.items() if rule is not None else ():
            said = self.read(version, name)
            if not isinstance(said, Setting) or said.value != value:
                return None
        return rule

    def reader(self, version: str) -> partial[Setting | Missing]:
        return partial(self.read, version)

    def read(self, version: str, name: str) -> Setting | Missing:
        """An argument of the command in a release: its flag, else what the release makes of its absence."""
        if self.given.may_abbreviate(name):
            return UNKNOWN
        config = self.run.config
        if name == config.option("accumulation"):
            return accumulation_of(self.run, config.at({self.arguments.package: version}))
        return without_reason(config.final(name, version))


def sized_command(run: Run, processes: int | None) -> Sized | None:
    """A run whose flags a table of groups may judge; None where its sizes may come from elsewhere."""
    arguments, command = arguments_of(run.framework), run.launch.subcommand
    if arguments is None or command is None or processes is None or run.launch.command.errors:
        return None
    given = words_of(run.launch, run.project)
    if arguments.package not in run.choices or given is None or any(map(_is_file, given.words[:1])):
        return None
    newest = run.choices[arguments.package].newest
    if group_rule_of_command(arguments.package, arguments.keys_for(command), newest) is None:
        return None
    if is_left_alone(arguments, run.project):
        return None
    return Sized(run, given, arguments, arguments.keys_for(command))
