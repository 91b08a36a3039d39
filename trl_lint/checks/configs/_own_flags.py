"""Flags and values of a command that the script it starts refuses, by the parser that the project wrote for it."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator

from trl_lint.checks._phrases import either
from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.coverage import PASSED, Answer, Judged
from trl_lint.project import Project
from trl_lint.project.launchers import may_hide
from trl_lint.project.launches import Launch
from trl_lint.run.readers.argparse_flags import Fault, FaultKind
from trl_lint.run.readers.own_argparse import OwnParser, arguments_of_launch, parser_of_launch
from trl_lint.sources.placeholders import is_shown

_VALUES: tuple[FaultKind, ...] = ("surplus", "missing", "type", "choice")


def unknown_flags(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL401: flags that the script does not declare, those that the launcher gives it included."""
    parser = parser_of_launch(launch, project)
    if not isinstance(parser, OwnParser) or parser.surplus == "kept":
        return
    yield from _refused(launch, parser, ("unknown",), rule, project)
    program = launch.program if parser.surplus == "refused" else None
    if program is None or not program.hands_on or program.keeps in launch.options:
        return
    if not any(name.startswith(program.hands_on) for name in parser.flags):
        declared = parser.location._replace(message="no such flag is declared here")
        yield Problem(
            launch.source.location(launch.launcher_word.start, launch.launcher_word.end),
            f"`{program.command}` gives `{_shown(parser, project)}` the flag `{program.hands_on}`, which it does not "
            f"have: declare it, or start it with `{program.keeps}`",
            Level(rule, launch.is_mild, of_code=False).severity,
            (declared,),
        )


def wrong_values(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL402: values that argparse refuses, and flags that every command has to give."""
    parser = parser_of_launch(launch, project)
    if not isinstance(parser, OwnParser):
        return
    yield from _refused(launch, parser, _VALUES, rule, project)
    lacking = () if launch.is_documentation else _lacking(launch, parser)
    if lacking:
        flags = ", ".join(f"`{name}`" for name in lacking)
        yield Problem(
            launch.location,
            f"`{_shown(parser, project)}` needs {flags}, which this command does not give",
            Level(rule, launch.is_mild, of_code=False).severity,
            (parser.location._replace(message="declared here"),),
        )


def knows_launch(launch: Launch, project: Project) -> Answer:
    """What is known of the options of a script with a parser of its own; None for all others."""
    parser = parser_of_launch(launch, project)
    if not isinstance(parser, OwnParser):
        return parser
    return PASSED if parser.surplus == "kept" else Judged()


def _lacking(launch: Launch, parser: OwnParser) -> tuple[str, ...]:
    """The flags that have to be given and are not; none where a word may hide them."""
    if not parser.required:
        return ()
    found = arguments_of_launch(launch, parser)
    if found.hidden or may_hide(launch.args):
        return ()
    short = [word.text for word in launch.args if word.text and word.text[0] == "-" != word.text[1:2]]
    return tuple(
        names[-1]
        for names in parser.required
        if found.values.keys().isdisjoint(names) and not any(word.startswith(names) for word in short)
    )


def _refused(
    launch: Launch, parser: OwnParser, kinds: tuple[FaultKind, ...], rule: Rule, project: Project
) -> Iterator[Problem]:
    stops = kinds != ("unknown",) or parser.surplus == "refused"
    severity = Level(rule, launch.is_mild, of_code=False, stops=stops).severity
    starts, known = starts_of(launch), [name for name in parser.flags if name.startswith("-")]
    for fault in arguments_of_launch(launch, parser).faults:
        if fault.kind in kinds and not is_blank(fault, launch, starts):
            shown, word = _shown(parser, project), fault.word
            if fault.kind == "unknown":
                from trl_lint.checks.drift._wording import did_you_mean, sentence

                lacks = "has no flag" if stops else "ignores the flag"
                message = sentence(f"`{shown}` {lacks} `{fault.flag}`", did_you_mean(fault.flag, known), "")
                place = launch.place_of(word, fault.flag)
            else:
                message, place = word_value(fault, shown), launch.place_of_value(word)
            yield Problem(place, message, severity, (parser.location._replace(message="the flags are declared here"),))


def _shown(parser: OwnParser, project: Project) -> str:
    return os.path.relpath(parser.path, project.root).replace(os.sep, "/")


def starts_of(launch: Launch) -> list[int]:
    """Where the words behind the program begin, in order."""
    return sorted(word.start for word in launch.args)


def is_blank(fault: Fault, launch: Launch, starts: list[int]) -> bool:
    """Whether a value is a blank to fill in: `KEY=""`, `--key=`, the end of the command, and what a page leaves out."""
    if fault.kind in ("type", "choice"):
        text = (fault.word.text or "").strip()
        return not text or (launch.is_documentation and _stands_for_values(text, fault))
    if fault.kind != "missing":
        return False
    next_one = bisect_left(starts, fault.word.end)
    if launch.is_documentation or next_one >= len(starts):
        return True
    return "$" in launch.source.text[fault.word.end : starts[next_one]]


def _stands_for_values(text: str, fault: Fault) -> bool:
    """Whether a word of a page stands for a value (`--phase N`), or names several that are taken (`--mode sft/dpo`)."""
    choices = {str(choice) for choice in fault.flags.choices} if fault.flags is not None else set()
    several = [part.strip() for part in text.replace("|", "/").replace(",", "/").split("/")]
    if len(several) > 1 and choices.issuperset(several):
        return True
    return is_shown(text) and not any(choice.isupper() for choice in choices)


def word_value(fault: Fault, why: str) -> str:
    """Say what argparse refuses about a value; `why`: by which releases, or in which file."""
    text, flag = fault.word.text or "", fault.flags
    assert flag is not None
    if fault.kind == "surplus":
        return f"`{flag.name}` takes no value ({why})"
    if fault.kind == "missing":
        wanted = f"{flag.least} values" if flag.least > 1 else "a value"
        return f"`{flag.name}` needs {wanted} ({why})"
    if fault.kind == "type":
        wanted = {"int": "a whole number", "float": "a number"}[flag.type]
        return f"`{flag.name}` cannot be `{text}`: it needs {wanted} ({why})"
    choices = either(f"`{choice}`" for choice in flag.choices)
    return f"`{flag.name}` cannot be `{text}`: choose {choices} ({why})"
