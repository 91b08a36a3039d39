"""What became of arguments: `rules/compat/renames.toml`, `moves.toml` and `loading.toml`, checked by hand in the
released code.

The histories know what a release announced. Whether it also took the old value over unchanged is not in them:
accelerate announced `project_dir` for `logging_dir`, but wrote it somewhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from trl_lint.knowledge.histories import block
from trl_lint.knowledge.presence import definitions_of
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.knowledge.signatures import read_method
from trl_lint.records import NamedTuple


class Rename(NamedTuple):
    """An announced rename. `of`: what announces it; `same`: the release takes the value over unchanged, see `why`.

    `releases`: those in which the new name takes such a value, where it had another meaning before.
    """

    package: str
    old: str
    new: str
    of: frozenset[str]
    same: bool
    why: str
    evidence: tuple[str, ...]
    releases: Range = ""


class Move(NamedTuple):
    """Arguments of a trainer that are fields of its config now: for each the fields, the newest name first."""

    package: str
    trainer: str
    config: str
    why: str
    evidence: tuple[str, ...]
    arguments: dict[str, tuple[str, ...]]


class RenamedModule(NamedTuple):
    """Names that a module took along when it was renamed."""

    package: str
    old: str
    new: str
    names: tuple[str, ...]
    why: str
    evidence: tuple[str, ...]


class Keyword(NamedTuple):
    """A keyword that a function hands on unread, under its new name; see the head of `rules/compat/loading.toml`."""

    package: str
    of: tuple[str, ...]
    old: str
    new: str
    deprecated: Range
    why: str
    evidence: tuple[str, ...]
    gone: str = ""
    value: str = ""
    becomes: str = ""


class _Keywords(NamedTuple):
    keyword: tuple[Keyword, ...]


class _Renames(NamedTuple):
    rename: tuple[Rename, ...]


class _Moves(NamedTuple):
    move: tuple[Move, ...]
    name: tuple[RenamedModule, ...]


@cache
def renames() -> tuple[Rename, ...]:
    """Every rename that was looked at. Raises KnowledgeError if the table is malformed."""
    return read_rows("compat/renames.toml", _Renames).rename


@cache
def keywords() -> tuple[Keyword, ...]:
    """Every keyword that is handed on unread. Raises KnowledgeError if the table is malformed."""
    return read_rows("compat/loading.toml", _Keywords).keyword


@cache
def _moves() -> _Moves:
    return read_rows("compat/moves.toml", _Moves)


def moves() -> tuple[Move, ...]:
    """Every trainer whose arguments moved. Raises KnowledgeError if the table is malformed."""
    return _moves().move


def renamed_modules() -> tuple[RenamedModule, ...]:
    """Every module that was renamed without a word. Raises KnowledgeError if the table is malformed."""
    return _moves().name


def is_same_value(dotted: str, old: str, new: str) -> bool:
    """Whether every class or function behind a name that announced `new` for `old` is known to take the value over."""
    if found := _rows(dotted, old, new):
        return all(row is not None and row.same for row in found)
    own = own_rename(dotted, old)
    return own is not None and own.new == new and own.same


def takers(dotted: str, old: str, new: str) -> Mapping[str, str]:
    """The releases, by package, in which a new name takes the value of the old one, where not all that have it do."""
    rows = _rows(dotted, old, new) or [own_rename(dotted, old)]
    return {row.package: row.releases for row in rows if row is not None and row.releases}


def own_rename(dotted: str, old: str) -> Rename | None:
    """What a file of the team says of an argument of a class, of its bases, or of a function; None if nothing."""
    from trl_lint.knowledge.own import own_rows

    rows = [row for row in own_rows(Rename) if row.old == old]
    owners = owners_of(dotted) if rows else ()
    return next((row for package, name in owners for row in rows if row.package == package and name in row.of), None)


@lru_cache(maxsize=256)
def owners_of(dotted: str) -> tuple[tuple[str, str], ...]:
    """The definitions behind a dotted name in any release, and their bases: (package, `Class` or `Class.method`)."""
    owner = dotted.rpartition(".")[0].rpartition(".")[2]
    method = f".{dotted.rpartition('.')[2]}" if owner[:1].isupper() else ""
    found = ((package, symbol.partition(":")[2] + method) for package, symbol in definitions_of(dotted))
    return tuple(dict.fromkeys(found))


@cache
def _rows(dotted: str, old: str, new: str) -> list[Rename | None]:
    """What is known of a rename, for each definition that announced it."""
    return [
        next((r for r in renames() if (r.package, r.old, r.new) == (package, old, new) and name in r.of), None)
        for package, name in announcers(dotted, old, new)
    ]


def rename_in_class(package: str, name: str, old: str) -> Rename | None:
    """What is known of the renamed parameter of a class, wherever that stood then; None where it is not one thing."""
    found = [row for row in renames() if (row.package, row.old) == (package, old) and name in row.of]
    return found[0] if len({row.new for row in found}) == 1 else None


def announcers(dotted: str, old: str, new: str) -> set[tuple[str, str]]:
    """The definitions behind a dotted name that announced in any release to use `new` instead of `old`."""
    found = set()
    method = f".{dotted.rpartition('.')[2]}"
    for package, symbol in definitions_of(dotted):
        defined = block(package, symbol)
        name = symbol.partition(":")[2]
        if defined is None:
            continue
        if any(value.lstrip("?") == new for _, value in defined.changes(f"!{old}")):
            found.add((package, name))
        for _, text in defined.changes(method):
            parameters = read_method(text).parameters if text.startswith("(") else {}
            if old in parameters and parameters[old].is_rename and parameters[old].successor == new:
                found.add((package, name + method))
    return found


def move_of(package: str, trainer: str, argument: str) -> Move | None:
    """Where an argument of a trainer went, None if it is not known to have moved."""
    return next(
        (m for m in moves() if (m.package, m.trainer) == (package, trainer) and argument in m.arguments),
        None,
    )


def home_of(module: str, name: str) -> str:
    """The module that a name of a renamed module is in, "" if it is not known to have been renamed."""
    return _homes().get(f"{module}.{name}", "")


@cache
def _homes() -> dict[str, str]:
    return {f"{row.old}.{name}": row.new for row in renamed_modules() for name in row.names}
