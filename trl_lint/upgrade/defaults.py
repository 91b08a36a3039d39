"""Defaults that are others in the release that is wanted, and the old values written down."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trl_lint.checks.drift._calls import known_calls
from trl_lint.checks.drift._defaults import Drift
from trl_lint.checks.drift._parsed import run_of_document, run_of_launch
from trl_lint.checks.drift.default_changed import found_in, is_test, name_of
from trl_lint.checks.rule import Site
from trl_lint.finding import Edit, Finding, Fix, Location
from trl_lint.knowledge.histories import positions
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.environment import Environment
from trl_lint.project.launch_table import all_launches
from trl_lint.project.launches import Launch
from trl_lint.project.stack import Choice, Choices
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError
from trl_lint.upgrade.decision import Decision

CODE = "default"
# How the table of defaults says the values of switches that a release did not have yet.
_SWITCHES = {"on": "True", "off": "False"}
_SET_BEFORE = ("pin", "lock", "target")


class Change(NamedTuple):
    """A place that leaves arguments to defaults which are others now. `edit` writes the old values of `kept` down."""

    location: Location
    owner: str
    drifts: tuple[Drift, ...]
    kept: tuple[Drift, ...]
    edit: Edit | None


class Between(Choices):
    """Of each package the release that ran before and the one that is wanted, and nothing in between."""

    def __init__(self, before: Environment, after: Environment) -> None:
        super().__init__(after)
        self._before = before

    def get(self, name: str) -> Choice | None:
        chosen = super().get(name)
        old = self._before.package(name)
        if chosen is None or old.source not in _SET_BEFORE or old.resolved is None:
            return chosen
        known = positions(name)
        first, last = str(old.resolved), chosen.newest
        if first not in known or known[first] >= known[last]:
            return chosen
        return Choice(chosen.package, (first, last), True, False, False)


def changes(project: Project, before: Project, asked: Iterable[str]) -> Iterator[Change]:
    """What the asked files of a project at the wanted releases leave to other defaults than `before`."""
    wanted = [path for path in asked if not is_test(os.path.relpath(path, project.root))]
    for path in wanted:
        between = Between(before.environment(path), project.environment(path))
        try:
            if path.endswith((".py", ".ipynb")):
                yield from _in_module(path, between, project)
            elif (document := project.document_in(path)) is not None:
                yield from _in_document(document, between, project)
        except (OSError, SourceError):
            continue  # reported where the file is checked
    for launch in all_launches(project):
        if launch.source.path in set(wanted) and not launch.is_documentation:
            path = launch.source.path
            yield from _in_launch(launch, Between(before.environment(path), project.environment(path)), project)


def findings_of_defaults(found: Iterable[Change]) -> Iterator[Finding]:
    """A finding with a fix for each place where the old values can be written down."""
    for change in found:
        if change.edit is not None:
            values = ", ".join(f"{drift.row.field}={drift.old}" for drift in change.kept)
            title = f"Keep {values}"
            yield Finding(CODE, title, change.location, "warning", fix=Fix(title, "safe", (change.edit,)))


def decisions_on_defaults(found: Iterable[Change]) -> Iterator[Decision]:
    """What behaves otherwise from now on, one entry for each default."""
    places: dict[tuple[str, ...], list[Location]] = {}
    for change in found:
        for drift in change.drifts:
            places.setdefault((drift.row.package, _said(drift)), []).append(change.location)
    for (package, text), mine in places.items():
        yield Decision("behaviour", text, tuple(dict.fromkeys(mine)), package=package)


def _said(drift: Drift) -> str:
    row = drift.row
    field = f"`{row.field}` of `{row.classes[0].rpartition('.')[2]}`"
    if row.given:
        return f"{field} means something else since {row.package} {row.since}: {row.effect}"
    return f"{field} is {drift.new} by default since {row.package} {row.since}, and was {drift.old}: {row.effect}"


# -- where defaults are relied on -------------------------------------------------------------------------------------


def _in_module(path: str, between: Between, project: Project) -> Iterator[Change]:
    module = project.module_in(path)
    for call, callee in known_calls(module):
        found = _serious(found_in(call, callee, between, module, between.releases), between)
        if found:
            edit = _edit_call(Site(call, module, project), kept := _to_keep(found))
            yield Change(module.location(call.func), name_of(callee), found, kept, edit)


def _in_document(document: Document, between: Between, project: Project) -> Iterator[Change]:
    run = run_of_document(document, project, between)
    found = _serious(run.found, between) if run is not None else ()
    if run is not None and found and document.mapping is not None:
        first = document.mapping.entries[0].key
        place = document.source.location(first.start, first.end)
        edit = _edit_document(document, kept := _to_keep(found))
        yield Change(place, run.parser.name, found, kept, edit)


def _in_launch(launch: Launch, between: Between, project: Project) -> Iterator[Change]:
    run = run_of_launch(launch, project, between)
    found = _serious(run.found, between) if run is not None else ()
    if run is not None and found:
        word = launch.script or launch.launcher_word
        edit = _edit_launch(launch, kept := _to_keep(found))
        yield Change(launch.source.location(word.start, word.end), run.parser.name, found, kept, edit)


def _serious(found: Sequence[Drift], between: Choices) -> tuple[Drift, ...]:
    """What alters the training; that a log looks otherwise is no decision."""
    return tuple(drift for drift in found if drift.row.level == "warning" and not _is_own(drift, between))


def _is_own(drift: Drift, between: Choices) -> bool:
    chosen = between.get(drift.row.package)
    return chosen is None or chosen.package.is_own


def _to_keep(found: Sequence[Drift]) -> tuple[Drift, ...]:
    """What can be written down: the old value is known, and the wanted release takes it."""
    return tuple(drift for drift in found if drift.is_taken and not drift.row.inside and _is_literal(drift.old))


# -- writing the old values down --------------------------------------------------------------------------------------


def _is_literal(text: str) -> bool:
    """Whether a value is told as Python writes it, and not in words."""
    try:
        ast.literal_eval(_SWITCHES.get(text, text))
    except (ValueError, SyntaxError):
        return False
    return True


def _values(kept: Sequence[Drift]) -> dict[str, Any]:
    """The old values by field."""
    return {drift.row.field: ast.literal_eval(_SWITCHES.get(drift.old, drift.old)) for drift in kept}


def _edit_call(site: Site, kept: Sequence[Drift]) -> Edit | None:
    from trl_lint.python.islands import rewrite, with_keyword

    values = _values(kept)
    if not values:
        return None

    def stated(call: Any) -> Any:
        for name, value in values.items():
            call = with_keyword(call, name, repr(value))
        return call

    return rewrite(site, site.call, stated)


def _edit_document(document: Document, kept: Sequence[Drift]) -> Edit | None:
    """New keys at the end of a recipe in YAML, at the beginning of one in JSON."""
    values, mapping, text = _values(kept), document.mapping, document.source.text
    if not values or mapping is None or any(_is_nested(value) for value in values.values()):
        return None
    first = mapping.entries[0].key
    if document.source.language == "json":
        gap = text[mapping.start + 1 : first.start]
        new = "".join(f"{json.dumps(name)}: {json.dumps(value)},{gap}" for name, value in values.items())
        return document.source.edit(first.start, first.start, new)
    if _has_several_parts(text) or text[:1] == "{" or text.rfind("\n", 0, first.start) + 1 != first.start:
        return None
    end = "\r\n" if "\r\n" in text else "\n"
    new = "".join(f"{name}: {json.dumps(value)}{end}" for name, value in values.items())
    return document.source.edit(len(text), len(text), new if text.endswith("\n") else end + new)


def _is_nested(value: object) -> bool:
    return isinstance(value, (list, dict, tuple, set))


def _has_several_parts(text: str) -> bool:
    """Whether a YAML stream ends a document by hand, or has several."""
    return "\n---" in text or "\n..." in text


def _edit_launch(launch: Launch, kept: Sequence[Drift]) -> Edit | None:
    values = _values(kept)
    if not values or not launch.args or any(value is None or _is_nested(value) for value in values.values()):
        return None
    new = "".join(f" --{name} {value}" for name, value in values.items())
    return launch.source.edit(launch.args[-1].end, launch.args[-1].end, new)
