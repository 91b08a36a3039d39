"""What a recipe and a command line leave to the defaults of the dataclasses that a script parses them into."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial

from trl_lint.checks._runs import naming_launches
from trl_lint.checks.drift._calls import is_patched, is_unsloth
from trl_lint.checks.drift._defaults import Drift, Given, drifts
from trl_lint.checks.drift._omitted import stored
from trl_lint.checks.drift._options import Where, flags_of, parsers_of_launch, points_of, takes
from trl_lint.checks.drift._runnable import having, runnable
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.project.stack import Choices
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.parsers import OF_THE_PARSER, ScriptParser
from trl_lint.sources import SourceError

_FILES = (".yaml", ".yml", ".json")
_WORDS: dict[str, object] = {"true": True, "false": False, "none": None, "null": None}


class Run(NamedTuple):
    """A parser, and the defaults it fills in that changed within the releases it may run with."""

    parser: ScriptParser
    known: Choices
    found: list[Drift]


def run_of_document(document: Document, project: Project, between: Choices | None = None) -> Run | None:
    """What every command that names a recipe leaves to changed defaults; None if one of them is not understood.

    `between`: the releases to compare, whatever the pins allow and the code runs with.
    """
    runs: list[Run] = []
    for launch in naming_launches(document, project):
        parsers = [parser for parser in parsers_of_launch(launch, project) if parser.reads_files]
        if len(parsers) != 1:
            return None
        written, named = given_in(document), given_by(launch)
        names = [*(("keys", key) for key in _keys(document)), *_flags(launch)]
        runs.append(_run(parsers[0], partial(_first, named, written), names, project, between))
    if not runs:
        return None
    common = set.intersection(*({drift.row.field for drift in run.found} for run in runs))
    return runs[0]._replace(found=[drift for drift in runs[0].found if drift.row.field in common])


def run_of_launch(launch: Launch, project: Project, between: Choices | None = None) -> Run | None:
    """What a command leaves to changed defaults, where it names no file that may hold more; `between` as above."""
    if any((word.text or "").endswith(_FILES) for word in launch.args):
        return None
    parsers = parsers_of_launch(launch, project)
    if len(parsers) != 1:
        return None
    return _run(parsers[0], given_by(launch), _flags(launch), project, between)


def _flags(launch: Launch) -> list[tuple[Where, str]]:
    return [("flags", name) for name, _ in flags_of(launch)]


def _run(
    parser: ScriptParser,
    given: Given,
    names: Sequence[tuple[Where, str]],
    project: Project,
    between: Choices | None,
) -> Run:
    known = between or project.environment(parser.path).choices
    module = _module(parser, project)
    if parser.location is not None and (module is None or is_unsloth(module) or is_patched(module)):
        return Run(parser, known, [])
    usable = cache(partial(_usable, parser, module, known, names, project)) if between is None else between.releases
    if module is not None:
        given = partial(_unless_stored, stored(module), given)
    found: dict[str, Drift] = {}
    for dotted in parser.fields.bases:
        if dotted.partition(".")[0] in known:
            for drift in drifts(dotted, frozenset(parser.fields.own), known, usable, given):
                found.setdefault(drift.row.field, drift)
    return Run(parser, known, list(found.values()))


def _module(parser: ScriptParser, project: Project) -> PythonModule | None:
    if parser.location is None:
        return None
    with suppress(OSError, SourceError):  # reported when the file itself is checked
        return project.module_in(parser.path)
    return None


def _usable(
    parser: ScriptParser,
    module: PythonModule | None,
    known: Choices,
    names: Sequence[tuple[Where, str]],
    project: Project,
    package: str,
) -> tuple[str, ...]:
    """The releases that the script runs with and whose dataclasses know every name that is given."""
    left = known[package].releases if module is None else runnable(module, known, project, package)
    for where, name in names:
        passes = parser.passes_keys if where == "keys" else parser.passes_flags
        if passes or name in parser.fields.own or name in parser.flags or name in OF_THE_PARSER:
            continue
        # Where no release is left, the run fails over a name, and TRL301 tells which.
        points = points_of(parser, name, where)
        left = having(left, known, package, points, partial(takes, parser, name, where))
    return left


def given_in(document: Document) -> Given:
    """The values of a recipe; a merged mapping may hold any name."""
    keys = _keys(document)

    def given(name: str) -> object:
        if name in keys:
            value = document.value(name)
            return UNKNOWN if value is None else value
        return UNKNOWN if "<<" in keys or not keys else ABSENT

    return given


def _keys(document: Document) -> set[str]:
    return set(document.mapping.keys()) if document.mapping is not None else set()


def given_by(launch: Launch) -> Given:
    """The values of the flags of a command; an abbreviation or a word that cannot be read may be any flag."""
    names = [name for name, _ in flags_of(launch)]

    def given(name: str) -> object:
        found = launch.flag(f"--{name}")
        if found is ABSENT:
            return UNKNOWN if any(name.startswith(other) or other == f"no_{name}" for other in names) else ABSENT
        text = getattr(found, "text", None)
        return UNKNOWN if text is None else read_flag(text)

    return given


def read_flag(text: str) -> object:
    """The value behind a flag; a flag alone, with another one behind it, is True."""
    if not text or text.startswith("--"):
        return True
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text


def _first(one: Given, other: Given, name: str) -> object:
    """What a flag says, else what the file says."""
    found = one(name)
    return other(name) if found is ABSENT else found


def _unless_stored(names: frozenset[str], given: Given, name: str) -> object:
    return UNKNOWN if name in names or "*" in names else given(name)
