"""What stands at a place of a file, of the things that something is known about."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.editors.server.keys import Key, key_in_document, key_of_override
from trl_lint.finding import Location
from trl_lint.knowledge import api
from trl_lint.knowledge.commands import command_classes
from trl_lint.knowledge.signatures import Signature
from trl_lint.missing import Missing
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launch_table import launches_in
from trl_lint.project.launches import holds_launches
from trl_lint.project.pins import Pin, is_manifest
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.overview import is_shown
from trl_lint.run.runs import Run, run_of, runs_with
from trl_lint.sources import SourceError
from trl_lint.sources.notebook import code_of

STACK = ("trl", "transformers")


class Argument(NamedTuple):
    """An argument or a key: its name, the classes that may take it (dotted), where it is written, and who reads it."""

    name: str
    owners: tuple[str, ...]
    location: Location
    runs: tuple[Run, ...] = ()


Subject = Argument | Key | Pin | Run


def subject_at(path: str, offset: int, project: Project) -> Subject | None:
    """What stands at an offset of a file; None where nothing is known about it."""
    with suppress(OSError, SourceError):
        if is_manifest(path) and (pin := _pin_at(path, offset, project)) is not None:
            return pin
        if path.endswith((".py", ".pyi", ".ipynb")) and (found := _keyword_at(path, offset, project)) is not None:
            return found
        document = project.document_in(path)
        if document is not None:
            key = key_in_document(document, offset) or _key_at(document, offset, project)
            if key is not None:
                return key
        return key_of_override(path, offset, project) or _of_run(path, offset, project)
    return None


def _holds(location: Location, offset: int) -> bool:
    return location.start <= offset <= location.end


def _pin_at(path: str, offset: int, project: Project) -> Pin | None:
    manifest = project.manifest_in(path)
    pins = manifest.pins if manifest is not None else ()
    return next((pin for pin in pins if pin.location.path == path and _holds(pin.location, offset)), None)


def _keyword_at(path: str, offset: int, project: Project) -> Argument | None:
    if path.endswith(".ipynb"):
        source = code_of(project.files.own(path))
        module = PythonModule(source) if source is not None else None
    else:
        module = project.module_in(path)
    for keyword in module.of(ast.keyword) if module is not None else ():
        call = module.parents.get(keyword) if module is not None else None
        if module is None or keyword.arg is None or not isinstance(call, ast.Call):
            continue
        place = module.location(keyword)
        place = place._replace(end=place.start + len(keyword.arg))
        if _holds(place, offset):
            return Argument(keyword.arg, tuple(sorted(module.names.origins(call.func))), place)
    return None


def _key_at(document: Document, offset: int, project: Project) -> Argument | None:
    if document.mapping is None:
        return None
    for entry in document.mapping.entries:
        place = document.source.location(entry.key.start, entry.key.end)
        if _holds(place, offset) and isinstance(entry.key.value, str):
            runs = readers_of(document.path, project)
            return Argument(entry.key.value, owners_of(document.path, project, document), place, runs)
    return None


def _of_run(path: str, offset: int, project: Project) -> Argument | Run | None:
    for run in runs_of(path, project):
        if not _holds(run.launch.location, offset):
            continue
        for word in run.launch.args:
            place = run.launch.source.location(word.start, word.end)
            if _holds(place, offset) and (word.text or "").startswith("--"):
                name = (word.text or "").lstrip("-").partition("=")[0].replace("-", "_")
                return Argument(name, _classes(run), place, (run,))
        return run
    return None


def runs_of(path: str, project: Project) -> list[Run]:
    """The runs whose command stands in a file and that train or serve, in the order of the text."""
    if not holds_launches(path):
        return []
    with suppress(OSError, SourceError):
        runs = [run_of(launch, project) for launch in launches_in(path, project)]
        return [run for run in runs if is_shown(run)]
    return []


def readers_of(path: str, project: Project) -> tuple[Run, ...]:
    """The runs that take arguments from a config file."""
    return tuple(run for run in runs_with(path, project) if path in _recipes(run))


def _recipes(run: Run) -> tuple[str, ...]:
    link = run.link("recipe")
    return link.paths if link is not None else ()


def owners_of(path: str, project: Project, document: Document | None) -> tuple[str, ...]:
    """The classes whose fields a config file sets, by the runs that read it, else by what it looks like."""
    found = [owner for run in readers_of(path, project) for owner in _classes(run)]
    if not found and document is not None and document.definition.recipe:
        found = list(command_classes(document.definition.command))
    return tuple(dict.fromkeys(found))


def _classes(run: Run) -> tuple[str, ...]:
    bases = run.parser.fields.bases if run.parser is not None else ()
    return tuple(dict.fromkeys([*bases, *([run.arguments_class] if run.arguments_class else [])]))


def signatures(owners: tuple[str, ...], versions: dict[str, str]) -> Iterator[tuple[str, str, Signature]]:
    """Each class that is known with these releases: dotted name, definition, and what it takes."""
    for owner in owners:
        found = api.resolve(owner, versions)
        if not isinstance(found, Missing) and not found.endswith(":"):
            yield owner, found, api.signature(found, versions)
