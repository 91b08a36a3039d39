"""Names in a recipe or on a command line that the dataclasses of the script do not have in the releases in use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

from trl_lint.checks._runs import naming_launches
from trl_lint.checks.drift._calls import accepts, signature_of
from trl_lint.checks.drift._past import Past, read_past
from trl_lint.checks.drift._wording import argument_meant, word_gone
from trl_lint.checks.verdict import Level, Verdict, judge
from trl_lint.finding import SEVERITIES, Location
from trl_lint.knowledge.api import resolve
from trl_lint.knowledge.commands import has_command, unknown_name
from trl_lint.knowledge.histories import block
from trl_lint.knowledge.presence import points_of_parameter
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT
from trl_lint.paths import DOCUMENTS, MARKDOWN
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launch_table import launches_in
from trl_lint.project.launches import Launch
from trl_lint.project.own_copy import is_shadowed
from trl_lint.python.guards import last_name
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.parsers import OF_THE_PARSER, ScriptParser, command_parser, parser_in, parsers_of
from trl_lint.sources import Source, SourceError
from trl_lint.sources.shell import Word

if TYPE_CHECKING:
    from trl_lint.checks.drift._option_fixes import Reader

Where = Literal["keys", "flags"]
_OF_THE_COMMAND = frozenset({"accelerate_config"})
_MOST_BEFORE = 300  # characters before a block in which the name of its file may stand
_NAME_ENDS = regex(r"[^\w.-]+")
_FLAG = regex(r"--([A-Za-z][\w-]*)")


class Unknown(NamedTuple):
    """A name that a parser does not know: what it means for the run, and where the name is or was known.

    `consequence`: "fails" at start, or "ignored" without a word. `others`: how other parsers meet it that may be meant.
    """

    parser: ScriptParser
    verdict: Verdict
    consequence: str
    past: Past | None
    owner: str
    newest: dict[str, str]
    others: tuple[Unknown, ...] = ()

    @property
    def related(self) -> tuple[Location, ...]:
        """The pins the verdict rests on, and where the parser is built."""
        built = self.parser.location
        return (*self.verdict.related, *((built._replace(message="parsed here"),) if built is not None else ()))

    @property
    def readers(self) -> list[Reader]:
        """What each of the parsers knows of the name, for `_option_fixes`."""
        from trl_lint.checks.drift._option_fixes import Reader

        return [Reader(one.parser, one.past, one.owner, one.newest) for one in (self, *self.others)]


def flags_of(launch: Launch) -> Iterator[tuple[str, Word]]:
    """The options that the arguments of a launch certainly name, without dashes; `-` reads as `_`."""
    for word in launch.args:
        if word.text == "--":
            return
        match = _FLAG.fullmatch((word.text or "").partition("=")[0])
        if match is not None:
            yield match[1].replace("-", "_"), word


def judge_name(name: str, where: Where, parser: ScriptParser, level: Level, project: Project) -> Unknown | None:
    """How a parser meets a name; None where it takes the name, in some release in use, or where nobody knows."""
    if name in parser.fields.own or name in parser.flags or name in OF_THE_PARSER:
        return None
    if parser.passes_keys if where == "keys" else parser.passes_flags:
        return None
    if not parser.fields.bases and parser.kind == "transformers":  # all of it stands in the project
        if where == "flags" and any(_begins(parser, name, {})):
            return None
        return Unknown(parser, Verdict(level.severity, "", ()), "fails", None, "", {})
    known = project.environment(parser.path).choices
    points = points_of(parser, name, where)
    newest = known.newest(points)
    if "trl" in points and "trl" not in newest:
        return None
    ask = partial(takes, parser, name, where)
    if ask(newest) is not False:
        return None  # what only older releases refuse is not told of a recipe or a command
    past, owner = _history(parser, name, newest)
    named = past.elsewhere.package if past is not None else parser_package(parser)
    consequence = _consequence(parser, where, newest)
    if consequence is None:
        return None
    verdict = judge(known, points, ask, level._replace(stops=consequence == "fails"), named)
    if verdict is None:
        return None
    for dotted in parser.fields.bases:
        package, _, cls = dotted.partition(".")[0], "", dotted.rpartition(".")[2]
        if package in known and is_shadowed(known[package], parser.path, project, cls, name):
            return None
    return Unknown(parser, verdict, consequence, past, owner, newest)


def parser_package(parser: ScriptParser) -> str:
    """The package that decides what a parser takes: that of its own dataclasses comes before the one they extend."""
    is_of_trl = parser.kind != "transformers" or any(dotted.startswith("trl.") for dotted in parser.fields.bases)
    return "trl" if is_of_trl else "transformers"


def takes(parser: ScriptParser, name: str, where: Where, versions: dict[str, str]) -> bool | None:
    """Whether a parser takes a name with these versions; None if nobody knows."""
    if parser.kind == "trl-command" and not has_command(parser.name.partition(" ")[2], versions.get("trl", "")):
        return None
    answers: list[bool | None] = []
    for candidate in [name, *_variants(name, where)]:
        answers += [_accepts(parser, dotted, candidate, versions) for dotted in parser.fields.bases]
    if parser.kind == "trl-command":
        answers.append(name in _OF_THE_COMMAND or name in _launch_flags())
    if True in answers:
        return True
    if where == "flags" and any(_begins(parser, name, versions)):
        return True
    return None if None in answers else False


def _accepts(parser: ScriptParser, dotted: str, name: str, versions: dict[str, str]) -> bool | None:
    if parser.kind == "trl-command" and resolve(dotted, versions) is ABSENT:
        return False  # the table of commands names every class of every release
    return accepts(dotted, name, versions)


def _variants(name: str, where: Where) -> list[str]:
    # A boolean that is on by default has `--no_x` as well (transformers, hf_argparser.py).
    return [name[3:]] if where == "flags" and name.startswith("no_") else []


def _begins(parser: ScriptParser, name: str, versions: dict[str, str]) -> Iterator[bool]:
    """Whether the name abbreviates a flag: argparse takes any unambiguous beginning."""
    yield any(known.startswith(name) for known in (*parser.fields.own, *parser.flags))
    for dotted in parser.fields.bases:
        found = signature_of(dotted, versions)
        yield found is not None and any(known.startswith(name) for known in found.parameters)


@lru_cache(maxsize=1)
def _launch_flags() -> frozenset[str]:
    """The options of `accelerate launch` in any release: the commands of TRL hand them on."""
    found = block("accelerate", "flags accelerate.launch")
    return frozenset(name.lstrip("-").replace("-", "_") for name in (found.names() if found is not None else ()))


def points_of(parser: ScriptParser, name: str, where: Where) -> dict[str, frozenset[int]]:
    points: dict[str, frozenset[int]] = {}
    for candidate in [name, *_variants(name, where)]:
        for dotted in parser.fields.bases:
            for package, found in points_of_parameter(dotted, candidate).items():
                points[package] = points.get(package, frozenset()) | found
    return points


def _history(parser: ScriptParser, name: str, newest: dict[str, str]) -> tuple[Past | None, str]:
    for dotted in parser.fields.bases:
        past = read_past(dotted, name, newest)
        if past is not None:
            return past, dotted
    return None, ""


def _consequence(parser: ScriptParser, where: Where, newest: dict[str, str]) -> str | None:
    if parser.kind == "transformers":
        return "fails"
    trl = newest.get("trl", "")
    if parser.kind == "trl-command":
        return unknown_name("trl", parser.name.partition(" ")[2], where, trl)
    return unknown_name("TrlParser", "", where, trl)


def word_unknown(name: str, where: Where, unknown: Unknown, is_linked: bool = True) -> str:
    """Say since when the releases in use lack the name, what takes its place, and what happens.

    `is_linked`: it is known which program reads the name.
    """
    parser, past, verdict = unknown.parser, unknown.past, unknown.verdict
    shown = f"--{name}" if where == "flags" else name
    what = "flag" if where == "flags" else "key"
    if past is None:
        owner, found = parser.name if is_linked else "every script that may read this recipe", None
        names = {field for dotted in parser.fields.bases for field in _fields(dotted, unknown.newest)}
        known = {*parser.fields.own, *parser.flags, *names}
        remedy = argument_meant(name, known, parser.fields.bases, unknown.newest)
    else:
        owner, found = unknown.owner.rpartition(".")[2], past.elsewhere
        remedy = _remedy(parser, name, where, unknown)
    if unknown.consequence == "ignored":
        then = f"`{parser.name}` ignores it silently"
        remedy = f"{then}; {remedy}" if remedy else then
    return word_gone(verdict, found, what, shown, owner, remedy)


def _remedy(parser: ScriptParser, name: str, where: Where, unknown: Unknown) -> str:
    from trl_lint.knowledge.remedies import remedy_of_argument, use_instead, with_own_of_argument

    bases, newest = parser.fields.bases, unknown.newest
    said = next(filter(None, (remedy_of_argument(dotted, name, newest) for dotted in bases)), "")
    successor = unknown.past.successor if unknown.past is not None else ""
    if successor and any(accepts(dotted, successor, newest) for dotted in bases):
        said = use_instead(unknown.owner, name, successor, said, "--" if where == "flags" else "")
    return with_own_of_argument(said, unknown.owner, name, newest)


def _fields(dotted: str, versions: dict[str, str]) -> Iterable[str]:
    found = signature_of(dotted, versions)
    return found.parameters if found is not None else ()


def judge_all(
    name: str, where: Where, parsers: Sequence[ScriptParser], level: Level, project: Project
) -> Unknown | None:
    """The verdict of the first parser, if every one that may be meant refuses the name; as mild as the mildest."""
    found: list[Unknown] = []
    for parser in parsers:
        unknown = judge_name(name, where, parser, level, project)
        if unknown is None:
            return None
        found.append(unknown)
    if not found:
        return None
    mildest = min((one.verdict.severity for one in found), key=SEVERITIES.index)
    return found[0]._replace(verdict=found[0].verdict._replace(severity=mildest), others=tuple(found[1:]))


# -- which parser ---------------------------------------------------------------------------------------------------


def parsers_of_launch(launch: Launch, project: Project) -> list[ScriptParser]:
    """The parsers that read the command line of a launch; none if one of the scripts it may start is not understood."""
    command = command_parser(launch)
    if command is not None:
        return [command]
    found = [parser_in(path, project) for path in launch.candidates]
    return [] if None in found else [parser for parser in found if parser is not None]


@per_project
def parsers_of_document(document: Document, project: Project) -> tuple[list[ScriptParser], bool]:
    """The parsers that may read a recipe, and whether a command says so; none if one of them is not understood.

    Where no command names the file, every parser of the project that knows most of its keys may be meant. The first is
    the one that it fits best.
    """
    is_recipe = document.definition.holds.script_fields
    keys = document.mapping.keys() if document.mapping is not None else set()
    launches, is_linked = naming_launches(document, project), True
    if document.path.endswith(MARKDOWN):
        launches, is_linked = commands_beside(document.source, project)
    found: dict[str, ScriptParser] = {}
    for launch in launches:
        parsers = [parser for parser in parsers_of_launch(launch, project) if parser.reads_files]
        if not parsers:
            return [], True
        found.update({parser.path if parser.location else parser.name: parser for parser in parsers})
    if launches and not is_linked:
        return [parser for parser in found.values() if is_recipe and knows_most(parser, keys, project)], False
    if launches or not is_recipe:
        return list(found.values()), True
    fitting = [parser for parser in parsers_of(project) if parser.reads_files and knows_most(parser, keys, project)]
    if len(fitting) > 1:
        fitting.sort(key=lambda parser: _fitness(parser, keys, document, project), reverse=True)
    return fitting, False


def commands_beside(fence: Source, project: Project) -> tuple[list[Launch], bool]:
    """The commands of a page that may read a recipe which it shows, and whether it names their file.

    The name stands in the text before the block, behind its fence, or in its first line.
    """
    begin = fence.file_offset(0)
    above, _, info = fence.file.text[max(0, begin - _MOST_BEFORE) : begin].rpartition("```")
    above = above.rpartition("```")[2]
    first = fence.text.partition("\n")[0] if fence.text.startswith("#") else ""
    words = {word.strip(".") for word in _NAME_ENDS.split(f"{above} {info} {first}")}
    reading: dict[Launch, set[str]] = {}
    for launch in launches_in(fence.path, project):
        names = {os.path.basename((word.text or "").rpartition("=")[2]) for word in launch.args}
        if files := {name for name in names if name.endswith(DOCUMENTS)}:
            reading[launch] = files
    named = [launch for launch, files in reading.items() if not files.isdisjoint(words)]
    return (named, True) if named else (list(reading), False)


def _fitness(parser: ScriptParser, keys: set[str], document: Document, project: Project) -> tuple[int, bool, bool]:
    """How well a recipe fits a script: the keys it knows in any release, whether it trains, and is named like it."""
    newest = _newest_of(parser, project)
    known = sum(
        name in parser.fields.own
        or takes(parser, name, "keys", newest) is True
        or _history(parser, name, newest)[0] is not None
        for name in keys
    )
    stem = parser.name.rpartition(".")[0].lower()
    words = re.split(r"[^a-z0-9]+", os.path.relpath(document.path, project.root).lower())
    return known, _trains(parser, project), stem in words


def _trains(parser: ScriptParser, project: Project) -> bool:
    with suppress(OSError, SourceError):  # reported when the file itself is checked
        return any(last_name(call.func).endswith("Trainer") for call in project.module_in(parser.path).calls)
    return False


def knows_most(parser: ScriptParser, keys: set[str], project: Project) -> bool:
    """Whether a parser takes more than half of the keys, each in some release."""
    newest = _newest_of(parser, project)
    return 2 * sum(name in parser.fields.own or takes(parser, name, "keys", newest) is True for name in keys) > len(
        keys
    )


def _newest_of(parser: ScriptParser, project: Project) -> dict[str, str]:
    packages = {dotted.partition(".")[0] for dotted in parser.fields.bases} | {"transformers"}
    return project.environment(parser.path).choices.newest(packages)
