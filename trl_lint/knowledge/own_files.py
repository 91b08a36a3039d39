"""Reading a team's own advisories, renames and remedies: files in the form of `rules/compat`, as data alone.

Any package may be named, and any range: what a team knows of may be its own package, or newer than our lists.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trl_lint import tracked
from trl_lint.knowledge import KnowledgeError, history_names
from trl_lint.knowledge.compat import Advisory
from trl_lint.knowledge.own import Own
from trl_lint.knowledge.remedies import Remedy
from trl_lint.knowledge.renames import Rename
from trl_lint.knowledge.rows import ANY_PACKAGE, line_of, read_record
from trl_lint.records import NamedTuple
from trl_lint.sources.requirements import normalised

MOST_BYTES = 256_000  # a larger file is refused
MOST_FILES = 16  # more are refused
# What goes into files that a fix writes is for the tool's own tables; of own rows, a rename is.
_REWRITING = ("renamed", "dropped", "written", "call", "understood", "leave_out")
_MOST_CHARACTERS = 500  # of a text: it goes into messages


class _Table(NamedTuple):
    advisory: tuple[Advisory, ...] = ()
    rename: tuple[Rename, ...] = ()
    remedy: tuple[Remedy, ...] = ()


def read_own(paths: Mapping[str, str]) -> Own:
    """The rows of files: by their absolute paths, how these are shown.

    What a row says names its file and the first piece of its evidence.

    Raises KnowledgeError, with the path and the line, for a file that cannot be read or is not in the form.
    """
    if len(paths) > MOST_FILES:
        raise KnowledgeError(f"`knowledge` names more than {MOST_FILES} files")
    tables = [(path, _read(path, place)) for path, place in paths.items()]
    advisories = [
        # No advisory of `rules/compat` and of no other file has this id.
        _told(row, "message", path)._replace(id=f"{path}:{number}:{row.id}")
        for path, table in tables
        for number, row in enumerate(table.advisory)
    ]
    return {
        Advisory: tuple(advisories),
        Rename: tuple(_told(row, "why", path) for path, table in tables for row in table.rename),
        Remedy: tuple(_told(row, "do", path) for path, table in tables for row in table.remedy),
    }


def _told(row: Any, field: str, path: str) -> Any:
    source = ", ".join((os.path.basename(path), *row.evidence[:1]))
    return row._replace(**{field: f"{getattr(row, field)} ({source})"})


def _read(path: str, place: str) -> _Table:
    import tomli

    try:
        if tracked.is_larger(path, MOST_BYTES):
            raise KnowledgeError(f"{place}: larger than {MOST_BYTES:,} bytes")
        text = tracked.read(path).decode("utf-8-sig")
        values = tomli.loads(text)
    except OSError as error:
        raise KnowledgeError(f"{place}: {tracked.reason(error)}") from None
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, brackets without end
        raise KnowledgeError(f"{place}: not valid TOML: {error}") from None
    for keys, said in _texts(values):
        if not said.isprintable() or len(said) > _MOST_CHARACTERS:
            limit = f"one line of at most {_MOST_CHARACTERS} printable characters is expected"
            raise KnowledgeError(f"{place}:{line_of(text, keys)}: {limit}")
    table = read_record(values, _Table, place, text, package=ANY_PACKAGE)
    for keys, fault in _faults(table):
        raise KnowledgeError(f"{place}:{line_of(text, keys)}: {fault}")
    return table


def _faults(table: _Table) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What the form allows and rows of a team cannot mean, with the keys that lead there."""
    for number, advisory in enumerate(table.advisory):
        for name in advisory.packages:
            if name != normalised(name):
                yield ("advisory", number, "packages", name), f"`{name}`: pins are looked up as `{normalised(name)}`"
    recorded = history_names("api") if table.rename or table.remedy else []
    kinds: dict[str, Sequence[Rename | Remedy]] = {"rename": table.rename, "remedy": table.remedy}
    for kind, rows in kinds.items():
        for number, row in enumerate(rows):
            if row.package not in recorded:
                said = f"`{row.package}` is no package whose arguments and names are recorded"
                yield (kind, number, "package"), f"{said} (those are {', '.join(recorded)})"
    for number, remedy in enumerate(table.remedy):
        for field in (field for field in _REWRITING if getattr(remedy, field)):
            yield ("remedy", number, field), f"`{field}`: a remedy of your own says what to do, and rewrites nothing"


def _texts(values: Any) -> Iterable[tuple[tuple[str | int, ...], str]]:
    """Every key and text of a TOML file, with the keys that lead there."""
    left: list[tuple[tuple[str | int, ...], Any]] = [((), values)]
    while left:
        keys, value = left.pop()
        if isinstance(value, str):
            yield keys, value
        elif isinstance(value, dict):
            yield from ((keys, key) for key in value)
            left.extend(((*keys, key), one) for key, one in value.items())
        elif isinstance(value, list):
            left.extend(((*keys, number), one) for number, one in enumerate(value))
