"""Giving an imported class or function its new name, in the import and wherever the module uses it."""

from __future__ import annotations

import ast
import os
from contextlib import suppress

from trl_lint.checks.drift._calls import signature_of
from trl_lint.checks.drift._classes import root_of
from trl_lint.checks.drift._import_edits import edit_unimport
from trl_lint.finding import Edit, Fix
from trl_lint.knowledge.api import deprecation, is_alias_of, name_timeline, resolve
from trl_lint.knowledge.presence import releases_with
from trl_lint.knowledge.remedies import renamed_name
from trl_lint.memos import per_project, read_per_project
from trl_lint.project import Project
from trl_lint.project.stack import PACKAGES, Choice
from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError


class Renamed(NamedTuple):
    """The new name of something, in the module that had the old one. `is_alias`: the old one was a subclass of the
    new one, and added nothing.
    """

    name: str
    is_alias: bool


def renamed(home: str, name: str, chosen: Choice) -> Renamed | None:
    """The new name that a release announced, or that a remedy knows, if every allowed release has it in this module."""
    package = home.partition(".")[0]
    last = next(reversed(releases_with(f"{home}.{name}")), "")
    kept = next((change.value for change in reversed(name_timeline(home, name)) if change.value is not None), "")
    announced = deprecation(kept, last).replace(":", ".") if kept and last else ""
    new = announced.removeprefix(f"{home}.") or renamed_name(home, name, {package: chosen.newest})
    if not new.isidentifier() or new == name:
        return None
    if not all(_is_known_as(home, name, new, version) for version in chosen.releases):
        return None
    if (
        last
        and name.islower()
        and _asks_more(f"{home}.{new}", {package: chosen.newest}, f"{home}.{name}", {package: last})
    ):
        return None
    successor = resolve(f"{home}.{new}", {package: last})
    return Renamed(new, isinstance(successor, str) and is_alias_of(kept, successor, last))


def _is_known_as(home: str, old: str, new: str, version: str) -> bool:
    """Whether a release has the new name, and in the meaning of the old one: `trl.PPOConfig` was another class in 0.11,
    before `PPOv2Config` took its name.
    """
    package = home.partition(".")[0]
    if not resolve(f"{home}.{new}", {package: version}):
        return False
    before = resolve(f"{home}.{old}", {package: version})
    return not isinstance(before, str) or bool(deprecation(before, version))


def _asks_more(new: str, now: dict[str, str], old: str, before: dict[str, str]) -> bool:
    """Whether a call of the new function needs what a call of the old one could not give: then it is no mere rename."""
    asked, known = signature_of(new, now), signature_of(old, before)
    if asked is None or known is None:
        return False
    return any(each.required and name not in known.parameters for name, each in asked.parameters.items())


def edit_renamed(node: ast.AST, dotted: str, chosen: Choice, module: PythonModule, project: Project) -> Fix | None:
    """Rename `dotted` (as the code spells it) where a module imports it or reads it from the package, with all uses.

    Safe where the old class was an alias of the new one, and the pins are known. Withheld where either name means
    something else in some scope, stands in a string that may be looked up, or is imported from here by another module.
    """
    home, _, old = dotted.rpartition(".")
    found = renamed(home, old, chosen)
    if found is None:
        return None
    if isinstance(node, ast.Attribute):
        edits = _edit_attributes(dotted, found.name, module)
    elif isinstance(node, ast.Call):  # getattr(trl, "name")
        start, end = module.span(node.args[1])
        is_plain = module.text[start + 1 : end - 1] == old
        edits = (module.source.edit(start + 1, end - 1, found.name),) if is_plain else ()
    elif isinstance(node, ast.ImportFrom) and not node.level:
        edits = _edit_names(node, old, found.name, module, project)
    else:
        return None
    if not edits:
        return None
    is_safe = found.is_alias and chosen.complete and not chosen.assumed
    return Fix(f"Rename `{old}` to `{found.name}`", "safe" if is_safe else "unsafe", edits)


