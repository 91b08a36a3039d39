"""The columns of local data files, by their first rows: JSON, JSON lines and CSV of at most a megabyte."""

from __future__ import annotations

import os

from trl_lint import tracked
from trl_lint.memos import per_module, per_project
from trl_lint.project import Project
from trl_lint.project.links import bases, is_own_file
from trl_lint.python.module import PythonModule
from trl_lint.run.columns.known import kind_of_value
from trl_lint.run.columns.returned import Rows

MOST_BYTES = 1_000_000  # of a data file; the columns of a larger one are unknown
JSON = (".json", ".jsonl")
_MOST_ROWS = 200  # whose values tell the kind of a column; the names are those of all


@per_module
def rows_of_file(module: PythonModule, builder: str, name: str, project: Project) -> Rows | None:
    """The columns of a file that a script names; None where it is not there, too large or not understood.

    `builder`: `json` or `csv`, as `datasets.load_dataset` calls it with none of the keywords that change how it reads.
    """
    if os.path.isabs(name) or "://" in name or any(sign in name for sign in "*?[{"):
        return None
    found = []
    for base in bases(module.path):
        full = os.path.normpath(os.path.join(base, name))
        if tracked.is_file(full) and is_own_file(full, module.path):
            found.append(full)
    if len(found) != 1:
        return None
    tracked.note_use(found[0], by=module.path)
    return read_rows(builder, found[0], project)


@per_project
def read_rows(builder: str, path: str, project: Project) -> Rows | None:
    """The columns of a file, for whoever notes that they use it."""
    try:
        if tracked.is_larger(path, MOST_BYTES):
            return None
        with tracked.for_itself(path):
            text = tracked.read(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    try:
        return _of_csv(text) if builder == "csv" else _of_json(text)
    except (ValueError, RecursionError):
        return None


def _of_csv(text: str) -> Rows | None:
    import csv

    try:
        header = next(csv.reader(text.splitlines(keepends=True)), [])
    except csv.Error:
        return None
    return Rows(dict.fromkeys(header, "")) if header and all(header) else None


def _of_json(text: str) -> Rows | None:
    """The keys of all rows: where one lacks a key, the builder puts None."""
    import json

    rows: list[object]
    if text.lstrip()[:1] == "[":
        rows = json.loads(text)
    else:
        lines = [line for line in text.splitlines() if line.strip()]
        rows = [json.loads(line) for line in lines]
    certain: dict[str, str] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            return None
        for key, value in row.items():
            if number < _MOST_ROWS and not certain.get(key):
                certain[key] = kind_of_value(value)
            certain.setdefault(key, "")
    return Rows(certain) if rows else None
