"""Packages that other modules of the project import for a script, and that may change what it imports itself."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain

from trl_lint import budget
from trl_lint.memos import per_module, per_project, read_per_project
from trl_lint.project import Project
from trl_lint.project.callers import files_calling, python_files
from trl_lint.project.modules import is_of_project, known_file
from trl_lint.project.reached import name_of
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.sources import SourceError

_ALL = frozenset("*")
_STEPS = 3  # from module to module: a helper of a helper


def brings(package: str, module: PythonModule, project: Project) -> bool:
    """Whether a module that this one imports imports a package, or has a function for that which is imported here.

    Followed are modules in which the package's name stands, and what a folder's `__init__.py` imports.
    """
    imports = _imports(module, module.imports, project)
    return any(_is_brought(package, path, names, _STEPS, project) for path, names in imports)


def is_imported_after_unsloth(path: str, project: Project) -> bool:
    """Whether a module of the project, no test, imports this file after Unsloth, or imports what imports it then."""
    return path in _imported_after_unsloth(project)


@read_per_project
def _imported_after_unsloth(project: Project) -> frozenset[str]:
    """The files that some module of the project imports after Unsloth, and all that these import."""
    waiting = list(_taken_after("unsloth", project))
    found: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            with suppress(OSError, SourceError):
                module = project.module_in(path)
                waiting += (other for other, _ in _imports(module, module.imports, project))
    return frozenset(found)


def _taken_after(package: str, project: Project) -> Iterator[str]:
    """The files that modules import below the statement by which they, or a module of the project, import the package.

    Of a folder whose `__init__.py` imports the package all that is in it.
    """
    if is_of_project(package, os.path.join(project.root, "_.py"), project):
        return
    waiting = asked = set(files_calling(package, project))
    for _ in range(_STEPS):
        stems = {name_of(path).encode(errors="replace") for path in waiting}
        waiting = {path for path in python_files(project) if stems and _names_any(path, stems, project)} - asked
        asked = asked | waiting
    for path in sorted(asked):
        with suppress(OSError, SourceError):
            module = project.module_in(path)
            by_scope: dict[str | None, list[ast.Import | ast.ImportFrom]] = {}
            for one in sorted(module.imports, key=lambda one: one.lineno):
                by_scope.setdefault(_definition(one, module), []).append(one)
            for scope, inside in by_scope.items():
                at = next((n for n, one in enumerate(inside) if _imports_it(package, one, module, project)), None)
                if at is None:
                    continue
                # What a module does is done before any of its functions is called.
                called = chain.from_iterable(by_scope[name] for name in by_scope if name) if scope is None else ()
                yield from (other for other, _ in _imports(module, [*inside[at + 1 :], *called], project))
                if scope is None and os.path.basename(path) == "__init__.py":
                    folder = os.path.join(os.path.dirname(path), "")
                    yield from (other for other in python_files(project) if other.startswith(folder) and other != path)


def _names_any(path: str, words: set[bytes], project: Project) -> bool:
    with suppress(OSError, SourceError):
        return project.files.holds(path, *sorted(words))
    return False


def _imports_it(package: str, one: ast.Import | ast.ImportFrom, module: PythonModule, project: Project) -> bool:
    """Whether an import has the package imported when it is done; a function that does so has not been called yet."""
    if package in _packages(one):
        return True
    return any(_is_brought(package, path, frozenset(), _STEPS, project) for path, _ in _imports(module, [one], project))


def _imports(
    module: PythonModule, statements: list[ast.Import | ast.ImportFrom], project: Project
) -> Iterator[tuple[str, frozenset[str]]]:
    """The files of the project that a module imports, each with the names that it takes."""
    for statement in statements:
        if isinstance(statement, ast.Import):
            wanted = [(alias.name, _ALL) for alias in statement.names]
        else:
            base = "." * statement.level + (statement.module or "")
            glue = "" if base.endswith(".") else "."
            inner = ((f"{base}{glue}{alias.name}", _ALL) for alias in statement.names if alias.name != "*")
            wanted = [(base, frozenset(alias.name for alias in statement.names)), *inner]
        for dotted, names in wanted:
            path = known_file(dotted, module.path, project)
            if path is not None and path != module.path:
                yield path, names


@per_project
def _is_brought(package: str, path: str, names: frozenset[str], steps: int, project: Project) -> bool:
    with suppress(OSError, SourceError):  # reported when the file itself is checked
        is_named = project.files.holds(path, package.encode())
        if not is_named and os.path.basename(path) != "__init__.py":
            return False
        module = project.module_in(path)
        importing = _importing(module, package)
        if None in importing or (importing and "*" in names) or not names.isdisjoint(importing):
            return True
        at_once = [one for one in module.imports if _definition(one, module) is None]
        handed_on = (
            (other, names if "*" in taken else taken & names) for other, taken in _imports(module, at_once, project)
        )
        if not steps:
            if next(handed_on, None) is not None:
                budget.note(path, f"{_STEPS + 1} modules from a script, its imports were not asked for {package}")
            return False
        return any(_is_brought(package, other, left, steps - 1, project) for other, left in handed_on)
    return False


@per_module
def _importing(module: PythonModule, package: str) -> frozenset[str | None]:
    """The functions and classes that import a package or call one that does, None for the module itself."""
    statements = [one for one in module.imports if package in _packages(one)]
    found = {_definition(statement, module) for statement in statements}
    callers: dict[str, set[str | None]] = {}
    for call in module.calls if found else ():
        callers.setdefault(key_of(call.func), set()).add(_definition(call, module))
    waiting = list(found)
    while waiting:
        for caller in callers.get(waiting.pop() or "", set()) - found:
            found.add(caller)
            waiting.append(caller)
    return frozenset(found)


def _definition(node: ast.AST, module: PythonModule) -> str | None:
    """The outermost function or class around a node."""
    name = None
    while node in module.parents:
        node = module.parents[node]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = node.name
    return name


def _packages(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    return [] if node.level or not node.module else [node.module.partition(".")[0]]