def _edit_attributes(dotted: str, new: str, module: PythonModule) -> tuple[Edit, ...]:
    old = dotted.rpartition(".")[2]
    ends = [
        module.span(node)[1]
        for node in module.of(ast.Attribute)
        if node.attr == old and isinstance(root_of(node), ast.Name) and dotted in module.names.origins(node)
    ]
    return tuple(module.source.edit(end - len(old), end, new) for end in ends)


def _edit_names(node: ast.ImportFrom, old: str, new: str, module: PythonModule, project: Project) -> tuple[Edit, ...]:
    alias = next((alias for alias in node.names if alias.name == old), None)
    if alias is None:
        return ()
    start, _ = module.span(alias)
    here = (module.source.edit(start, start + len(old), new),)
    if alias.asname is not None:
        return here if all(each.name != new for each in node.names) else ()
    uses = edit_uses(node, old, new, module, project)
    if uses is None:
        return ()
    if scopes(module).binds(new):  # the statement that imports it is enough
        removed = edit_unimport(node, alias, module)
        return (removed[0], *uses) if removed is not None and not removed[1] else ()
    return (*here, *uses)


def edit_uses(
    node: ast.ImportFrom, old: str, new: str, module: PythonModule, project: Project
) -> tuple[Edit, ...] | None:
    """Rename all uses of a name that a statement imports; None where either name may mean something else, or others
    may ask for the old one. An import of the new name from the same place at the top of the module may be there.
    """
    bound = scopes(module)
    sites = [site for found in bound.sites_of(old).values() for site in found]
    if sites != [node] or is_looked_up(old, module) or is_handed_on(old, module, project):
        return None
    there = [site for found in bound.sites_of(new).values() for site in found]
    if bound.binds(new) and not (len(there) == 1 and _imports_it(there[0], new, node, module)):
        return None
    return tuple(module.source.edit(*module.span(use), new) for use in module.named(old))


def _imports_it(site: ast.AST, new: str, node: ast.ImportFrom, module: PythonModule) -> bool:
    """Whether a statement at the top of a module imports a name from where `node` imports the old one."""
    is_same = isinstance(site, ast.ImportFrom) and site.module == node.module and not site.level
    is_early = is_same and site in module.tree.body and module.span(site)[0] <= module.span(node)[0]
    return is_early and any((alias.name, alias.asname) == (new, None) for alias in getattr(site, "names", ()))


def is_looked_up(name: str, module: PythonModule) -> bool:
    """Whether a name stands in a string that is no sentence: `__all__`, an annotation, `getattr`."""
    texts = (node.value for node in module.of(ast.Constant) if isinstance(node.value, str))
    return any(name in text and " " not in text for text in texts)


def is_handed_on(name: str, module: PythonModule, project: Project) -> bool:
    """Whether another module of the project imports a name from one that is called like this one."""
    called = _called(module.path)
    return any(path != module.path and home == called for path, home in _importers(name, project))


def _called(path: str) -> str:
    """How a module is called in imports, without its packages."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return os.path.basename(os.path.dirname(path)) if stem == "__init__" else stem


@per_project
def _importers(name: str, project: Project) -> frozenset[tuple[str, str]]:
    """The modules that import a name from elsewhere than from a package that is known, and how that is called."""
    found: set[tuple[str, str]] = set()
    for path in _python_files(project):
        with suppress(OSError, SourceError):
            if project.files.holds(path, name.encode()):
                found.update((path, home) for home in _imports_own(path, name, project))
    return frozenset(found)


@read_per_project
def _python_files(project: Project) -> list[str]:
    return [path for path in project.paths if path.endswith(".py")]


def _imports_own(path: str, name: str, project: Project) -> set[str]:
    imports = project.module_in(path).imports
    own = (node for node in imports if isinstance(node, ast.ImportFrom) and not _is_of_package(node))
    homes = {node.module for node in own for alias in node.names if alias.name in (name, "*")}
    # `from . import name` is of the package that the module is in.
    package = os.path.basename(os.path.dirname(path))
    return {home.rpartition(".")[2] if home else package for home in homes}


def _is_of_package(node: ast.ImportFrom) -> bool:
    return not node.level and (node.module or "").partition(".")[0] in PACKAGES
