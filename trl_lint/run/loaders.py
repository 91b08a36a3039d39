"""Who loads a config file of a project, by the commands that name it, its kind, and what stands in it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from trl_lint.knowledge.families import arguments_of
from trl_lint.knowledge.loaders import Loader, loaders
from trl_lint.knowledge.ranges import holds
from trl_lint.project import Project
from trl_lint.project.documents import Document, read_recipe
from trl_lint.run.linked_recipes import linked_recipe
from trl_lint.run.runs import Run, read_quietly
from trl_lint.sources import SourceError
from trl_lint.sources.nodes import Mapping, Sequence, walk


def loader_of(document: Document, project: Project, run: Run | None = None) -> tuple[Loader, ...]:
    """Who loads a document, in a run or whatever run there is; none where nobody can tell.

    Several rows are one loader, of which the releases in use differ.
    """
    found = tuple(row for row in loaders() if document.kind in row.kinds)
    if not found and run is not None:
        found = _of_run(run)
    if not found and isinstance(document.root, Mapping) and is_omegaconf(document.root):
        found = tuple(row for row in loaders() if row.library == "OmegaConf" and row.words)
    return _in_use(found, document, project)


def recipe_by_command(run: Run) -> Document | None:
    """The config file of a run that is none by itself: its program reads whatever file it is given."""
    found = linked_recipe(run)
    arguments = arguments_of(run.framework) if found is None else None
    link = run.link("recipe") if arguments is not None and arguments.config_first else None
    if link is None or link.status != "exact" or _is_recognised(link.paths[0], run.project):
        return found
    with suppress(OSError, SourceError):
        return read_recipe(run.project.files.get(link.paths[0]))
    return None


def _is_recognised(path: str, project: Project) -> bool:
    alone = read_quietly(path, project)
    return alone is not None and alone.kind != "other"


def _of_run(run: Run) -> tuple[Loader, ...]:
    kind = run.parser.kind.partition("-")[0] if run.parser is not None else ""
    by_parser = [row for row in loaders() if (kind and row.parser == kind) or run.framework in row.frameworks]
    program = run.launch.program
    if by_parser or (program is not None and not program.starts_programs):
        return tuple(by_parser)
    named = [row for row in loaders() if row.words and _holds(run, row.words)]
    first = [row for row in named if row.filling]
    if first:
        return tuple(row for row in first if row.name == first[0].name)
    return tuple(named) if len({row.library for row in named}) == 1 else ()


def _holds(run: Run, words: Iterable[str]) -> bool:
    path = run.launch.script_path
    with suppress(OSError, SourceError):
        return path is not None and any(run.project.files.holds(path, word.encode()) for word in words)
    return False


def _in_use(rows: tuple[Loader, ...], document: Document, project: Project) -> tuple[Loader, ...]:
    """The rows of which a release may be in use; all of them where no release is known."""
    choices = project.environment(document.path).choices
    found = []
    for row in rows:
        chosen = choices.get(row.package) if row.package else None
        if chosen is None or any(holds(row.releases, version) for version in chosen.releases):
            found.append(row)
    return tuple(found)


def is_omegaconf(root: Mapping) -> bool:
    """Whether a file is written for Hydra or OmegaConf: it has what their readers alone understand."""
    if isinstance(root.get("defaults"), Sequence) or isinstance(root.get("hydra"), Mapping):
        return True
    return any(
        path[-1:] == ("_target_",) or (isinstance(node.value, str) and "${" in node.value) for path, node in walk(root)
    )
