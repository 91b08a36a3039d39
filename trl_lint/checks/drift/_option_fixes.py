"""Giving a key of a recipe or a flag of a command its new name.

Imported where a finding is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trl_lint.checks.drift._calls import accepts
from trl_lint.checks.drift._moves import is_settled, takes_over
from trl_lint.checks.drift._past import Past
from trl_lint.finding import Fix
from trl_lint.knowledge.renames import is_same_value
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.records import NamedTuple
from trl_lint.run.parsers import ScriptParser
from trl_lint.sources import Source
from trl_lint.sources.nodes import Entry
from trl_lint.sources.shell import Word


class Reader(NamedTuple):
    """A parser that may read a name, and what became of the field of `owner` that it sets. `newest`: see
    `Choices.newest`.
    """

    parser: ScriptParser
    past: Past | None
    owner: str
    newest: dict[str, str]


class _NewName(NamedTuple):
    """What a name is called now; `is_safe` where it means the same, with every release that may be installed."""

    name: str
    is_safe: bool


def edit_key(
    entry: Entry, readers: Sequence[Reader], is_linked: bool, document: Document, project: Project
) -> Fix | None:
    """Rename a key where its own release announced the new name; unsafe where no command says who reads the recipe.

    Withheld where the recipe has the new name already, or may get it from another place.
    """
    old, mapping = str(entry.key.value), document.mapping
    new = _new_name(old, readers, project)
    if new is None or mapping is None or mapping.merged or entry.key.alias or mapping.entry(new.name) is not None:
        return None
    end = entry.key.end - (1 if entry.key.quoted else 0)
    return _rename(document.source, end - len(old), old, new.name, new.is_safe and is_linked)


def edit_flag(
    name: str, word: Word, given: Iterable[str], readers: Sequence[Reader], launch: Launch, project: Project
) -> Fix | None:
    """Rename a flag where its own release announced the new name. `given`: the flags of the command.

    Withheld where one of them is the new name or an abbreviation of it, and where the flag is put together.
    """
    new = _new_name(name, readers, project)
    if new is None or any(new.name.startswith(other) for other in given):
        return None
    shown = launch.source.text[word.start + 2 : word.start + 2 + len(name)]
    if not launch.source.text.startswith("--", word.start) or shown.replace("-", "_") != name:
        return None
    wanted = new.name.replace("_", "-") if "-" in shown else new.name
    return _rename(launch.source, word.start + 2, shown, wanted, new.is_safe)


def _rename(source: Source, start: int, old: str, new: str, is_safe: bool) -> Fix | None:
    if source.text[start : start + len(old)] != old:
        return None  # written with an escape
    edit = source.edit(start, start + len(old), new)
    return Fix(f"Rename `{old}` to `{new}`", "safe" if is_safe else "unsafe", (edit,))


def _new_name(old: str, readers: Sequence[Reader], project: Project) -> _NewName | None:
    """What all parsers that may read a name take in its place; one that never had it is none of those who do."""
    found = {_new_name_of(old, reader, project) for reader in readers if reader.past is not None}
    names = {one.name if one is not None else "" for one in found}
    if len(names) != 1 or "" in names:
        return None
    return _NewName(names.pop(), all(one is not None and one.is_safe for one in found))


def _new_name_of(old: str, reader: Reader, project: Project) -> _NewName | None:
    parser, past, owner = reader.parser, reader.past, reader.owner
    if past is None or not past.is_rename or not past.successor.isidentifier():
        return None
    new, known = past.successor, project.environment(parser.path).choices
    if new in parser.fields.own or new in parser.flags or not takes_over(owner, old, new, known):
        return None
    if sum(accepts(dotted, new, reader.newest) is not False for dotted in parser.fields.bases) != 1:
        return None  # another class would read it as well
    is_safe = is_same_value(owner, old, new) and is_settled(owner, new, past.elsewhere.package, known)
    return _NewName(new, is_safe)
