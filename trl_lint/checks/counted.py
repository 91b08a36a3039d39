"""The training commands, configs and argument objects of a file, each with whether the rules could judge it.

The rules that count answer that from their own readings; what stands here finds what none of them knows.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from trl_lint.checks.rule import Rule
from trl_lint.coverage import (
    BY_HAND,
    CUT,
    EXAMPLE,
    NO_FILE,
    NO_KEYS,
    NO_KIND,
    NO_SCRIPT,
    NOT_KNOWN,
    PARSER,
    Answer,
    Judged,
    Seen,
    seen,
)
from trl_lint.finding import Location
from trl_lint.knowledge.families import arguments_of
from trl_lint.memos import per_project
from trl_lint.paths import DOCUMENTS, is_test_file, without_root
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.python.module import PythonModule
from trl_lint.python.triage import may_configure
from trl_lint.regexes import regex
from trl_lint.run.linked_recipes import linked_recipe
from trl_lint.run.runs import Run, run_of
from trl_lint.sources import SourceError

# In the name of what is started: whether it trains, or certainly does something else.
TRAINS = regex(
    r"(?i:(?<![a-z])(?:pre|post|re)?(?:train(?:er|ing)?|finetun(?:e|ing)|fine_tun(?:e|ing)|distill|sft|dpo|grpo|ppo"
    r"|kto|orpo|simpo|rloo|dapo|gspo|rl|rlhf|rlvr|reinforce)(?![a-z]))"
)
_DOES_NOT = regex(
    r"(?i:(?<![a-z])(?:eval(?:uate|uation)?|infer(?:ence)?|generate|generation|test|merge|convert|export|download"
    r"|upload|serve|server|demo|chat|plot|preprocess|prepare|benchmark|bench|setup|install|check)(?![a-z]))"
)
# What reads a command line, or a config, in Python.
_READS = (
    rb"argparse|ArgumentParser|TrlParser|hydra|OmegaConf|\bfire\b|\bclick\b|\btyro\b|\btyper\b|absl|draccus"
    rb"|jsonargparse|\bchz\b|simple_parsing|sys\.argv|docopt|pydantic"
)


def seen_in_run(run: Run, rules: Sequence[Rule]) -> Iterator[Seen]:
    """A training command, and the config that it names where that is none by itself; nothing of what trains nothing.

    Of one that is only shown the command alone, apart from the others.
    """
    launch, project = run.launch, run.project
    if not _trains(run):
        return
    answer = _first(rule.knows_launch(launch, project) for rule in rules)
    if answer is None:
        answer = _why_not(launch, project)
    if answer is not None:
        what = EXAMPLE if launch.is_documentation else "command"
        yield seen(what, entry_of(launch, project), answer, launch.location)
    if launch.is_documentation:
        return
    link = run.link("recipe")
    if link is not None and link.status == "missing" and link.text.endswith(DOCUMENTS):
        yield Seen("config", without_root(link.text, project.root), NO_FILE, link.location)
    elif link is not None and (recipe := linked_recipe(run)) is not None:
        found = seen_document(recipe, rules, project)
        yield from () if found is None else (found,)
    elif link is not None and isinstance(answer, Judged) and (path := _flags_file(launch, project)) is not None:
        yield seen("config", os.path.basename(path), answer, Location(path, 0, 0))
    elif link is not None and link.status == "exact" and not link.paths[0].endswith(DOCUMENTS):
        yield Seen("config", without_root(link.text, project.root), NO_KIND, link.location)


def _flags_file(launch: Launch, project: Project) -> str | None:
    """The config file that a command takes for a part of its own words, so that its keys are judged as flags."""
    arguments = arguments_of(run_of(launch, project).framework)
    if arguments is None or not arguments.config_first:
        return None
    from trl_lint.run.readers.command_words import words_of

    given = words_of(launch, project)
    return given.file.path if given is not None and given.file is not None else None


@per_project
def entry_of(launch: Launch, project: Project) -> str:
    """What is started: `trl grpo`, a module, the path of a script."""
    if launch.subcommand:
        return f"{launch.launcher} {launch.subcommand}"
    if launch.module:
        return launch.module
    if launch.script_path is not None:
        return os.path.relpath(launch.script_path, project.root).replace(os.sep, "/")
    if launch.script is not None:
        return without_root(launch.script.text or launch.script.raw, project.root)
    return launch.launcher


def _trains(run: Run) -> bool:
    launch = run.launch
    program = launch.program
    if program is not None and not program.starts_programs:
        is_server = program.serves_only or program.server_of(launch.subcommand) is not None
        return not is_server and launch.subcommand is not None and not _DOES_NOT.search(launch.subcommand)
    name = entry_of(launch, run.project)
    stem = name.removesuffix(".py")
    if _DOES_NOT.search(stem.replace(".", "/").rpartition("/")[2]) or is_test_file(name):
        return False
    if program is not None or run.framework not in ("other", "vllm"):
        return True
    return TRAINS.search(stem) is not None or any(_configures(path, run.project) for path in launch.candidates)


def _configures(path: str, project: Project) -> bool:
    with suppress(OSError, SourceError):
        return may_configure(project.files.get(path).data)
    return False


def _why_not(launch: Launch, project: Project) -> Answer:
    """Why no rule knows the options of a command; None where it has none."""
    if launch.command.errors:
        return CUT
    if launch.candidates:
        if any(_reads_options(path, project) for path in launch.candidates):
            return PARSER
        return NOT_KNOWN if launch.args else None
    if launch.script is not None:
        return NO_SCRIPT if launch.script.text else CUT
    return NOT_KNOWN if launch.module or launch.subcommand else CUT


@per_project
def _reads_options(path: str, project: Project) -> bool:
    with suppress(OSError, SourceError):
        return project.files.fits(path, _READS)
    return False


def seen_document(document: Document, rules: Iterable[Rule], project: Project) -> Seen | None:
    """A config; None for a document that is of no known kind and that no command names."""
    answer = _first(rule.knows_document(document, project) for rule in rules if rule.wants(document))
    if answer is None and document.kind == "other":
        return None
    kind = os.path.basename(document.path) if document.kind == "other" else document.kind
    return seen("config", kind, NO_KEYS if answer is None else answer, Location(document.path, 0, 0))


def seen_loops(module: PythonModule, project: Project) -> Iterator[Seen]:
    """The training loops of a module that are written by hand: what goes backward and steps in one function."""
    if is_test_file(module.path):
        return
    stepping = {module.function(call) for call in _methods(module, "step")}
    entry = os.path.relpath(module.path, project.root).replace(os.sep, "/")
    found: set[object] = set()
    for call in _methods(module, "backward"):
        function = module.function(call)
        if function in stepping and function not in found:
            found.add(function)
            yield seen("loop", entry, BY_HAND, module.location(call.func))


def _methods(module: PythonModule, name: str) -> list[ast.Call]:
    return [call for call in module.calls if isinstance(call.func, ast.Attribute) and call.func.attr == name]


def _first(answers: Iterable[Answer]) -> Answer:
    """What the rules say together: that one of them could judge it, else the first reason of those who say one."""
    reason: Answer = None
    for answer in answers:
        if isinstance(answer, Judged):
            return answer
        reason = reason or answer
    return reason
