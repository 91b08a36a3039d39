"""Taking out a function that is gone, with the arguments that were given what it returned.

Imported where a finding is written.
"""

from __future__ import annotations

import ast

from trl_lint.checks.drift._import_edits import edit_unimport
from trl_lint.checks.drift._moves import edit_removal
from trl_lint.checks.drift._renamed_names import is_handed_on, is_looked_up
from trl_lint.finding import Edit, Fix
from trl_lint.knowledge.remedies import dropped_argument
from trl_lint.project import Project
from trl_lint.project.stack import Choice
from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes


def edit_dropped(node: ast.AST, dotted: str, chosen: Choice, module: PythonModule, project: Project) -> Fix | None:
    """Drop the import of a function and every argument `KEY=function()`, `KEY=function() if … else None`, and statement
    `kwargs["KEY"] = function()`, for the one KEY of which a remedy says that it goes as well.

    Unsafe: what takes its place decides by itself. Withheld where the function is used in any other way.
    """
    home, _, name = dotted.rpartition(".")
    keyword = dropped_argument(home, name, {chosen.package.name: chosen.newest})
    alias = next((each for each in getattr(node, "names", ()) if each.name == name), None)
    if not keyword or not isinstance(node, ast.ImportFrom) or alias is None or alias.asname is not None:
        return None
    sites = [site for found in scopes(module).sites_of(name).values() for site in found]
    if sites != [node] or is_looked_up(name, module) or is_handed_on(name, module, project):
        return None
    removed = edit_unimport(node, alias, module)
    edits = [_edit_use(use, keyword, module) for use in module.named(name)]
    if removed is None or any(edit is None for edit in edits):
        return None
    return Fix(f"Drop `{name}`", "unsafe", (removed[0], *filter(None, edits)))


def _edit_use(use: ast.Name, keyword: str, module: PythonModule) -> Edit | None:
    value = module.parents[use]
    if not isinstance(value, ast.Call) or value.func is not use or value.args or value.keywords:
        return None
    holder = module.parents[value]
    if isinstance(holder, ast.IfExp) and holder.body is value and _is_none(holder.orelse) and _is_plain(holder.test):
        holder = module.parents[holder]
    if isinstance(holder, ast.keyword):
        call = module.parents[holder]
        return edit_removal(call, holder, module) if holder.arg == keyword and isinstance(call, ast.Call) else None
    if isinstance(holder, ast.Assign) and len(holder.targets) == 1 and isinstance(holder.targets[0], ast.Subscript):
        place = holder.targets[0].slice
        is_meant = isinstance(place, ast.Constant) and place.value == keyword
        return _edit_statement(holder, module) if is_meant else None
    return None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_plain(node: ast.expr) -> bool:
    """Whether a test does nothing but look."""
    return not any(isinstance(part, (ast.Call, ast.NamedExpr, ast.Await)) for part in ast.walk(node))


def _edit_statement(statement: ast.Assign, module: PythonModule) -> Edit | None:
    """Take out a statement that stands alone on its lines, and is not the only one of its block."""
    block = getattr(module.parents[statement], "body", ())
    text = module.text
    start, end = module.span(statement)
    line_start, below = text.rfind("\n", 0, start) + 1, text.find("\n", end) + 1
    is_alone = not text[line_start:start].strip() and below and not text[end:below].strip()
    if statement not in block or len(block) < 2 or not is_alone:
        return None
    return module.source.edit(line_start, below, "")
