"""TRL402: data sets that a config lists with a type that reads a column of each row, and whose rows have none."""

from __future__ import annotations

import os
from collections.abc import Iterator

from trl_lint import tracked
from trl_lint.checks._runs import naming_launches
from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.configs._command_keys import is_left_alone
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.finding import Location
from trl_lint.knowledge.families import DataList, arguments_of_kind
from trl_lint.knowledge.ranges import holds
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.links import linked_files
from trl_lint.records import NamedTuple
from trl_lint.run.columns.files import JSON, read_rows
from trl_lint.sources.nodes import Entry, Mapping, Scalar, Sequence


class _Lacking(NamedTuple):
    """An entry of a list with its type, a column that is read of its rows and that none has, and their file."""

    entry: Entry
    kind: str
    column: str
    file: str


def unfit_rows(document: Document, rule: Rule, project: Project) -> Iterator[Problem]:
    """The entries of a document whose local files lack what the release reads of each row."""
    arguments = arguments_of_kind(document.kind)
    if arguments is None or document.mapping is None or not document.definition.data_list:
        return
    choices = project.environment(document.path).choices
    if arguments.package not in choices or choices[arguments.package].package.is_own:
        return
    launches = naming_launches(document, project)
    if any(launch.command.directory != "" or len(launch.args) > 1 for launch in launches):
        return  # the folder is another one there, or the command may say otherwise
    severity = Level(rule, not launches or any(each.is_mild for each in launches), of_code=False).severity
    for listed in document.definition.data_list:
        if not all(holds(listed.releases, version) for version in choices[arguments.package].releases):
            continue
        for item, kind in _typed(document.mapping, listed, document):
            found = _lacking(item, kind, listed, document, project)
            if found is None or is_left_alone(arguments, project):
                continue
            shown = os.path.relpath(found.file, project.root)
            yield Problem(
                document.place(found.entry),
                f"{arguments.shown} stops at the data: `{listed.type}: {found.kind}` reads `{found.column}` of each "
                f"row, and no row of `{shown}` has it (KeyError)",
                severity,
                (Location(found.file, 0, 0, "the rows"),),
            )


def _typed(root: Mapping, listed: DataList, document: Document) -> Iterator[tuple[Mapping, str]]:
    """The entries of the list of a type that is known, where the method is one that reads them so."""
    found, method = root.get(listed.list), document.definition.method
    if method is None or document.value(method.key) not in listed.methods or not isinstance(found, Sequence):
        return
    for item in found.items:
        kind = item.get(listed.type) if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(kind, Scalar) or not isinstance(kind.value, str):
            continue
        if kind.value in listed.types and all(item.get(key) is None for key in listed.unless):
            yield item, kind.value


def _lacking(item: Mapping, kind: str, listed: DataList, document: Document, project: Project) -> _Lacking | None:
    """The first column that no row has; None where all are there, or nobody knows."""
    path, entry = item.get(listed.path), item.entry(listed.type)
    name = path.value if isinstance(path, Scalar) else None
    if entry is None or not isinstance(name, str) or not name.endswith(JSON) or os.path.isabs(name):
        return None
    files = linked_files(name, document.source, "")
    own = f"{kind.partition('.')[0]}.py"
    if len(files) != 1 or own in _file_names(project):
        return None  # a module of the project is asked before those of the framework
    tracked.note_use(files[0])
    rows = read_rows("json", files[0], project)
    for column in listed.columns if rows is not None else ():
        said = item.get(listed.named[column]) if column in listed.named else None
        written = column if said is None else said.value if isinstance(said, Scalar) else None
        if rows is not None and isinstance(written, str) and written not in rows.certain:
            return _Lacking(entry, kind, written, files[0])
    return None


@per_project
def _file_names(project: Project) -> frozenset[str]:
    return frozenset(map(os.path.basename, project.paths))
