"""The releases that a file can run with: what it imports exists there, and what it passes is taken.

A floor such as `trl>=0.9` allows releases that the file cannot be meant for. TRL301 and TRL302 say that the floor is
too low; what only those releases do is of no concern to the file.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial

from trl_lint.checks.drift._calls import accepts, arguments, known_calls
from trl_lint.checks.drift._classes import imported_names
from trl_lint.knowledge.api import resolve
from trl_lint.knowledge.histories import releases as released
from trl_lint.knowledge.presence import ChangePoints, Lookup, intervals, points_of_name, points_of_parameter
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.stack import Choices, demands_at
from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded


def runnable(module: PythonModule, known: Choices, project: Project, package: str) -> tuple[str, ...]:
    """The releases of a known package, out of those in `known`, that the whole file runs with; oldest first.

    What stands behind a requirement of its own (`require_version`) tells nothing about the rest.
    """
    table, releases = _known_runnable(module), known[package].releases
    key = package, releases[0], releases[-1], len(releases)
    if key not in table:
        table[key] = _runnable(module, known, project, package, releases)
    return table[key]


def last_that_runs(module: PythonModule, known: Choices, project: Project, package: str) -> str:
    """The newest of all known releases of a package that the whole file runs with as it is; "" where none does."""
    every = _runnable(module, known, project, package, released(package))
    return every[-1] if every else ""


@per_module
def _known_runnable(module: PythonModule) -> dict[tuple[str, str, str, int], tuple[str, ...]]:
    """What `runnable` has answered, by the package and its releases: the first, the last, and how many."""
    return {}


def _runnable(
    module: PythonModule, known: Choices, project: Project, package: str, left: tuple[str, ...]
) -> tuple[str, ...]:

    def is_set_apart(node: ast.AST) -> bool:
        return is_guarded(module, node) or any(one.package == package for one in demands_at(module, node, project))

    def narrow(dotted: str, name: str, points: Callable[[], ChangePoints], ask: Lookup) -> tuple[str, ...]:
        # Files of one environment import and pass the same things.
        question = ("runnable", package, dotted, name, *left)
        return known.remembered(question, lambda: having(left, known, package, points(), ask))

    for use in imported_names(module):
        if use.dotted.partition(".")[0] == package and not is_set_apart(use.node):
            left = narrow(use.dotted, "", partial(points_of_name, use.dotted), partial(_exists, use.dotted))
    for call, callee in known_calls(module):
        if is_set_apart(call):
            continue
        for argument in arguments(call):
            if argument.name not in callee.own:
                of = (callee.dotted, argument.name)
                left = narrow(*of, partial(points_of_parameter, *of), partial(accepts, *of))
    return left


def having(left: tuple[str, ...], known: Choices, package: str, points: ChangePoints, ask: Lookup) -> tuple[str, ...]:
    """The releases of a package that are not known to lack something.

    Where all of them lack it, but only beside the newest release of another package, none is told from the others.
    """
    if package not in points:
        return left
    found = tuple(v for v, there in _answers(left, known, package, points, ask) if there is not False)
    others = (other for other in points if other != package and other in known)
    if not found and any(
        there for other in others for _, there in _answers(known[other].releases, known, other, points, ask)
    ):
        return left
    return found


def _answers(
    versions: tuple[str, ...], known: Choices, package: str, points: ChangePoints, ask: Lookup
) -> Iterator[tuple[str, bool | None]]:
    newest = known.newest(points)
    for interval in intervals(package, versions, points.get(package, frozenset())):
        there = ask({**newest, package: interval[-1]})
        yield from ((version, there) for version in interval)


def _exists(dotted: str, versions: dict[str, str]) -> bool:
    return resolve(dotted, versions) is not ABSENT
