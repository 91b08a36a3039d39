"""Whether a command has to do with models at all, or only stands in the same project: `python tests/run.py`."""

from __future__ import annotations

import ast
import os
from contextlib import suppress
from functools import cache

from trl_lint import tracked
from trl_lint.checks.counted import TRAINS
from trl_lint.finding import Severity
from trl_lint.grading import beside
from trl_lint.knowledge.families import families
from trl_lint.memos import per_project
from trl_lint.paths import is_test_file
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.sources import SourceError

# Beside the modules of the families.
_PACKAGES = (
    "torch", "transformers", "trl", "accelerate", "peft", "deepspeed", "sglang", "llmtuner", "unsloth", "lightning",
    "pytorch_lightning", "ray", "datasets", "bitsandbytes",
)  # fmt: skip
_IMPORTS = rb"(?m)^[ \t]*(?:import|from)[ \t]"
# A folder of thousands of scripts need not be read to see what it is about.
_MOST_FILES = 50


def level_at(launch: Launch, project: Project, level: Severity) -> Severity:
    """The level of what is wrong with a command: a hint where it starts no training, and no server."""
    return beside(level, is_beside=not concerns_models(launch, project))


def concerns_models(launch: Launch, project: Project) -> bool:
    """Whether a command starts what may train, evaluate or serve a model; true where nobody can tell."""
    if launch.program is not None or launch.module or launch.script is None:
        return True
    name = launch.script.text
    is_test = name is not None and is_test_file(name)
    if name is None or (TRAINS.search(os.path.splitext(name)[0]) is not None and not is_test):
        return True
    if launch.candidates:
        return any(not is_test_file(path) and _is_about_models(path, project) for path in launch.candidates)
    if is_test and os.path.dirname(name):
        return False
    # A file that is not there is of the kind of those that would lie beside it, and else of what the project is for.
    places = (launch.command.directory or "", os.path.dirname(launch.source.path), project.root)
    folders = dict.fromkeys(os.path.normpath(os.path.join(place, os.path.dirname(name))) for place in places)
    paths = [path for folder in folders for path in _scripts(folder, project)]
    return not paths or any(_is_about_models(path, project) for path in paths)


def _is_about_models(path: str, project: Project) -> bool:
    """As far as the file itself says: one that imports nothing, or modules of the project, may be about anything."""
    with suppress(OSError, SourceError):
        if not path.endswith(".py") or not project.files.fits(path, _IMPORTS):
            return True
        return project.files.fits(path, _imports_of_models()) or _imports_own(path, project)
    return True


@cache
def _imports_of_models() -> bytes:
    modules = {name for family in families() for name in family.modules}
    return rb"(?m)^[ \t]*(?:import|from)[ \t]+(?:%s)\b" % "|".join(sorted({*_PACKAGES, *modules, "vllm"})).encode()


def _imports_own(path: str, project: Project) -> bool:
    from trl_lint.project.modules import is_of_project

    for statement in project.module_in(path).imports:
        names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else [statement.module]
        is_relative = isinstance(statement, ast.ImportFrom) and statement.level > 0
        if is_relative or any(name and is_of_project(name, path, project) for name in names):
            return True
    return False


@per_project
def _scripts(folder: str, project: Project) -> list[str]:
    try:
        names = [name for name in tracked.names(folder) if name.endswith(".py")]
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names[:_MOST_FILES]]
