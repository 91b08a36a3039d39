"""Whether TRL301 would tell a flag or a key that nobody has ever heard of, and if not, why."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from trl_lint.checks.drift._options import Where, judge_all, parser_package, parsers_of_document, parsers_of_launch
from trl_lint.checks.verdict import Level, judged_by
from trl_lint.coverage import COPY, CUT, MADE_UP, NO_READER, NO_RELEASE, PARSER, PASSED, Answer, Judged
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.project.own_copy import is_shadowed
from trl_lint.run.parsers import PARSER_NAMES, ScriptParser
from trl_lint.sources import SourceError


def knows_launch(launch: Launch, project: Project) -> Answer:
    """What is known of the options of a command of TRL, or of a script with a parser of TRL or transformers."""
    parsers = parsers_of_launch(launch, project)
    if not parsers:
        return PARSER if any(_names_parser(path, project) for path in launch.candidates) else None
    if launch.command.errors or any(word.text == "--" for word in launch.args):
        return CUT
    return _would_tell("flags", parsers, project)


def knows_document(document: Document, project: Project) -> Answer:
    """What is known of the keys of a recipe; None for a document that is none and that no command names."""
    if document.mapping is None:
        return None
    parsers, is_linked = parsers_of_document(document, project)
    if document.kind == "other" and not (parsers and is_linked):
        return None
    if not parsers:
        return PARSER if is_linked else NO_READER
    return _would_tell("keys", parsers, project) if is_linked else NO_READER


def _would_tell(where: Where, parsers: Sequence[ScriptParser], project: Project) -> Answer:
    """Whether every parser that may be meant refuses a name that there is not."""
    answer: Answer = None
    for parser in parsers:
        answer = _parser_would_tell(where, parser, project)
        if not isinstance(answer, Judged):
            return answer
    return answer


def _parser_would_tell(where: Where, parser: ScriptParser, project: Project) -> Answer:
    known = _answers(project)
    key = (where, parser.path, parser.name)
    if key not in known:
        known[key] = _ask_parser(where, parser, project)
    return known[key]


@per_project
def _answers(project: Project) -> dict[tuple[str, str, str], Answer]:
    """What is known of each parser, by what is asked, its path and its name."""
    return {}


def _ask_parser(where: Where, parser: ScriptParser, project: Project) -> Answer:
    choices = project.environment(parser.path).choices
    if judge_all(MADE_UP, where, [parser], Level("warning", of_code=False), project) is not None:
        return judged_by(choices, parser_package(parser))
    if parser.passes_keys if where == "keys" else parser.passes_flags:
        return PASSED
    for dotted in parser.fields.bases:
        package = dotted.partition(".")[0]
        if package in choices and is_shadowed(
            choices[package], parser.path, project, dotted.rpartition(".")[2], MADE_UP
        ):
            return COPY
    return NO_RELEASE


def _names_parser(path: str, project: Project) -> bool:
    with suppress(OSError, SourceError):
        return path.endswith(".py") and project.files.holds(path, *PARSER_NAMES)
    return False
