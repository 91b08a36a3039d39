"""Imports between the files of a project: which file `from configs import X` reads."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress

from trl_lint import tracked
from trl_lint.memos import per_module, per_project
from trl_lint.project import Project
from trl_lint.python.guards import functions_named, key_of
from trl_lint.python.module import FunctionNode, PythonModule


def module_file(dotted: str, path: str, project: Project) -> str | None:
    """The file of the project that a module's name stands for in the file at `path`; None if there is none.

    `dotted` begins with a dot for each level of a relative import. An absolute name is looked up as Python does for a
    script, beside the file first, then where a package is usually installed from: the project's root, its `src`, and
    the folders between; last in the projects that a README, a script or the like installs (`pip install -e ./sub`).
    """
    return _file_for(dotted, os.path.dirname(path), project)


def _file_for(dotted: str, folder: str, project: Project) -> str | None:
    """`module_file` of the files of a folder."""
    name = dotted.lstrip(".")
    if dotted.startswith("."):
        for _ in range(len(dotted) - len(name) - 1):
            folder = os.path.dirname(folder)
        return _file(folder, name)
    found = next((found for base in _bases(folder, project) if (found := _file(base, name)) is not None), None)
    if found is not None or not name:
        return found
    installed = project.folders.importable(name, folder)
    return next((found for base in installed if (found := _file(base, name)) is not None), None)


def installed_programs(module: str, path: str, project: Project) -> tuple[str, ...]:
    """The files that `python -m module` may run beside `path`, out of projects that a document installs."""
    stems = [
        os.path.join(base, *module.split(".")) for base in project.folders.importable(module, os.path.dirname(path))
    ]
    files = (name for stem in stems for name in (f"{stem}.py", os.path.join(stem, "__main__.py")))
    return tuple(dict.fromkeys(name for name in files if tracked.is_file(name)))


def _bases(folder: str, project: Project) -> list[str]:
    """The folders in which an absolute name is looked up by the files of a folder, in turn."""
    bases = [folder, project.root, os.path.join(project.root, "src")]
    while folder != project.root and folder.startswith(project.root.rstrip(os.sep) + os.sep):
        folder = os.path.dirname(folder)
        bases.append(folder)
    return list(dict.fromkeys(bases))


def _file(base: str, name: str) -> str | None:
    stem = os.path.join(base, *name.split(".")) if name else base
    for candidate in (f"{stem}.py", os.path.join(stem, "__init__.py")):
        if tracked.is_file(candidate):
            return candidate
    return None


def holds_module(dotted: str, project: Project) -> bool:
    """Whether a file of the project, in whatever folder, is the module or the package of a dotted name."""
    stem = os.sep + dotted.replace(".", os.sep)
    ends = (f"{stem}.py", os.path.join(stem, "__init__.py"))
    tracked.note_name(dotted.replace(".", "/"))
    return any(path.endswith(ends) for path in project.paths)


def imported_name(module: PythonModule, node: ast.expr, project: Project) -> tuple[PythonModule, str] | None:
    """The module of the project, and the name in it, that `f` or `u.f` stands for; None if nothing there is certain.

    A package's `__init__.py` that imports the name itself is passed through once. Nothing is executed.
    """
    known, text = _imported_names(module), key_of(node)
    if text not in known:
        found = _imported(module, node, project)
        if found is not None and os.path.basename(found[0].path) == "__init__.py":
            import ast

            package, name = found
            found = _imported(package, ast.Name(name, ast.Load()), project) or found
        known[text] = found
    return known[text]


@per_project
def folders_by_name(project: Project) -> dict[str, list[str]]:
    """The folders that hold a file of a name, for all files of a project."""
    found: dict[str, list[str]] = {}
    for path in project.paths:
        found.setdefault(os.path.basename(path), []).append(os.path.dirname(path))
    return found


def called_function(call: ast.Call, module: PythonModule, project: Project) -> tuple[PythonModule, FunctionNode] | None:
    """The one function of the project that `f(…)` or `u.f(…)` certainly calls, with nothing laid around it."""

    imported = imported_name(module, call.func, project)
    name = key_of(call.func)
    if imported is None and (not name or "." in name):
        return None
    home, name = imported or (module, name)
    found = functions_named(home, name)
    return (home, found[0]) if len(found) == 1 and not found[0].decorator_list else None


@per_module
def _imported_names(module: PythonModule) -> dict[str, tuple[PythonModule, str] | None]:
    """What `imported_name` has answered, by the name as it is written."""
    return {}


def imported_file(module: PythonModule, node: ast.expr, project: Project) -> str | None:
    """The file of the project that `imported_name` would parse."""
    dotted = key_of(node)
    if not dotted or not module.names.is_imported(dotted.partition(".")[0]):
        return None
    paths = (known_file(target, module.path, project) for target, _ in _readings(module, dotted))
    return next((path for path in paths if path is not None and path != module.path), None)


def _imported(module: PythonModule, node: ast.expr, project: Project) -> tuple[PythonModule, str] | None:
    from trl_lint.sources import SourceError

    dotted = key_of(node)
    if not dotted or not module.names.is_imported(dotted.partition(".")[0]) or not module.names.is_certain(node):
        return None
    for target, name in _readings(module, dotted):
        path = known_file(target, module.path, project)
        if path is not None and path != module.path:
            with suppress(OSError, SourceError):  # reported when the file itself is checked
                return project.module_in(path, by=module.path), name
    return None


def _readings(module: PythonModule, dotted: str) -> Iterator[tuple[str, str]]:
    """The module and the name that a dotted name may mean by the imports of a module, in the words of the import."""
    import ast

    root, _, rest = dotted.partition(".")
    for statement in module.imports:
        for alias in statement.names:
            if (alias.asname or alias.name.partition(".")[0]) != root:
                continue
            if isinstance(statement, ast.ImportFrom):
                base = "." * statement.level + (statement.module or "")
                if not rest:
                    yield base, alias.name
                elif "." not in rest:
                    yield f"{base}{'' if base.endswith('.') else '.'}{alias.name}", rest
            elif alias.asname and rest and "." not in rest:
                yield alias.name, rest
            elif not alias.asname and rest:
                yield dotted.rpartition(".")[0], dotted.rpartition(".")[2]


def is_in_one_place(module: PythonModule, dotted: str, project: Project) -> bool:
    """Whether only one folder of the project has what the imports of a module name: a copy may stand beside another."""
    tops = {target.partition(".")[0] for target, _ in _readings(module, dotted)} - {""}
    return all(_places_of(top, os.path.dirname(module.path), project) == 1 for top in tops)


@per_project
def _places_of(top: str, folder: str, project: Project) -> int:
    bases = dict.fromkeys((*_bases(folder, project), *project.folders.importable(top, folder)))
    stems = [os.path.join(base, top) for base in bases]
    return sum(tracked.is_file(f"{stem}.py") or tracked.is_folder(stem) for stem in stems)


def is_of_project(dotted: str, path: str, project: Project) -> bool:
    """Whether `module_file` may find a module of this name: what no folder begins with is another's package."""
    top = dotted.partition(".")[0]
    return not top or _is_top(top, os.path.dirname(path), project)


