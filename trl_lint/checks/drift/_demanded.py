"""The releases that one place of a file runs with: those of its environment that the code before it admits."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from trl_lint.project.stack import Choices
from trl_lint.python.module import PythonModule

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.environment import Environment


def choices_at(module: PythonModule, node: ast.AST, project: Project, package: str) -> Choices | None:
    """The releases whose API is known that a place may run with; None as in `environment_at`."""
    environment = environment_at(module, node, project, package)
    return None if environment is None else environment.choices


def environment_at(module: PythonModule, node: ast.AST, project: Project, package: str) -> Environment | None:
    """The environment of a place of a module; None if it is never reached with any release that the pins allow.

    None, too, where code asks for releases of `package` that are not known: then nothing is certain of it.
    """
    from trl_lint.project.demands import demands_on

    around = project.environment(module.path)
    demands = demands_on(module, node, project)
    if not demands:
        return around
    if any(demand.package == package and demand.specifier is None for demand in demands):
        return None
    asked = sorted({f"{demand.package}{demand.specifier}" for demand in demands})
    key = (f"demanded {asked}", module.tree)
    if key not in module.memo:
        from trl_lint.project.narrowed import Narrowed

        narrowed = Narrowed(around, demands)
        module.memo[key] = narrowed if narrowed.is_possible else None
    return cast("Environment | None", module.memo[key])
