"""Whether TRL401 would tell a flag, an override or a key that nobody has ever heard of, and if not, why."""

from __future__ import annotations

from trl_lint.checks.configs import _command_keys, _deepspeed, _own_flags, _structured_keys
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import judge_config, judged_by
from trl_lint.coverage import (
    CONFIGURATION,
    COPY,
    CUT,
    MADE_UP,
    NO_FILE,
    NO_READER,
    NO_RELEASE,
    NO_SCRIPT,
    PASSED,
    Answer,
    Judged,
)
from trl_lint.knowledge.families import arguments_of, arguments_of_kind
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.run.readers import openrlhf, verl
from trl_lint.run.readers.command_words import Given, words_of
from trl_lint.run.runs import run_of
from trl_lint.sources.nodes import Entry, Mapping, Scalar


def knows_launch(launch: Launch, project: Project) -> Answer:
    """What is known of the options of a command of a framework; None for all others."""
    for knows in (
        _verl_launch,
        _openrlhf_launch,
        _framework_launch,
        _structured_keys.knows_launch,
        _own_flags.knows_launch,
    ):
        answer = knows(launch, project)
        if answer is not None:
            return answer
    return None


def _verl_launch(launch: Launch, project: Project) -> Answer:
    run = verl.run_or_reason(launch, project)
    if not isinstance(run, verl.VerlRun):
        return run
    if run.own is not None:
        return Judged()
    chosen = run.choices.get("verl")
    if chosen is None or chosen.is_tip:
        return NO_RELEASE  # what no release has may be new
    return CONFIGURATION if run.tree(chosen.newest) is None else judged_by(run.choices, "verl")


def _openrlhf_launch(launch: Launch, project: Project) -> Answer:
    run = openrlhf.run_or_reason(launch, project)
    if not isinstance(run, openrlhf.OpenRLHFRun):
        return run
    if any(word.text == "--" for word in launch.args):
        return CUT
    if run.own is not None:
        return Judged() if run.own else NO_SCRIPT
    chosen = run.choices.get("openrlhf")
    if chosen is None or chosen.is_tip or openrlhf.flags_in_release(run.module, chosen.newest) is None:
        return NO_RELEASE
    return judged_by(run.choices, "openrlhf")


def _framework_launch(launch: Launch, project: Project) -> Answer:
    """A command with a subcommand, whose keys are recorded; of one that takes its keys from a file, that file's."""
    if launch.program is None or launch.subcommand is None:
        return None
    run = run_of(launch, project)
    arguments = arguments_of(run.framework)
    if arguments is None:
        return None
    if launch.command.errors:
        return CUT
    if arguments.surplus == "ignored":
        link = run.link("recipe")
        if link is None or link.status != "exact" or run.recipe is None:
            return PASSED if link is None else NO_FILE
        return _of_framework(run.recipe, arguments.keys_for(launch.subcommand), project)
    given = words_of(launch, project)
    if given is None and launch.first_config is not None:
        return NO_FILE
    if _command_keys.lets_pass(given or Given(launch.args, launch), launch, arguments, project):
        return PASSED
    asked = _command_keys.Asked(arguments, arguments.keys_for(launch.subcommand), launch.subcommand)
    return _asked(asked, launch.source.path, project, is_flag=True)


def knows_document(document: Document, rule: Rule, project: Project) -> Answer:
    """What is known of the keys of a document of accelerate, DeepSpeed or a framework's command."""
    if document.kind in ("accelerate", "deepspeed"):
        return _knows_keys(document, rule, project)
    return _of_framework(document, document.definition.command, project)


def _knows_keys(document: Document, rule: Rule, project: Project) -> Answer:
    if document.kind == "deepspeed" and _deepspeed.read_deepspeed(document) is None:
        return NO_READER
    key, block = Scalar(MADE_UP, MADE_UP, False, 0, 0), Mapping([], 0, 0)
    alone = Document(document.kind, document.source, Mapping([Entry(key, block)], 0, 0))
    if any(MADE_UP in finding.message for finding in rule.check_document(alone, project)):
        return judged_by(project.environment(document.path).choices, document.kind)
    return NO_RELEASE


def _of_framework(document: Document, command: str, project: Project) -> Answer:
    arguments = arguments_of_kind(document.kind)
    if arguments is None:
        return None
    if _command_keys.is_of_others(document, arguments, project):
        return NO_READER
    readers = _command_keys.readers_of(document, arguments, project)
    command = command if command in readers else next(iter(sorted(readers)), command)
    plugins = _command_keys.plugins_of(document, arguments)
    return _asked(_command_keys.Asked(arguments, command, command, plugins), document.path, project)


def _asked(asked: _command_keys.Asked, path: str, project: Project, is_flag: bool = False) -> Answer:
    choices, package = project.environment(path).choices, asked.arguments.package
    if judge_config(choices, package, asked.is_fine(MADE_UP, is_flag), "warning") is None:
        return NO_RELEASE
    if _command_keys.is_left_alone(asked.arguments, project):
        return COPY if _command_keys.has_copy(asked.arguments, project) else PASSED
    return judged_by(choices, package)