@per_project
def _is_top(name: str, folder: str, project: Project) -> bool:
    """Whether a module, or a folder of modules, of this name may be imported by the files of a folder."""
    stems = [os.path.join(base, name) for base in _bases(folder, project)]
    here = any(tracked.is_file(f"{stem}.py") or tracked.is_folder(stem) for stem in stems)
    return here or bool(project.folders.importable(name, folder))


def known_file(dotted: str, path: str, project: Project) -> str | None:
    """`module_file`, looked up once for all files of a folder."""
    return _known_file_for(dotted, os.path.dirname(path), project)


@per_project
def _known_file_for(dotted: str, folder: str, project: Project) -> str | None:
    return _file_for(dotted, folder, project)


@per_module
def modules_around(module: PythonModule, word: bytes, project: Project) -> tuple[PythonModule, ...]:
    """A module, and those of the project that it imports by name and that hold a word."""
    from trl_lint.sources import SourceError

    found = {module.path: module}
    for statement in module.imports:
        if isinstance(statement, ast.ImportFrom):
            base = "." * statement.level + (statement.module or "")
            names = [base, *(f"{base}{'' if base.endswith('.') else '.'}{alias.name}" for alias in statement.names)]
        else:
            names = [alias.name for alias in statement.names]
        for name in names:
            path = known_file(name, module.path, project) if name else None
            try:
                if path is not None and path not in found and project.files.holds(path, word):
                    found[path] = project.module_in(path)
            except (OSError, SourceError):
                continue
    return tuple(found.values())
