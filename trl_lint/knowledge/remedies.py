"""What to do about a name that a release removed and that has no new name: `rules/compat/remedies.toml`.

A rename is not here: what a release announced is in the histories, and `renames.py` knows which of those are safe. Read
only where a finding is being written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Literal, get_args

from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.own import own_rows
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.renames import own_rename, owners_of
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple

PATH = "compat/remedies.toml"
Kind = Literal["argument", "attribute", "name", "module", "key", "flag"]
KINDS: tuple[str, ...] = get_args(Kind)


class Remedy(NamedTuple):
    """A row of the table; the head of the file explains the fields."""

    package: str
    kind: Kind
    of: tuple[str, ...]
    names: tuple[str, ...]
    releases: Range
    do: str
    evidence: tuple[str, ...]
    renamed: str = ""
    dropped: str = ""
    written: str = ""
    call: str = ""
    understood: tuple[str, ...] = ()
    leave_out: bool = False

    def fault(self) -> str:
        """What is wrong with the row as a whole, "" if nothing is."""
        rewrites = [text for text in (self.renamed, self.dropped, self.written, self.call) if text]
        if rewrites and (self.kind != "name" or len(rewrites) > 1):
            return "one of `renamed`, `dropped`, `written` and `call` may be said, of a name that is imported"
        if self.leave_out and self.kind != "argument":
            return "`leave_out` may be said of an argument"
        empty = [name for name in ("of", "names", "evidence") if not getattr(self, name)]
        return f"`{empty[0]}` names nothing" if empty else ""


class _Table(NamedTuple):
    remedy: tuple[Remedy, ...]


@cache
def remedies() -> tuple[Remedy, ...]:
    """Every row. Raises KnowledgeError if the table is malformed."""
    return read_rows(PATH, _Table).remedy


# -- what a file of the team says -------------------------------------------------------------------------------------


def with_own_of_argument(said: str, dotted: str, name: str, versions: dict[str, str], kind: str = "argument") -> str:
    """What is to be done about an argument or a field, with what files of the team say of it behind it."""

    def is_meant(row: Remedy) -> bool:
        return row.kind in (kind, "argument") and any(_is_for(row, one, versions) for one in owners_of(dotted))

    return _with_own(said, name, is_meant)


def with_own_of_name(said: str, module: str, name: str, versions: dict[str, str]) -> str:
    """The same for a name of a module, or for a module."""

    def is_meant(row: Remedy) -> bool:
        is_inside = row.kind == "name" and any(f"{module}.".startswith(f"{home}.") for home in row.of)
        return (is_inside or (row.kind == "module" and module in row.of)) and _is_for_release(row, versions)

    return _with_own(said, name, is_meant)


def with_own_in(said: str, kind: str, owner: str, name: str, versions: dict[str, str]) -> str:
    """The same for a key of a configuration, one above it, or a flag of a program."""

    def is_meant(row: Remedy) -> bool:
        return row.kind == kind and owner in row.of and _is_for_release(row, versions)

    parts = name.split(".") if kind == "key" else [name]
    for count in range(len(parts), 0, -1):
        said = _with_own(said, ".".join(parts[:count]), is_meant)
    return said


def _with_own(said: str, name: str, is_meant: Callable[[Remedy], bool]) -> str:
    return "; ".join(filter(None, (said, *(r.do for r in own_rows(Remedy) if name in r.names and is_meant(r)))))


def use_instead(dotted: str, old: str, new: str, said: str = "", dashes: str = "") -> str:
    """The advice to use another argument, where nothing else is said; behind it where a file of the team says so."""
    own = own_rename(dotted, old)
    if own is None or own.new != new:
        return said or f"use `{dashes}{new}`"
    return "; ".join(filter(None, (said, f"use `{dashes}{new}`: {own.why}")))


# -- what the table says ----------------------------------------------------------------------------------------------


def releases_of(row: Remedy) -> tuple[str, ...]:
    """The recorded releases that a row is for."""
    return tuple(version for version in releases(row.package) if holds(row.releases, version))


@cache
def _by_name() -> dict[tuple[str, str], list[Remedy]]:
    found: dict[tuple[str, str], list[Remedy]] = {}
    for row in remedies():
        for name in row.names:
            found.setdefault((row.kind, name), []).append(row)
    return found


def remedy_of_argument(dotted: str, name: str, versions: dict[str, str], kind: str = "argument") -> str:
    """What to do about an argument of a class, function or method, "" if nothing is recorded.

    `dotted`: as code names it; a row for a base counts for the classes below. `versions`: of each package in use.
    `kind`: "attribute" for what is read from an object; a field is an attribute too.
    """
    found = row_of_argument(dotted, name, versions, kind)
    if found is None and kind == "attribute":
        found = row_of_argument(dotted, name, versions, "argument")
    return found.do if found is not None else ""


def row_of_argument(dotted: str, name: str, versions: dict[str, str], kind: str = "argument") -> Remedy | None:
    """The row for an argument of a class, function or method in these releases."""
    rows = _by_name().get((kind, name), ())
    return next((row for owner in owners_of(dotted) for row in rows if _is_for(row, owner, versions)), None)


def remedy_of_name(module: str, name: str, versions: dict[str, str]) -> str:
    """What to do about a name that a module does not have any more, "" if nothing is recorded."""
    found = row_of_name(module, name, versions)
    return found.do if found is not None else ""


def renamed_name(module: str, name: str, versions: dict[str, str]) -> str:
    """The name in the same module that took the place of one without a word of the release, "" if none is recorded."""
    found = row_of_name(module, name, versions)
    return found.renamed if found is not None else ""


def dropped_argument(module: str, name: str, versions: dict[str, str]) -> str:
    """The keyword that goes with a function that is gone, where it was given what that returned; "" if none."""
    found = row_of_name(module, name, versions)
    return found.dropped if found is not None else ""


def row_of_name(module: str, name: str, versions: dict[str, str]) -> Remedy | None:
    """The row for a name that a module does not have any more in these releases."""
    return next(
        (
            row
            for row in _by_name().get(("name", name), ())
            if any(f"{module}.".startswith(f"{home}.") for home in row.of) and _is_for_release(row, versions)
        ),
        None,
    )


def remedy_in(kind: str, owner: str, name: str, versions: dict[str, str]) -> str:
    """What to do about a module of a package, a key of a configuration or a flag of a program, "" if it is not known.

    A row for a key counts for all keys below it.
    """
    while name:
        rows = _by_name().get((kind, name), ())
        found = next((row.do for row in rows if owner in row.of and _is_for_release(row, versions)), "")
        if found:
            return found
        name = name.rpartition(".")[0] if kind == "key" else ""
    return ""


def _is_for(row: Remedy, owner: tuple[str, str], versions: dict[str, str]) -> bool:
    return row.package == owner[0] and owner[1] in row.of and _is_for_release(row, versions)


def _is_for_release(row: Remedy, versions: dict[str, str]) -> bool:
    return row.package in versions and holds(row.releases, versions[row.package])
