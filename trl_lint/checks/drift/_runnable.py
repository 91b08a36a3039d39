"""The releases that a file can run with: what it imports exists there, and what it passes is taken.

A floor such as `trl>=0.9` allows releases that the file cannot be meant for. TRL301 and TRL302 say that the floor is
too low; what only those releases do is of no concern to the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from trl_lint.checks.drift._calls import accepts, arguments, known_calls
from trl_lint.checks.drift.name_not_in_release import imported_names
from trl_lint.knowledge.api import ABSENT, resolve
from trl_lint.knowledge.presence import Ask, Points, points_of_name, points_of_parameter, stretches
from trl_lint.project.stack import Choices
from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded


def runnable(module: PythonModule, known: Choices, package: str) -> tuple[str, ...]:
    """The releases of a known package, out of those the pins allow, that the whole file runs with; oldest first."""
    key = (f"runnable {package}", module.tree)
    cached = module.memo.get(key)
    if cached is None:
        module.memo[key] = known[package].releases  # what is asked about this package on the way
        cached = module.memo[key] = _runnable(module, known, package)
    return cached  # type: ignore[return-value]


def _runnable(module: PythonModule, known: Choices, package: str) -> tuple[str, ...]:
    left = known[package].releases
    for use in imported_names(module):
        if use.dotted.partition(".")[0] == package and not is_guarded(module, use.node):
            left = having(left, known, package, points_of_name(use.dotted), partial(_exists, use.dotted), {})
    for call, callee in known_calls(module):
        if is_guarded(module, call):
            continue
        for argument in arguments(call):
            points = points_of_parameter(callee.dotted, argument.name)
            if argument.name not in callee.own and package in points:
                ask = partial(accepts, callee.dotted, argument.name)
                left = having(left, known, package, points, ask, _beside(module, known, package, callee.package))
    return left


def _beside(module: PythonModule, known: Choices, package: str, other: str) -> dict[str, str]:
    """The newest release of another package that the file runs with."""
    found = runnable(module, known, other) if other != package and other in known else ()
    return {other: found[-1]} if found else {}


def having(
    left: tuple[str, ...], known: Choices, package: str, points: Points, ask: Ask, beside: Mapping[str, str]
) -> tuple[str, ...]:
    """The releases that are not known to lack something; `beside`: versions of others that are not their newest."""
    newest = {**known.newest(points), **beside}
    return tuple(
        version
        for stretch in stretches(package, left, points.get(package, frozenset()))
        if ask({**newest, package: stretch[-1]}) is not False
        for version in stretch
    )


def _exists(dotted: str, versions: dict[str, str]) -> bool:
    return resolve(dotted, versions) is not ABSENT
