"""What the rules about the packages of the stack have in common: they need an import of one that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.checks.rule import Rule
from trl_lint.project.stack import PACKAGES
from trl_lint.python.imports import imports_in

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.sources import SourceFile


class AboutPackages(Rule):
    """A rule that judges the names which a module imports from the packages of the stack."""

    glances = True

    def may_concern(self, file: SourceFile, project: Project) -> bool:
        return imports_known(file, project)


def imports_known(file: SourceFile, project: Project) -> bool:
    """Whether a file imports from a package whose releases in use are recorded.

    Those of a package under development are not: most files of its own repository need not be parsed.
    """
    key = ("imports known packages", file.path)
    if key not in project.memo:
        packages = {(one.module or one.name).partition(".")[0] for one in imports_in(file.data)}
        known = project.environment(file.path).choices
        project.memo[key] = any(name in known for name in PACKAGES if name in packages)
    return bool(project.memo[key])
