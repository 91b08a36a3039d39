"""TRL402: data sets that a config names, and that the file with all of them does not list (`dataset_info.json`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from trl_lint.checks._origins import is_mentioned
from trl_lint.checks._runs import naming_launches
from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.configs._command_keys import is_left_alone
from trl_lint.checks.configs._data_entries import unfit
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.knowledge.families import Index, arguments_of_kind
from trl_lint.memos import per_project
from trl_lint.project import Project, is_larger
from trl_lint.project.documents import Document
from trl_lint.project.links import linked_files
from trl_lint.run.effective import Setting, of_document
from trl_lint.sources.nodes import Entry, Scalar, Sequence
from trl_lint.sources.placeholders import is_marked
from trl_lint.words import nearest

_LARGEST = 1_000_000  # bytes of such a file; that of LLaMA-Factory has 20,000
_LIKENESS = 0.75
_MOST_GUESSED = 500  # entries among which a slip is looked for


def wrong_data_sets(document: Document, rule: Rule, project: Project) -> Iterator[Problem]:
    """The data sets of a document that no file in question lists, and those whose entry cannot be used as it stands."""
    index, arguments = document.definition.data_index, arguments_of_kind(document.kind)
    if index is None or arguments is None or document.mapping is None:
        return
    folder = _folder_of(document, index)
    paths = linked_files(os.path.join(folder, index.file), document.source, None) if folder else []
    tables = [_table_in(path, project) for path in paths]
    if not tables or None in tables:
        return
    launches = naming_launches(document, project)
    if any(launch.command.directory != "" for launch in launches):
        return  # the folder is another one there
    keys = (index.folder, *index.names)
    if any(key in (word.text or word.template) for launch in launches for word in launch.args for key in keys):
        return  # the command gives others
    known = {name for table in tables if table is not None for name in table}
    is_sure = any(not launch.is_mild and None not in [word.text for word in launch.args] for launch in launches)
    severity = Level(rule, not is_sure, of_code=False).severity
    for key in index.names:
        entry = document.mapping.entry(key)
        for name in _named(entry) if entry is not None else ():
            if name not in known:
                message = f"`{os.path.relpath(paths[0], project.root)}` lists no data set `{name}`{_hint(name, known)}"
            else:
                message = unfit(document, name, tables[0] or {}, paths[0], project) if len(paths) == 1 else ""
            if not message or entry is None or is_left_alone(arguments, project) or _is_written(index.file, project):
                continue
            yield Problem(document.place(entry), f"{arguments.shown} stops at start: {message}", severity, ())


def _hint(name: str, known: set[str]) -> str:
    guess = nearest(name, known, _LIKENESS) if len(known) <= _MOST_GUESSED else ""
    return f": did you mean `{guess}`?" if guess else ""


def _folder_of(document: Document, index: Index) -> str:
    """The folder of the file, "" where there is none or nobody knows."""
    said = of_document(document, index.folder)
    if not isinstance(said, Setting):
        return index.default
    value = said.value
    if not isinstance(value, str) or value.startswith(index.elsewhere) or is_marked(value):
        return ""
    return value


def _named(entry: Entry) -> Iterator[str]:
    """The names of a list, or of a text with commas; none where one of them is no plain text."""
    value = entry.value
    if isinstance(value, Sequence):
        items = [item.value if isinstance(item, Scalar) else None for item in value.items]
    else:
        text = value.value if isinstance(value, Scalar) else None
        items = list(text.split(",")) if isinstance(text, str) else [None]
    names = [item.strip() for item in items if isinstance(item, str)]
    if len(names) == len(items):
        yield from (name for name in names if name and not is_marked(name) and "$" not in name)


@per_project
def _is_written(name: str, project: Project) -> bool:
    """Whether something in the project may write the file before it is read."""
    return is_mentioned(name, project)


@per_project
def _table_in(path: str, project: Project) -> dict[str, Any] | None:
    """The entries of a JSON file; None where it cannot be read, or is no table."""
    try:
        found = None if is_larger(path, _LARGEST) else json.loads(project.files.read(path))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
