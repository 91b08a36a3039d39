"""Writing down in the module what a package no longer has: a value, the import of its like, or another call.

What is written is data of `rules/compat/remedies.toml`. Imported where a finding is written.
"""

from __future__ import annotations

import ast

from trl_lint.checks.drift._import_edits import edit_unimport
from trl_lint.checks.drift._renamed_names import edit_uses, is_handed_on, is_looked_up
from trl_lint.finding import Edit, Fix
from trl_lint.knowledge.api import resolve
from trl_lint.knowledge.remedies import Remedy, row_of_name
from trl_lint.project import Project
from trl_lint.project.stack import Choice
from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes
from trl_lint.regexes import regex

_SLOT = regex(r"\{(\w+)\}")


def edit_written(node: ast.AST, dotted: str, chosen: Choice, module: PythonModule, project: Project) -> Fix | None:
    """Bind a name that is gone in the module itself, or call what takes its place; `dotted`: as the import spells it.

    Safe where a value is written down that was the same in all releases. Withheld below the top of a module, where the
    name is bound elsewhere too, and where a call is given what the other function does not take.
    """
    home, _, name = dotted.rpartition(".")
    row = row_of_name(home, name, {chosen.package.name: chosen.newest})
    alias = next((each for each in getattr(node, "names", ()) if each.name == name), None)
    if row is None or not (row.written or row.call) or not isinstance(node, ast.ImportFrom):
        return None
    sites = [site for found in scopes(module).sites_of(name).values() for site in found]
    if alias is None or alias.asname is not None or sites != [node] or node not in module.tree.body:
        return None
    if row.call:
        edits = _edit_calls(node, name, row, chosen, module, project)
        return Fix(f"Call `{row.call.partition('(')[0]}`", "unsafe", edits) if edits else None
    edits = _edit_binding(node, alias, row.written, module)
    is_value = not row.written.startswith(("from ", "import "))
    is_safe = is_value and chosen.complete and not chosen.assumed
    return Fix(f"Write `{name}` down", "safe" if is_safe else "unsafe", edits) if edits else None


def _edit_binding(node: ast.ImportFrom, alias: ast.alias, written: str, module: PythonModule) -> tuple[Edit, ...]:
    """Take the name out of its import, and bind it behind the imports that follow one another there."""
    body = module.tree.body
    is_import = written.startswith(("from ", "import "))
    at = last = body.index(node)
    while not is_import and last + 1 < len(body) and isinstance(body[last + 1], (ast.Import, ast.ImportFrom)):
        last += 1
    if len(node.names) == 1 and last == at:
        return (module.source.edit(*module.span(node), written if is_import else f"\n{written}"),)
    removed = edit_unimport(node, alias, module)
    _, end = module.span(body[last])
    line_end = module.text.find("\n", end)
    if removed is None or line_end < 0 or module.text[end:line_end].strip()[:1] not in ("", "#"):
        return ()
    line_end -= module.text[line_end - 1] == "\r"
    return (removed[0], module.source.edit(line_end, line_end, f"\n{written}" if is_import else f"\n\n{written}"))


def _edit_calls(
    node: ast.ImportFrom, name: str, row: Remedy, chosen: Choice, module: PythonModule, project: Project
) -> tuple[Edit, ...]:
    """Import another function from the same place, and call it by a template wherever the old one is called."""
    new = row.call.partition("(")[0]
    if not all(resolve(f"{node.module}.{new}", {chosen.package.name: version}) for version in chosen.releases):
        return ()
    if is_looked_up(name, module) or is_handed_on(name, module, project):
        return ()
    imported = edit_uses(node, name, new, module, project)
    alias = next(each for each in node.names if each.name == name)
    if imported is None or scopes(module).binds(new):
        return ()
    start, _ = module.span(alias)
    edits = [module.source.edit(start, start + len(name), new)]
    for use in module.named(name):
        edit = _edit_call(use, row, module)
        if edit is None:
            return ()
        edits.append(edit)
    return tuple(edits)


def _edit_call(use: ast.Name, row: Remedy, module: PythonModule) -> Edit | None:
    made = module.parents[use]
    if not isinstance(made, ast.Call) or made.func is not use or "#" in module.segment(made):
        return None
    slots = [match[1] for match in _SLOT.finditer(row.call)]
    keywords = [keyword for keyword in made.keywords if ast.unparse(keyword) not in row.understood]
    given = dict(zip(slots, made.args, strict=False)) | {keyword.arg or "**": keyword.value for keyword in keywords}
    count = len(made.args) + len(keywords)
    if set(given) != set(slots) or count != len(slots) or any(isinstance(each, ast.Starred) for each in made.args):
        return None
    return module.source.edit(*module.span(made), _SLOT.sub(lambda match: module.segment(given[match[1]]), row.call))
