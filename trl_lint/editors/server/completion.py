"""What may be written at a place: the keys of a recipe and the flags of a command, and their values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint.editors.server.subjects import STACK, Argument, owners_of, signatures, subject_at
from trl_lint.knowledge.values import value_rules
from trl_lint.project import Project
from trl_lint.project.documents import Document, read_document
from trl_lint.project.runs import Run
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import SourceError
from trl_lint.sources.files import open_file

_KEY = regex(r"[\w.]*\Z")
_VALUE = regex(r"(?P<key>\w+)[ \t]*:[ \t]*[\"']?(?P<begun>[\w.-]*)\Z")
_FLAG = regex(r"(?:\A|[ \t])--(?P<begun>[\w-]*)\Z")
_FLAG_VALUE = regex(r"(?:\A|[ \t])--(?P<key>[\w-]+)[ =](?P<begun>[\w.-]*)\Z")


class Proposal(NamedTuple):
    """A text that may stand at a place, with what is known of it."""

    text: str
    detail: str
    is_value: bool = False


class Proposals(NamedTuple):
    """What may stand there instead of the last `begun` characters."""

    begun: int
    items: list[Proposal]


def proposals(path: str, offset: int, project: Project) -> Proposals | None:
    """What may be written at an offset of a file; None where nothing is known."""
    try:
        text = project.files.own(path).text
    except (OSError, SourceError):
        return None
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    if path.endswith((".yaml", ".yml")):
        return _in_recipe(path, offset, line, text, project)
    return _in_command(path, offset, line, project)


def _in_recipe(path: str, offset: int, line: str, text: str, project: Project) -> Proposals | None:
    key, value = _KEY.match(line), _VALUE.match(line)
    if key is None and value is None:
        return None
    owners = owners_of(path, project, _without_line(path, offset, text))
    versions = project.environment(path).choices.newest(STACK)
    if value is not None:
        return Proposals(len(value["begun"]), list(_values(owners, value["key"], versions)))
    return Proposals(len(line), [one._replace(text=f"{one.text}: ") for one in _names(owners, versions)])


def _without_line(path: str, offset: int, text: str) -> Document | None:
    """The document, but for the line that is being written: it is seldom one that can be read."""
    start, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
    rest = text[:start] + (text[end + 1 :] if end >= 0 else "")
    try:
        return read_document(open_file(path, rest.encode("utf-8", "surrogatepass")))
    except SourceError:
        return None


def _in_command(path: str, offset: int, line: str, project: Project) -> Proposals | None:
    flag, value = _FLAG.search(line), _FLAG_VALUE.search(line)
    found = flag or value
    if found is None:
        return None
    subject = subject_at(path, offset, project) or subject_at(path, offset - len(found[0]), project)
    run = subject.runs[0] if isinstance(subject, Argument) and subject.runs else subject
    if not isinstance(run, Run) or run.parser is None:
        return None
    owners, versions = run.parser.fields.bases, run.choices.newest(STACK)
    if flag is None:
        return Proposals(len(found["begun"]), list(_values(owners, found["key"].replace("-", "_"), versions)))
    return Proposals(len(found["begun"]) + 2, [one._replace(text=f"--{one.text}") for one in _names(owners, versions)])


def _names(owners: tuple[str, ...], versions: dict[str, str]) -> Iterator[Proposal]:
    seen: set[str] = set()
    for owner, _, signature in signatures(owners, versions):
        for name, parameter in signature.parameters.items():
            if name not in seen and not parameter.deprecated:
                seen.add(name)
                usual = f" = {parameter.default.strip('`')}" if parameter.default is not None else ""
                yield Proposal(name, f"{owner.rpartition('.')[2]}{usual}")


def _values(owners: tuple[str, ...], name: str, versions: dict[str, str]) -> Iterator[Proposal]:
    """The values that a field may have with these releases, where they are known, or true and false."""
    found: dict[str, None] = {}
    for owner, _, signature in signatures(owners, versions):
        parameter = signature.parameters.get(name)
        if parameter is not None and parameter.default in ("True", "False"):
            found.update(dict.fromkeys(("true", "false")))
        for rule in value_rules(owner):
            if rule.field == name and versions.get("trl") in rule.releases:
                found.update(dict.fromkeys(value for value in rule.allowed if re.fullmatch(r"[\w.-]+", value)))
    yield from (Proposal(value, name, True) for value in found)
