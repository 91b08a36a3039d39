"""The answers to what a client asks about places: hovers, completions, lenses and links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from lsprotocol import types

from trl_lint.baseline import BaselineError
from trl_lint.editors.server.completion import proposals
from trl_lint.editors.server.hover import run_in_words, told_of
from trl_lint.editors.server.session import Session
from trl_lint.editors.server.subjects import runs_of, subject_at
from trl_lint.editors.server.wire import place, position, range_of, uri_of
from trl_lint.finding import Location
from trl_lint.project import Project
from trl_lint.project.pins import kind_of
from trl_lint.reports import visible
from trl_lint.reports.runs import counted, describe, gpu_roles
from trl_lint.run.overview import backend_of
from trl_lint.run.runs import Run
from trl_lint.settings_file import SettingsError
from trl_lint.sources import SourceError
from trl_lint.sources.requirements import read_requirements

SHOW_RUN = "trl-lint.showRun"


def _project(session: Session, path: str) -> Project | None:
    """The project of an open file as it is now; None where it cannot be read."""
    try:
        return session.desk.project(path) if session.view(path) is not None else None
    except (SettingsError, BaselineError):
        return None


def hover(session: Session, path: str, params: types.HoverParams) -> types.Hover | None:
    project, view = _project(session, path), session.view(path)
    if project is None or view is None:
        return None
    offset = view.offset(params.text_document.uri, place(params.position))
    subject = subject_at(path, offset, project)
    if subject is None:
        return None
    found = session.current(path)
    text = told_of(subject, path, project, found[1].findings if found is not None else ())
    where = subject.launch.location if isinstance(subject, Run) else subject.location
    if not text:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, text)
    return types.Hover(content, range_of(view.span(where.start, where.end)))


def completion(session: Session, path: str, params: types.CompletionParams) -> types.CompletionList:
    project, view = _project(session, path), session.view(path)
    if project is None or view is None:
        return types.CompletionList(False, [])
    offset = view.offset(params.text_document.uri, place(params.position))
    found = proposals(path, offset, project)
    if found is None:
        return types.CompletionList(False, [])
    end = position(place(params.position))
    start = types.Position(end.line, max(0, end.character - found.begun))  # names are ASCII in every encoding
    items = [
        types.CompletionItem(
            one.text.rstrip(":= "),
            detail=one.detail,
            kind=types.CompletionItemKind.EnumMember if one.is_value else types.CompletionItemKind.Field,
            text_edit=types.TextEdit(types.Range(start, end), one.text),
        )
        for one in found.items
    ]
    return types.CompletionList(False, items)


def lenses(session: Session, path: str) -> list[types.CodeLens]:
    """A line above each command that starts a run: what it starts."""
    project, view = _project(session, path), session.view(path)
    if project is None or view is None:
        return []
    found = []
    for run in runs_of(path, project):
        where = run.launch.location
        command = types.Command(_started(run), SHOW_RUN, arguments=[path, where.start])
        found.append(types.CodeLens(range_of(view.span(where.start, where.start)), command))
    return found


def _started(run: Run) -> str:
    """`train.py: 4 processes, GPUs 0-3 trainer, DeepSpeed ZeRO-3`."""
    facts = describe(run, os.getcwd())
    processes = facts["processes"]
    parts = ["an unknown number of processes" if processes is None else counted(processes["value"])]
    roles = gpu_roles(facts)
    for role in dict.fromkeys(roles.values()):
        parts.append(f"GPU {', '.join(gpu for gpu, one in roles.items() if one == role)} {role}")
    return visible(f"{run.name}: {', '.join([*parts, *filter(None, [backend_of(run)])])}")


def shown_run(session: Session, path: str, start: int) -> str:
    """What `trl-lint runs` says of the command at an offset of a file; "" where there is none."""
    project = _project(session, path)
    for run in runs_of(path, project) if project is not None else ():
        if run.launch.location.start == start:
            return run_in_words(run).removeprefix("```text\n").removesuffix("```")
    return ""


def links(session: Session, path: str) -> list[types.DocumentLink]:
    """The files that the commands in a file name, and those that a requirements file takes in."""
    project, view = _project(session, path), session.view(path)
    if project is None or view is None:
        return []
    found: dict[Location, str] = dict(_taken_in(path, project))
    for run in runs_of(path, project):
        for link in run.links:
            if link.status == "exact" and link.location.path == path:
                found[link.location] = link.paths[0]
    return [
        types.DocumentLink(range_of(view.span(where.start, where.end)), uri_of(target))
        for where, target in found.items()
    ]


def _taken_in(path: str, project: Project) -> Iterator[tuple[Location, str]]:
    """What `-r` and `-c` of a requirements file name, where that is there."""
    if kind_of(path) not in ("requirements", "constraints"):
        return
    with suppress(OSError, SourceError):
        for include in read_requirements(project.files.own(path).text).includes:
            target = os.path.normpath(os.path.join(os.path.dirname(path), include.path))
            if project.files.exists(target):
                yield Location(path, include.start, include.end), target
