"""What to do about a name that a release removed and that has no new name: `rules/compat/remedies.toml`.

A rename is not here: what a release announced is in the histories, and `renames.py` knows which of those are safe. Read
only where a finding is being written.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.presence import definitions_of
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import read_table
from trl_lint.records import NamedTuple

PATH = "compat/remedies.toml"
KINDS = ("argument", "attribute", "name", "module", "key", "flag")
_TEXTS = ("package", "kind", "releases", "do")
_LISTS = ("of", "names", "evidence")


class Remedy(NamedTuple):
    """A row of the table; the head of the file explains the fields. `line`: where the row begins in the file."""

    package: str
    kind: str
    of: tuple[str, ...]
    names: tuple[str, ...]
    releases: str
    do: str
    evidence: tuple[str, ...]
    line: int


@cache
def remedies() -> tuple[Remedy, ...]:
    """Every row. Raises ValueError with the file and the line of the first row that is malformed."""
    table = read_table(PATH)
    others = sorted(table.keys() - {"remedy"})
    if others or not isinstance(table.get("remedy"), list):
        raise ValueError(f"{PATH}: [[remedy]] rows and nothing else are expected")
    rows = table["remedy"]
    try:
        return tuple(read_remedy(row, 0) for row in rows)
    except ValueError:
        for row, line in zip(rows, _lines(), strict=True):  # lines are counted for a malformed table only
            read_remedy(row, line)
        raise


def located_remedies() -> Iterator[Remedy]:
    """Every row with its line, for whoever wants to say where a row is wrong. Raises ValueError as `remedies` does."""
    for row, line in zip(remedies(), _lines(), strict=True):
        yield row._replace(line=line)


def _lines() -> list[int]:
    import os

    from trl_lint.knowledge import rules_dir

    with open(os.path.join(rules_dir(), PATH), encoding="utf-8") as stream:
        return [number for number, line in enumerate(stream, 1) if line.strip() == "[[remedy]]"]


def read_remedy(row: dict[str, Any], line: int) -> Remedy:
    """One row. Raises ValueError for a field that is missing, unknown or of another type, and for another kind."""
    place = f"{PATH}:{line}: "
    if others := sorted(row.keys() - {*_TEXTS, *_LISTS}):
        raise ValueError(f"{place}no field {', '.join(map(repr, others))} is known")
    for name in (*_TEXTS, *_LISTS):
        if name not in row:
            raise ValueError(f"{place}{name!r} is missing")
        value = row[name]
        is_list = isinstance(value, list) and bool(value) and all(isinstance(item, str) and item for item in value)
        if not (is_list if name in _LISTS else isinstance(value, str) and value):
            raise ValueError(f"{place}{name!r} must be {'a list of texts' if name in _LISTS else 'a text'}")
    if row["kind"] not in KINDS:
        raise ValueError(f"{place}the kind {row['kind']!r} is none of {', '.join(KINDS)}")
    of, names, evidence = (tuple(row[name]) for name in _LISTS)
    return Remedy(row["package"], row["kind"], of, names, row["releases"], row["do"], evidence, line)


def releases_of(row: Remedy) -> tuple[str, ...]:
    """The recorded releases that a row is for. Raises ValueError where it names none, or is no PEP 440 specifier."""
    found = [version for version in releases(row.package) if holds(row.releases, version)]
    if not found:
        raise ValueError(f"{PATH}:{row.line}: {row.releases!r} names no release of {row.package}")
    return tuple(found)


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
    rows = _by_name().get((kind, name), ())
    found = next((row.do for owner in _owners(dotted) for row in rows if _is_for(row, owner, versions)), "")
    return found or (remedy_of_argument(dotted, name, versions) if kind == "attribute" else "")


def remedy_of_name(module: str, name: str, versions: dict[str, str]) -> str:
    """What to do about a name that a module does not have any more, "" if nothing is recorded."""
    rows = _by_name().get(("name", name), ())
    return next(
        (
            row.do
            for row in rows
            if any(f"{module}.".startswith(f"{home}.") for home in row.of) and _is_for_release(row, versions)
        ),
        "",
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


@lru_cache(maxsize=256)
def _owners(dotted: str) -> tuple[tuple[str, str], ...]:
    """The definitions behind a dotted name in any release, and their bases: (package, `Class` or `Class.method`)."""
    owner = dotted.rpartition(".")[0].rpartition(".")[2]
    method = f".{dotted.rpartition('.')[2]}" if owner[:1].isupper() else ""
    found = ((package, symbol.partition(":")[2] + method) for package, symbol in definitions_of(dotted))
    return tuple(dict.fromkeys(found))


def _is_for(row: Remedy, owner: tuple[str, str], versions: dict[str, str]) -> bool:
    return row.package == owner[0] and owner[1] in row.of and _is_for_release(row, versions)


def _is_for_release(row: Remedy, versions: dict[str, str]) -> bool:
    return row.package in versions and holds(row.releases, versions[row.package])
