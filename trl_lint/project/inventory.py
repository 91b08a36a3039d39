"""The distinct environments of a project: which files run with the same releases, and where that is written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from packaging.version import Version

from trl_lint.paths import MARKDOWN
from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.project.packages import Origin, Package
from trl_lint.project.pins import Pin
from trl_lint.project.stack import PACKAGES
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import SourceError

_CODE = (".py", ".ipynb")
_IMPORT = regex(rb"""(?:^|["'])[ \t]*(?:import|from)[ \t]+(%s)\b""" % "|".join(PACKAGES).encode(), re.MULTILINE)


class Facts(NamedTuple):
    """What is known about one package in an environment; `releases` are the allowed ones, None if nobody knows them.

    `resolved` is the locked release or the one that pip takes, None if unknown; `because` are the pins of others that
    decide it where no pin of its own does. `is_tip`: it comes from the main branch of its repository.
    """

    name: str
    specifier: str
    releases: tuple[Version, ...] | None
    resolved: Version | None
    source: Origin
    is_own: bool
    is_tip: bool
    pins: tuple[Pin, ...]
    because: tuple[Pin, ...] = ()


class Overview(NamedTuple):
    """One environment: the files that run in it (absolute paths) and the packages something is known about."""

    project: Project
    files: tuple[str, ...]
    packages: tuple[Facts, ...]


def overviews(project: Project, paths: Iterable[str]) -> list[Overview]:
    """The environments of some files of a project, each once; that of their folder where none of them holds code."""
    paths = list(paths)
    code = [path for path in paths if is_code(path)]
    by_environment: dict[Environment, list[str]] = {}
    for path in code:
        by_environment.setdefault(project.environment(path), []).append(path)
    if not code:
        folder = os.path.commonpath([os.path.dirname(path) for path in paths] or [project.root])
        by_environment[project.environment(os.path.join(folder, "_"))] = []
    # Folders without pins of their own share what stands above them.
    merged: dict[tuple[Facts, ...], list[str]] = {}
    environments: dict[tuple[Facts, ...], Environment] = {}
    for environment, files in by_environment.items():
        packages = tuple(_mentioned(environment, project))
        merged.setdefault(packages, []).extend(files)
        environments.setdefault(packages, environment)
    found = []
    for packages, files in merged.items():
        named = {facts.name for facts in packages}
        # Where no file is code, what pages show of it.
        imported = [name for name in _imported(files or _pages(paths), project) if name not in named]
        assumed = (_assumed(environments[packages], name) for name in imported)
        found.append(Overview(project, tuple(sorted(files)), (*packages, *assumed)))
    return found


def _pages(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path.endswith(MARKDOWN)]


def is_code(path: str) -> bool:
    """Whether a file is run with an environment, and does not make one."""
    return path.endswith(_CODE) and os.path.basename(path) != "setup.py"


def _mentioned(environment: Environment, project: Project) -> Iterator[Facts]:
    """The packages that something is known about and that pins, targets or the project itself name."""
    from trl_lint.knowledge.releases import known_packages
    from trl_lint.knowledge.requirements import providers

    for name in dict.fromkeys((*PACKAGES, *providers(), *known_packages(), *project.settings.targets)):
        package = environment.package(name)
        if (package.pins and package.source != "told") or package.is_own or package.source == "target":
            yield facts_of(environment, package)


def facts_of(environment: Environment, package: Package) -> Facts:
    """What is known about a package, and the release that pip takes of those that its pins allow."""
    resolved = package.resolved
    if package.source == "pin" and len(package.allowed or ()) > 1 and not package.is_own:
        from trl_lint.project.resolution import taken

        resolved = taken(environment, package.name) or resolved
    return Facts(
        package.name,
        package.specifier,
        package.allowed,
        resolved,
        package.source,
        package.is_own,
        package.is_tip,
        package.pins,
        package.because,
    )


def _assumed(environment: Environment, name: str) -> Facts:
    """A package that the code imports and nothing pins: what is told, or the newest that the pinned ones accept."""
    facts = facts_of(environment, environment.package(name))
    chosen = environment.choices.get(name)
    if chosen is None or facts.source == "told":
        return facts
    from trl_lint.knowledge.releases import parse_version

    resolved = parse_version(chosen.newest)
    return facts._replace(resolved=resolved, releases=(resolved,) if resolved is not None else None)


def _imported(files: Iterable[str], project: Project) -> list[str]:
    """The packages of the training stack that some files import."""
    found: set[str] = set()
    for path in files:
        try:
            found.update(match.decode() for match in _IMPORT.findall(project.files.get(path).data))
        except (OSError, SourceError):
            continue  # reported where the file is checked itself
    return [name for name in PACKAGES if name in found]


def covered(files: Iterable[str], everything: Iterable[str], root: str) -> list[str]:
    """Files in few words: folders (ending in a separator) whose code is all among them, else the files themselves."""
    mine, total = _count(files, root), _count(everything, root)
    found: dict[str, None] = {}
    for path in files:
        shown, folder = path, os.path.dirname(path)
        while mine[folder] == total.get(folder, 0):
            shown = os.path.join(folder, "")
            if folder == root:
                break
            folder = os.path.dirname(folder)
        found[shown] = None
    return list(found)


def _count(files: Iterable[str], root: str) -> dict[str, int]:
    """How many of the files are below each folder of a project."""
    counts: dict[str, int] = {}
    for path in files:
        folder = os.path.dirname(path)
        while True:
            counts[folder] = counts.get(folder, 0) + 1
            if folder == root or os.path.dirname(folder) == folder:
                break
            folder = os.path.dirname(folder)
    return counts
