"""TRL309: a script imports Unsloth after a library that Unsloth rewrites when it is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.project.brought import is_imported_after_unsloth
from trl_lint.project.modules import is_of_project
from trl_lint.project.stack import environment_at
from trl_lint.python.module import PythonModule

# Whose presence Unsloth warns of: `critical_modules` in unsloth/__init__.py of 2025.3.1 to 2026.4.8, in _gpu_init.py of
# 2026.6.9 to 2026.10.9; not in 2025.2.15.
_REWRITTEN = ("trl", "transformers", "peft")
_WARNS = ">=2025.3.1"


# Names of transformers that nothing in Unsloth puts anything in the place of: read in unsloth 2025.11.1 and 2026.10.9,
# and in unsloth_zoo 2026.10.9.
_LEFT_ALONE = frozenset(
    ("DataCollatorForSeq2Seq", "DataCollatorWithPadding", "EarlyStoppingCallback", "HfArgumentParser",
     "StoppingCriteria", "StoppingCriteriaList", "TextIteratorStreamer", "TextStreamer", "TrainerCallback",
     "TrainerControl", "TrainerState", "get_scheduler", "set_seed")
)  # fmt: skip


class UnslothImportedLate(Rule):
    code = "TRL309"
    imports = ("unsloth",)
    words = (b"unsloth",)
    needles = (b"trl", b"transformers", b"peft")
    skips_tests = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        late = first_late(module, project)
        if late is None or is_of_project("unsloth", module.path, project):
            return  # none, or a module of Unsloth itself
        if is_imported_after_unsloth(module.path, project):
            return
        early, own = late
        environment = environment_at(module, own, project, "unsloth")
        is_harmless = not any(map(_is_rewritten, _imports_between(early, own, module)))
        verdict = environment and judge_pins(environment, {"unsloth": _WARNS}, Level(self, is_harmless))
        if verdict:
            package = next(name for name in _packages(early) if name in _REWRITTEN)
            what = "names that were imported by then stay as they were, slower and with more memory"
            if is_harmless:
                what = "it warns of that, though it rewrites none of the names that are imported here"
            yield self.finding(
                module.location(own),
                f"`{package}` is imported before Unsloth, which rewrites it when it is imported: {what}; "
                f"import unsloth first ({verdict.scope})",
                severity=verdict.severity,
                related=(module.location(early, f"{package} is imported here"), *verdict.related),
            )


def first_late(module: PythonModule, project: Project) -> tuple[ast.stmt, ast.stmt] | None:
    """The first import of a rewritten library and that of Unsloth which follows; None where Unsloth may come first."""
    early: ast.stmt | None = None
    for statement in module.tree.body:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            if any("unsloth" in (*_packages(node), *_texts(node)) for node in ast.walk(statement)):
                return None  # under a test, or in a function that something may call
            continue
        packages = _packages(statement)
        if "unsloth" in packages:
            return (early, statement) if early is not None else None
        if early is None and any(package in _REWRITTEN for package in packages):
            early = statement
        if early is None and (not packages or any(is_of_project(name, module.path, project) for name in packages)):
            return None  # a module of the project may import Unsloth
    return None


def _imports_between(first: ast.stmt, last: ast.stmt, module: PythonModule) -> list[ast.stmt]:
    """The imports of rewritten libraries from one statement of a module up to another one."""
    body = module.tree.body
    between = body[body.index(first) : body.index(last)]
    return [one for one in between if any(package in _REWRITTEN for package in _packages(one))]


def _is_rewritten(statement: ast.stmt) -> bool:
    """Whether an import may bind something that Unsloth puts something else in the place of."""
    if not isinstance(statement, ast.ImportFrom):
        return True
    return any(alias.name not in _LEFT_ALONE for alias in statement.names)


def _texts(node: ast.AST) -> list[str]:
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _packages(node: ast.AST) -> list[str]:
    """The packages that an import names, in its order; none for a module beside this one."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level and node.module:
        return [node.module.partition(".")[0]]
    return []


rule = UnslothImportedLate()
