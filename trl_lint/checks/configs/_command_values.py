"""TRL402: values of flags that a command of LLaMA-Factory or ms-swift does not take: argparse has choices for them."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._phrases import either, with_scope
from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.configs._command_keys import flag_name, is_left_alone
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_config
from trl_lint.knowledge.command_keys import choices_of
from trl_lint.knowledge.families import arguments_of
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.run.effective import Setting
from trl_lint.run.readers.command_words import Given, words_of
from trl_lint.run.runs import run_of
from trl_lint.sources.placeholders import is_marked, is_shown

_MOST_VALUES = 12  # that a message lists


def refused_values(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """The flags of a command whose value is none of those that they take."""
    if launch.program is None or launch.subcommand is None or launch.command.errors:
        return
    arguments = arguments_of(run_of(launch, project).framework)
    if arguments is None:
        return
    command, choices = arguments.keys_for(launch.subcommand), project.environment(launch.source.path).choices
    if arguments.package not in choices:
        return
    known = choices_of(arguments.package, command, choices[arguments.package].newest)
    given = words_of(launch, project) or Given(launch.args, launch)
    for name in dict.fromkeys(filter(None, map(flag_name, given.words))):
        said = given.setting(name) if name in known else None
        if not isinstance(said, Setting) or not isinstance(said.value, str) or is_marked(said.value):
            continue
        value = said.value
        if launch.is_documentation and is_shown(value) and not any(choice.isupper() for choice in known[name]):
            continue

        def takes(version: str, name: str = name, value: str = value) -> bool:
            allowed = choices_of(arguments.package, command, version).get(name)
            return allowed is None or value in allowed

        verdict = judge_config(choices, arguments.package, takes, Level(rule, launch.is_mild, of_code=False))
        if verdict is None or said.location is None or is_left_alone(arguments, project):
            continue
        allowed = sorted(known[name] - {"None"})
        shown = f"choose {either(f'`{each}`' for each in allowed[:_MOST_VALUES])}"
        message = f"{arguments.shown} stops at start: `--{name}` cannot be `{value}`: {shown}"
        yield Problem(said.location, with_scope(message, verdict.scope), verdict.severity, verdict.related)
