"""Rewriting an import whose name is in another module now."""

from __future__ import annotations

import ast
from collections.abc import Callable

from trl_lint.finding import Edit, Fix
from trl_lint.knowledge.api import deprecation, name_timeline, resolve
from trl_lint.knowledge.presence import homes, releases_with
from trl_lint.knowledge.renames import home_of
from trl_lint.missing import ABSENT
from trl_lint.project.stack import Choice
from trl_lint.python.module import PythonModule


def edit_import(node: ast.AST, dotted: str, chosen: Choice, module: PythonModule) -> Fix | None:
    """Import a name that has gone from where it is now; `dotted` is the name as the statement spells it.

    Only where an older release announced the new module, where both modules had the very same object in one release, or
    where `rules/compat/moves.toml` knows; and only if every allowed release has the name there. Safe if these releases
    are pinned and all known.
    """
    return _edit_import(node, dotted, chosen, module, target_of)


def edit_deprecated_import(node: ast.AST, dotted: str, chosen: Choice, module: PythonModule) -> Fix | None:
    """Import a name from the module that its release announces, if every allowed release has it there."""
    return _edit_import(node, dotted, chosen, module, _announced_everywhere)


def _announced_everywhere(home: str, name: str, chosen: Choice) -> str:
    target, package = announced_home(home, name), chosen.package.name
    is_there = all(resolve(f"{target}.{name}", {package: version}) for version in chosen.releases)
    return target if target and is_there else ""


def _edit_import(
    node: ast.AST, dotted: str, chosen: Choice, module: PythonModule, find: Callable[[str, str, Choice], str]
) -> Fix | None:
    if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
        return None
    targets = {alias.name: find(node.module, alias.name, chosen) for alias in node.names}
    alias = next((alias for alias in node.names if f"{node.module}.{alias.name}" == dotted), None)
    target = targets[alias.name] if alias is not None else ""
    if not target or alias is None:
        return None
    if set(targets.values()) == {target}:
        edits = _edit_module(node, target, module)
    elif resolve(node.module, {chosen.package.name: chosen.newest}) is ABSENT:
        return None  # the module is gone, and its names went to different places
    else:
        edits = _edit_name(node, alias, target, module)
    if not edits:
        return None
    title = f"Import `{alias.name}` from `{target}`"
    is_certain = chosen.complete and not chosen.assumed and home_of(node.module, alias.name) != target
    return Fix(title, "safe" if is_certain else "unsafe", edits)


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
    """The modules of a release that had the same object as `home` in the last release in which `home` had it."""
    package = home.partition(".")[0]
    last = next(reversed(releases_with(f"{home}.{name}")), "")
    symbol = resolve(f"{home}.{name}", {package: last})
    # A module is no proof: another one of that name is another module.
    if not last or str(symbol).endswith(":"):
        return []
    return [m for m in homes(package, name, version) if resolve(f"{m}.{name}", {package: last}) == symbol]


def _edit_module(node: ast.ImportFrom, target: str, module: PythonModule) -> tuple[Edit, ...]:
    start, end = module.span(node)
    name = node.module or ""
    at = module.text.find(name, start + len("from"), end)
    return (module.source.edit(at, at + len(name), target),) if at >= 0 else ()


def _edit_name(node: ast.ImportFrom, alias: ast.alias, target: str, module: PythonModule) -> tuple[Edit, ...]:
    """Take one name out of a list, and import it in a statement of its own behind it; its comment goes with it."""
    removed = edit_unimport(node, alias, module)
    if removed is None:
        return ()
    text = module.text
    start, end = module.span(node)
    line_end = _line_end(text, end)
    first, last = module.span(alias)
    removal, comment = removed
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    statement = f"\n{indent}from {target} import {text[first:last]}{comment}"
    return (removal, module.source.edit(line_end, line_end, statement))


def edit_unimport(node: ast.ImportFrom, alias: ast.alias, module: PythonModule) -> tuple[Edit, str] | None:
    """Take one name out of an import, and say which comment went with it; None where the statement does not stand alone
    on its lines. The import of a single name goes as a whole.
    """
    text = module.text
    start, end = module.span(node)
    line_start = text.rfind("\n", 0, start) + 1
    behind = text[end : _line_end(text, end)].strip()
    if text[line_start:start].strip() or (behind and not behind.startswith("#")) or "\\\n" in text[start:end]:
        return None
    if len(node.names) == 1:
        below = text.find("\n", end) + 1
        return (module.source.edit(line_start, below, ""), "") if below and not behind else None
    first, last = module.span(alias)
    own_start = text.rfind("\n", 0, first) + 1
    own_end = _line_end(text, last)
    rest = text[last:own_end].strip().removeprefix(",").strip()
    if own_start > start and own_end < end and not text[own_start:first].strip() and rest[:1] in ("", "#"):
        removal = module.source.edit(own_start, text.find("\n", last) + 1, "")
        return removal, f"  {rest}" if rest else ""
    index = node.names.index(alias)
    following = module.span(node.names[index + 1])[0] if index + 1 < len(node.names) else None
    removed = (first, following) if following is not None else (module.span(node.names[index - 1])[1], last)
    if (text[removed[0] : first] + text[last : removed[1]]).strip(" \t,"):
        return None
    return module.source.edit(*removed, ""), ""


def _line_end(text: str, at: int) -> int:
    """The end of the text of a line, before what ends the line."""
    end = text.find("\n", at)
    if end < 0:
        return len(text)
    return end - 1 if text[end - 1] == "\r" else end
