"""Rewriting an import whose name is in another module now."""

from __future__ import annotations

import ast
from collections.abc import Callable

from trl_lint.checks.drift._import_edits import Relocation, edit_relocations
from trl_lint.checks.drift._renamed_names import edit_uses, renamed
from trl_lint.finding import Edit, Fix
from trl_lint.knowledge.api import deprecation, is_alias_of, name_timeline, resolve
from trl_lint.knowledge.presence import homes, releases_with
from trl_lint.knowledge.renames import home_of
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.stack import Choice
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple


def edit_attribute(node: ast.AST, dotted: str, chosen: Choice, module: PythonModule) -> Fix | None:
    """Read a name that has gone from where it is now wherever the module reads it from the package (`trl.ORPOConfig`),
    and import that place behind the package. Proof and safety are those of an import.

    Withheld where the package is imported below the top of the module, under another name, or with others.
    """
    home, _, name = dotted.rpartition(".")
    found = home_of_gone(home, name, chosen)
    imports = [each for each in module.tree.body if isinstance(each, ast.Import)]
    package = next((each for each in imports if [(a.name, a.asname) for a in each.names] == [(home, None)]), None)
    if not isinstance(node, ast.Attribute) or found is None or found.name != name or package is None:
        return None
    reads = [
        each
        for each in module.of(ast.Attribute)
        if each.attr == name and module.segment(each) == dotted and module.names.origins(each) == {dotted}
    ]
    _, end = module.span(package)
    line_end = module.text.find("\n", end)
    if node not in reads or line_end < 0 or module.text[end:line_end].strip():
        return None
    edits = [module.source.edit(*module.span(each), f"{found.module}.{name}") for each in reads]
    if all([(a.name, a.asname) for a in each.names] != [(found.module, None)] for each in imports):
        edits.append(module.source.edit(end, end, f"\nimport {found.module}"))
    is_safe = chosen.complete and not chosen.assumed and found.is_proved
    return Fix(f"Read `{name}` from `{found.module}`", "safe" if is_safe else "unsafe", tuple(edits))


class Home(NamedTuple):
    """The module that has something now, and its name there. `is_proved`: a release said so, or had it in both."""

    module: str
    name: str
    is_proved: bool


def edit_import(
    node: ast.AST, dotted: str, chosen: Choice, module: PythonModule, project: Project | None = None
) -> Fix | None:
    """Import a name that has gone from where it is now; `dotted` is the name as the statement spells it.

    Only where an older release announced the new module, where both modules had the very same object in one release, or
    where `rules/compat/moves.toml` knows; and only if every allowed release has the name there. Safe if these releases
    are pinned and all known. Without a `project` nothing gets a new name.
    """
    return _edit_import(node, dotted, chosen, module, home_of_gone, project)


def edit_deprecated_import(node: ast.AST, dotted: str, chosen: Choice, module: PythonModule) -> Fix | None:
    """Import a name from the module that its release announces, if every allowed release has it there."""
    return _edit_import(node, dotted, chosen, module, _announced_everywhere)


def _announced_everywhere(home: str, name: str, chosen: Choice) -> Home | None:
    target, package = announced_home(home, name), chosen.package.name
    is_there = all(resolve(f"{target}.{name}", {package: version}) for version in chosen.releases)
    return Home(target, name, home_of(home, name) != target) if target and is_there else None


def _edit_import(
    node: ast.AST,
    dotted: str,
    chosen: Choice,
    module: PythonModule,
    find: Callable[[str, str, Choice], Home | None],
    project: Project | None = None,
) -> Fix | None:
    """The fix for one name takes along all names of the statement that have gone and are as certain."""
    if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
        return None
    found = _found(node, node.module, chosen, find, module)
    name = dotted.removeprefix(f"{node.module}.")
    mine = found.get(name)
    if mine is None:
        return None
    certain = chosen.complete and not chosen.assumed
    is_gone = resolve(node.module, {chosen.package.name: chosen.newest}) is ABSENT
    if is_gone and None in found.values():
        return None  # what is left could not be imported
    safe = certain and (
        all(home is not None and home.is_proved for home in found.values()) if is_gone else mine.is_proved
    )
    with_it = frozenset(
        one for one, home in found.items() if home and (is_gone or (certain and home.is_proved) == safe)
    )
    edits = _moved(node, with_it, chosen, find, module, project)
    if edits == () and len(with_it) > 1 and not is_gone:
        edits = _moved(node, frozenset((name,)), chosen, find, module, project)
    if not edits:
        return None
    return Fix(f"Import `{name.rpartition('.')[2]}` from `{mine.module}`", "safe" if safe else "unsafe", edits)


