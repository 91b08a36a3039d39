"""What is wrong at one place of a config file, and how a rule makes a finding of it: releases, flags, level."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress

from trl_lint.checks._phrases import either, with_scope
from trl_lint.checks._runs import accelerate_launches, after_flags, launcher_option
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_config
from trl_lint.finding import Finding, Fix, Location, Severity
from trl_lint.knowledge.conditions import is_recorded
from trl_lint.knowledge.configs import ValueRow, value_rows
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.ranges import holds
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError
from trl_lint.sources.nodes import Entry, Mapping, Node, Scalar
from trl_lint.sources.placeholders import is_blank, is_marked

IsFine = Callable[[str], "bool | None"]


class Problem(NamedTuple):
    """A fault at one place of a config file.

    is_fine: whether a release of `package` takes it; None if nobody knows. options: options of `accelerate launch` (no
    dashes) that would replace the value; one of them on every command that names the file takes the fault away.
    needs_launch: the file alone proves nothing, only a command that names it does. unless_read: a key that is only
    ignored if no code of the project reads it.
    """

    place: Entry | Scalar
    message: str
    package: str
    is_fine: IsFine
    severity: Severity = "error"
    options: tuple[str, ...] = ()
    fix: Fix | None = None
    related: tuple[Location, ...] = ()
    needs_launch: bool = False
    unless_read: str = ""


def outside(specifier: str) -> IsFine:
    """Fine in the releases that a specifier does not name."""
    return lambda version: not holds(specifier, version)


def never(version: str) -> bool:
    """Fine in no release."""
    return False


def fine_but_in(package: str, refusing: Container[str]) -> IsFine:
    """Fine in the recorded releases of a package that are not among those."""
    return lambda version: version not in refusing if is_recorded(package, version) else None


def report(
    rule: Rule, document: Document, project: Project, problems: Iterable[Problem], may_be_new: bool = False
) -> Iterator[Finding]:
    """The findings of the problems that exist in the releases in use and that no command line takes away.

    `may_be_new`: a release newer than all that are known may take it, so nothing is said of the tip of a repository.
    """
    for problem in problems:
        choices = project.environment(document.path).choices
        level = Level(problem.severity, of_code=False)
        verdict = judge_config(choices, problem.package, problem.is_fine, level)
        if verdict is None or (may_be_new and choices[problem.package].is_tip):
            continue
        launches = accelerate_launches(document, project) if document.kind == "accelerate" else []
        if problem.needs_launch:
            launches = [launch for launch in launches if not launch.is_documentation]
            if not launches:
                continue
        severity = after_flags(verdict.severity, problem.options, launches, launcher_option)
        if severity is None:
            continue
        if problem.unless_read and _is_named_in_code(problem.unless_read, project):
            continue
        place = problem.place
        location = (
            document.place(place) if isinstance(place, Entry) else document.source.location(place.start, place.end)
        )
        message = with_scope(problem.message, verdict.scope)
        related = (*problem.related, *verdict.related)
        yield rule.finding(location, message, severity=severity, related=related, fix=problem.fix)


def _is_named_in_code(key: str, project: Project) -> bool:
    """Whether a Python file of the project has the key as a string: it may read the config itself."""
    needles = (f'"{key}"'.encode(), f"'{key}'".encode())
    for path in project.paths:
        if not path.endswith((".py", ".ipynb")):
            continue
        with suppress(OSError, SourceError):
            if project.files.holds(path, *needles):
                return True
    return False


def written_twice(root: Node, document: Document) -> Iterator[tuple[Entry, Location]]:
    """The keys that stand twice in one block, each with the place before it."""
    for mapping in mappings(root):
        seen: dict[object, Location] = {}
        for entry in mapping.entries:
            name = entry.key.value
            if name in seen and name != "<<":
                yield entry, seen[name]
            seen[name] = document.place(entry, "the first one")


def mappings(root: Node) -> Iterator[Mapping]:
    """Every block of a document, the outer ones first; what YAML aliases share is visited once."""
    waiting, known = [root], set()
    while waiting:
        node = waiting.pop(0)
        children = [entry.value for entry in node.entries] if isinstance(node, Mapping) else getattr(node, "items", [])
        content = node.entries if isinstance(node, Mapping) else children
        if isinstance(node, Scalar) or id(content) in known:
            continue
        known.add(id(content))
        if isinstance(node, Mapping):
            yield node
        waiting += children


# -- reading ----------------------------------------------------------------------------------------------------------


def entries(node: Node | None) -> Iterator[tuple[str, Entry]]:
    """The keys of a mapping that a reader gets, each once, with the entry that counts; merge keys are left out."""
    if not isinstance(node, Mapping):
        return
    last = {entry.key.value: entry for entry in node.entries if isinstance(entry.key.value, str)}
    for name, entry in last.items():
        if name != "<<" and not is_marked(name):
            yield name, entry


def is_known(node: Node | None) -> bool:
    """Whether a value is a scalar that says what the program will see: no placeholder, no tag of its own."""
    if not isinstance(node, Scalar):
        return False
    is_text = isinstance(node.value, str)
    return not node.tag and not (is_text and is_marked(str(node.value)))


def is_to_be_filled_in(row: ValueRow, node: Scalar) -> bool:
    """Whether the value of a key is a blank in capitals, such as `zero_stage: ZERO_STAGE`."""
    if not isinstance(node.value, str) or not node.value.isupper():
        return False
    if any(node.value in _words(other) for other in value_rows("accelerate")):
        return False  # a word of another key
    takes_capitals = any(word.isupper() and "_" in word for word in _words(row))
    return is_blank(node.value, row.key, in_capitals=takes_capitals)


def whole_number(node: Node | None) -> int | None:
    """The integer a value is; None for everything else."""
    value = node.value if isinstance(node, Scalar) and is_known(node) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_filled(node: Node | None) -> bool:
    """Whether a block has at least one key."""
    return isinstance(node, Mapping) and bool(node.entries)


# -- words ------------------------------------------------------------------------------------------------------------


def takes(row: ValueRow) -> str:
    """What a key takes, in words: the newest release's words where they differ from release to release."""
    if row.kind == "truth":
        return "use true or false"
    if row.kind == "size":
        return "use 1 or more"
    if row.kind == "number":
        return f"use a number{''.join(f' or {word}' for word in row.allowed)}"
    words = _words(row)
    if row.case == "any" and row.enum.endswith("PrecisionType"):
        words = tuple(word.lower() for word in words)
    shown = [word for word in words if not (word.isdigit() and len(words) > 4) and word[:1] != "_"]
    return f"use {either(shown or words)}"


def _words(row: ValueRow) -> tuple[str, ...]:
    """The words that a key takes in the newest release."""
    package = row.enum.partition(".")[0] or "accelerate"
    return row.values(releases(package)[-1]) or ()
