"""What may be written at a place: the keys of a recipe and the flags of a command, and their values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint.editors.server.keys import keys_below, keys_to_override, launch_at, values_for, values_to_override
from trl_lint.editors.server.subjects import STACK, Argument, owners_of, signatures, subject_at
from trl_lint.knowledge.values import value_rules
from trl_lint.project import Project
from trl_lint.project.documents import Document, read_document
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.sources import SourceError
from trl_lint.sources.files import open_file

_KEY = regex(r"[\w.]*\Z")
_VALUE = regex(r"(?P<key>\w+)[ \t]*:[ \t]*[\"']?(?P<begun>[\w.-]*)\Z")
_NESTED = regex(r"(?P<indent> *)(?P<begun>\w*)\Z")
_NESTED_VALUE = regex(r"(?P<indent> *)(?P<key>\w+)[ \t]*:[ \t]*[\"']?(?P<begun>[\w.-]*)\Z")
_BLOCK = regex(r"(?P<indent> *)(?P<key>\w+)[ \t]*:[ \t]*(?:#.*)?\Z")
_OVERRIDE = regex(r"(?:\A|[ \t])[\"']?(?:\+\+|\+|~|)(?P<begun>[A-Za-z_][\w.]*)\Z")
_OVERRIDE_VALUE = regex(r"(?:\A|[ \t])[\"']?(?:\+\+|\+|)(?P<key>[A-Za-z_][\w.]*)=[\"']?(?P<begun>[\w.-]*)\Z")
_FLAG = regex(r"(?:\A|[ \t])--(?P<begun>[\w-]*)\Z")
_FLAG_VALUE = regex(r"(?:\A|[ \t])--(?P<key>[\w-]+)[ =](?P<begun>[\w.-]*)\Z")


_TRUTHS = ("true", "false")


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
        document = _without_line(path, offset, text)
        return _in_block(document, text[:offset], project) or _in_recipe(path, line, document, project)
    return _in_command(path, offset, line, project) or _in_override(path, offset, line, project)


def _in_block(document: Document | None, before: str, project: Project) -> Proposals | None:
    """The keys that a block of a config takes, by the lines before."""
    *lines, line = before.split("\n")
    key, value = _NESTED.match(line), _NESTED_VALUE.match(line)
    found = key or value
    if document is None or found is None:
        return None
    above, depth = "", len(found["indent"])
    for one in reversed(lines):
        if not depth:
            break
        own = len(one) - len(one.lstrip(" "))
        if own >= depth or not one.strip() or one.lstrip().startswith("#"):
            continue
        block = _BLOCK.match(one)
        if block is None:
            return None
        above, depth = f"{block['key']}.{above}", own
    keys = keys_below(document, above, project)
    if not keys:
        return None
    begun = len(found["begun"])
    if value is None:
        return Proposals(begun, [Proposal(f"{name}: ", _usual(default)) for name, default in keys.items()])
    name = value["key"]
    values = values_for(document, above + name, keys.get(name, ""), project)
    return Proposals(begun, [Proposal(one, name, True) for one in values])


def _usual(default: str) -> str:
    return f"default {default.strip('`')}" if default not in ("", "*") else ""


def _in_override(path: str, offset: int, line: str, project: Project) -> Proposals | None:
    """The keys that a Hydra command may override."""
    key, value = _OVERRIDE.search(line), _OVERRIDE_VALUE.search(line)
    found = key or value
    if found is None:
        return None
    launch = launch_at(path, offset, project) or launch_at(path, offset - len(found[0]), project)
    if launch is None:
        return None
    keys = dict(keys_to_override(launch, offset, project))
    if value is not None:
        name = value["key"]
        is_truth = isinstance(keys.get(name), bool)
        values = _TRUTHS if is_truth else values_to_override(launch, offset, name, project)
        return Proposals(len(value["begun"]), [Proposal(one, name, True) for one in values])
    above = found["begun"].rpartition(".")[0]
    items = [
        Proposal(f"{name}=", _shown(one)) for name, one in keys.items() if not above or name.startswith(f"{above}.")
    ]
    return Proposals(len(found["begun"]), items) if items else None


def _shown(value: object) -> str:
    return f"default {value}" if isinstance(value, (str, int, float)) else ""


def _in_recipe(path: str, line: str, document: Document | None, project: Project) -> Proposals | None:
    key, value = _KEY.match(line), _VALUE.match(line)
    if key is None and value is None:
        return None
    owners = owners_of(path, project, document)
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