@per_module
def _moved(
    node: ast.ImportFrom,
    names: frozenset[str],
    chosen: Choice,
    find: Callable[[str, str, Choice], Home | None],
    module: PythonModule,
    project: Project | None,
) -> tuple[Edit, ...] | None:
    """The edits that import some names of a statement from where they are now; none where there is no place for that,
    None where a use of a name would have to change that cannot.
    """
    found = _found(node, node.module or "", chosen, find, module)
    edits: list[Edit] = []
    moved = []
    for alias in node.names:
        home = found[alias.name]
        if home is None or alias.name not in names:
            continue
        moved.append(Relocation(alias, home.module, home.name))
        if home.name != alias.name and alias.asname is None:
            uses = edit_uses(node, alias.name, home.name, module, project) if project is not None else None
            if uses is None:
                return None
            edits += uses
    relocated = edit_relocations(node, moved, module)
    return (*relocated, *edits) if relocated else ()


@per_module
def _found(
    node: ast.ImportFrom,
    home: str,
    chosen: Choice,
    find: Callable[[str, str, Choice], Home | None],
    module: PythonModule,
) -> dict[str, Home | None]:
    """Where each name of a statement is now: asked once for all of them, each of which takes the others along."""
    return {name: find(home, name, chosen) for name in dict.fromkeys(alias.name for alias in node.names)}


def home_of_gone(home: str, name: str, chosen: Choice) -> Home | None:
    """Where a name that has gone is now; if its module is no more, by the new name that another home announced."""
    if target := target_of(home, name, chosen):
        return Home(target, name, home_of(home, name) != target)
    package = chosen.package.name
    if resolve(home, {package: chosen.newest}) is not ABSENT:
        return None
    last = next(reversed(releases_with(f"{home}.{name}")), "")
    symbol = resolve(f"{home}.{name}", {package: last}) if last else ""
    for other in homes(package, name, last) if last and not str(symbol).endswith(":") else ():
        if other != home and resolve(f"{other}.{name}", {package: last}) == symbol:
            new = renamed(other, name, chosen)
            if new is not None:
                return Home(other, new.name, new.is_alias)
    return None


def target_of(home: str, name: str, chosen: Choice) -> str:
    """The module that has the same object as `home` once had, in all allowed releases; "" if there is none."""
    package = chosen.package.name
    if resolve(f"{home}.{name}", {package: chosen.newest}) is not ABSENT:
        return ""
    for module in (announced_home(home, name), home_of(home, name), *shared_homes(home, name, chosen.newest)):
        if module and all(resolve(f"{module}.{name}", {package: version}) for version in chosen.releases):
            return module
    return ""


def announced_home(home: str, name: str) -> str:
    """The module that the last release with a name announced for it."""
    kept = [change.value for change in name_timeline(home, name) if change.value is not None]
    had = releases_with(f"{home}.{name}")
    announced = deprecation(kept[-1], had[-1]) if kept and had else ""
    module, _, new = announced.partition(":")
    return module if new == name else ""


def shared_homes(home: str, name: str, version: str) -> list[str]:
    """The modules of a release that had the same object as `home` in the last release in which `home` had it, or the
    class from which that of `home` was derived, adding nothing.
    """
    package = home.partition(".")[0]
    last = next(reversed(releases_with(f"{home}.{name}")), "")
    symbol = resolve(f"{home}.{name}", {package: last})
    # A module is no proof: another one of that name is another module.
    if not last or str(symbol).endswith(":"):
        return []
    there = {m: resolve(f"{m}.{name}", {package: last}) for m in homes(package, name, version)}
    return [m for m, one in there.items() if one == symbol or _is_alias(symbol, one, last)]


def _is_alias(symbol: object, other: object, version: str) -> bool:
    return isinstance(symbol, str) and isinstance(other, str) and is_alias_of(symbol, other, version)
