"""What is wrong with the entry of a data set in the file that lists them all, for the config that names it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from trl_lint import tracked
from trl_lint.knowledge.families import Index, arguments_of_kind
from trl_lint.knowledge.ranges import holds
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.run.columns.files import JSON, read_rows


def unfit(document: Document, name: str, table: Mapping[str, Any], path: str, project: Project) -> str:
    """Why a data set cannot be used as the document says, in words; "" where it can, or nobody knows.

    `table`: the entries of the file at `path`.
    """
    index, arguments, entry = document.definition.data_index, arguments_of_kind(document.kind), table[name]
    if index is None or arguments is None or not isinstance(entry, dict):
        return ""
    chosen = project.environment(document.path).choices.get(arguments.package)
    if chosen is None or not all(holds(index.releases, version) for version in chosen.releases):
        return ""
    if any(document.mapping is not None and document.mapping.get(key) is not None for key in index.unless):
        return ""
    listed = f"the entry of `{name}` in `{os.path.relpath(path, project.root)}`"
    if entry.keys().isdisjoint(index.sources):
        return f"{listed} says neither where the data are on the hub nor, with `{index.local}`, in which file"
    return _of_method(document, index, entry, listed) or _of_file(index, entry, listed, path, project)


def _of_method(document: Document, index: Index, entry: Mapping[str, Any], listed: str) -> str:
    """Pairs where the training asks for none, and none where it asks for pairs."""
    method = document.definition.method
    stage = document.value(method.key) if method is not None else None
    has_pairs = entry.get(index.ranking, False)
    if method is None or not isinstance(has_pairs, bool):
        return ""
    if stage in index.ranked and not has_pairs:
        return f"`{method.key}: {stage}` trains on pairs, and {listed} has no `{index.ranking}: true`"
    if stage in index.unranked and has_pairs:
        return f"`{method.key}: {stage}` takes no pairs, and {listed} has `{index.ranking}: true`"
    return ""


def _of_file(index: Index, entry: Mapping[str, Any], listed: str, path: str, project: Project) -> str:
    """A column that no row of a local file has."""
    name = entry.get(index.local)
    others = [source for source in index.sources if source != index.local]
    if not isinstance(name, str) or not name.endswith(JSON) or not entry.keys().isdisjoint(others):
        return ""
    file = os.path.normpath(os.path.join(os.path.dirname(path), name))
    if not tracked.is_file(file):
        return ""
    tracked.note_use(file)
    rows = read_rows("json", file, project)
    if rows is None:
        return ""
    for column, written in _columns(index, entry):
        if written not in rows.certain:
            shown = os.path.relpath(file, project.root)
            default = "" if isinstance(entry.get("columns"), dict) else ", the name by default"
            return f"no row of `{shown}` has `{written}`, which is the `{column}` of {listed}{default}"
    return ""


def _columns(index: Index, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The columns that are read of every row, and what they are called in the rows."""
    kind = entry.get("formatting", next(iter(index.columns)))
    given = entry.get("columns", index.defaults)
    if not isinstance(kind, str) or not isinstance(given, dict):
        return
    read = index.columns.get(kind, ())
    if index.label in read and not given.get(index.label):
        read = (*read, *(index.pairs if entry.get(index.ranking) is True else (index.answer,)))
    for column in read:
        written = given.get(column)
        if isinstance(written, str) and written:
            yield column, written
