"""Names taken out of the imports of a module, and put into others, in its text.

Imported where a finding is written.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from trl_lint.finding import Edit
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple

# A statement on one line is made no longer than this: whoever wraps lines does it sooner.
_MOST_COLUMNS = 119


class Relocation(NamedTuple):
    """A name of an import that comes from another module, `name` is what it is called there."""

    alias: ast.alias
    target: str
    name: str

    @property
    def shown(self) -> str:
        return f"{self.name} as {self.alias.asname}" if self.alias.asname is not None else self.name


def edit_relocations(node: ast.ImportFrom, found: Sequence[Relocation], module: PythonModule) -> tuple[Edit, ...]:
    """Import names of a statement from elsewhere: in an import that is there already, else in statements behind it.

    Nothing where the statement does not stand alone on its lines, and where a comment would be lost.
    """
    by_target: dict[str, list[Relocation]] = {}
    for each in sorted(found, key=lambda each: each.target):
        by_target.setdefault(each.target, []).append(each)
    if len(found) == len(node.names):
        return _edit_whole(node, by_target, module)
    removed = edit_unimports(node, [each.alias for each in found], module)
    if removed is None:
        return ()
    removals, comments = removed
    merged = _edit_merges(node, by_target, module) if not any(comments.values()) else {}
    statements = []
    for target, mine in by_target.items():
        if target not in merged:
            plain = [each.shown for each in mine if not comments[each.alias.name]]
            statements += [f"from {target} import {', '.join(sorted(plain, key=_order))}"] if plain else []
            statements += [
                f"from {target} import {each.shown}{comments[each.alias.name]}"
                for each in mine
                if comments[each.alias.name]
            ]
    start, end = module.span(node)
    line_end = _line_end(module.text, end)
    indent = module.text[module.text.rfind("\n", 0, start) + 1 : start]
    added = "".join(f"\n{indent}{statement}" for statement in statements)
    here = [module.source.edit(line_end, line_end, added)] if added else []
    return (*removals, *here, *(edit for edits in merged.values() for edit in edits))


def _edit_whole(
    node: ast.ImportFrom, by_target: Mapping[str, Sequence[Relocation]], module: PythonModule
) -> tuple[Edit, ...]:
    """Give a statement all of whose names come from elsewhere another module, or put others in its place."""
    start, end = module.span(node)
    is_plain = _stands_alone(node, module) and "#" not in module.text[start : _line_end(module.text, end)]
    merged = _edit_merges(node, by_target, module) if is_plain else {}
    is_renamed = any(each.name != each.alias.name for mine in by_target.values() for each in mine)
    if len(by_target) == 1 and not merged and not is_renamed:
        return _edit_module(node, next(iter(by_target)), module)
    if not _stands_alone(node, module) or "#" in module.text[start:end]:
        return ()
    text = module.text
    line_start, below = text.rfind("\n", 0, start) + 1, text.find("\n", end) + 1
    statements = [
        f"from {target} import {', '.join(sorted((each.shown for each in mine), key=_order))}"
        for target, mine in by_target.items()
        if target not in merged
    ]
    if statements:
        here = module.source.edit(start, end, f"\n{text[line_start:start]}".join(statements))
    elif below:
        here = module.source.edit(line_start, below, "")
    else:
        return ()
    return (here, *(edit for edits in merged.values() for edit in edits))


def _edit_merges(
    node: ast.ImportFrom, by_target: Mapping[str, Sequence[Relocation]], module: PythonModule
) -> dict[str, tuple[Edit, ...]]:
    """The edits that put names into imports which the module has already, by the module that these are from."""
    found = {}
    for target, mine in by_target.items():
        there = _import_of(target, node, module)
        edits = (
            _edit_names(there, sorted((each.shown for each in mine), key=_order), module) if there is not None else None
        )
        if edits is not None:
            found[target] = edits
    return found


def _import_of(target: str, node: ast.ImportFrom, module: PythonModule) -> ast.ImportFrom | None:
    """An import of a module that binds its names no later than `node` does, for all that asks for them."""
    body = module.tree.body
    if node not in body:
        return None
    at = body.index(node)
    for index, other in enumerate(body):
        if isinstance(other, ast.ImportFrom) and other.module == target and not other.level and other is not node:
            between = body[at + 1 : index]
            if all(isinstance(each, (ast.Import, ast.ImportFrom)) for each in between) and other.names[0].name != "*":
                return other
    return None


def _edit_names(node: ast.ImportFrom, shown: Sequence[str], module: PythonModule) -> tuple[Edit, ...] | None:
    """Put names into a statement, in their order if its names are in order; None where it is laid out otherwise."""
    text = module.text
    start, end = module.span(node)
    spans = [module.span(alias) for alias in node.names]
    there = [text[first:last] for first, last in spans]
    missing = [name for name in shown if name not in there]
    lines = {text.count("\n", start, first) for first, _ in spans}
    is_one_line = "\n" not in text[start:end]
    if is_one_line and end - text.rfind("\n", 0, start) + sum(len(name) + 2 for name in missing) > _MOST_COLUMNS:
        return None
    if not is_one_line and (len(lines) < len(spans) or "\\\n" in text[start:end] or 0 in lines):
        return None
    is_sorted = there == sorted(there, key=_order)
    added: dict[int, list[str]] = {}
    for name in missing:
        index = next((i for i, other in enumerate(there) if is_sorted and _order(name) < _order(other)), len(there))
        added.setdefault(index, []).append(name)
    edits = []
    for index, names in added.items():
        at = spans[index][0] if index < len(spans) else spans[-1][1]
        line = text.rfind("\n", 0, spans[0][0]) + 1
        joint = ", " if is_one_line else f",\n{text[line : spans[0][0]]}"
        before, behind = ("", joint) if index < len(spans) else (joint, "")
        edits.append(module.source.edit(at, at, before + joint.join(names) + behind))
    return tuple(edits)


def _order(name: str) -> tuple[int, str]:
    """The order in which isort and ruff put names: constants, classes, functions, each without regard to case."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2), name.lower()


def _edit_module(node: ast.ImportFrom, target: str, module: PythonModule) -> tuple[Edit, ...]:
    start, end = module.span(node)
    name = node.module or ""
    at = module.text.find(name, start + len("from"), end)
    return (module.source.edit(at, at + len(name), target),) if at >= 0 else ()


def edit_unimports(
    node: ast.ImportFrom, aliases: Sequence[ast.alias], module: PythonModule
) -> tuple[tuple[Edit, ...], dict[str, str]] | None:
    """Take some names, not all, out of an import; with the comment that went with each. See `edit_unimport`."""
    removed = [edit_unimport(node, alias, module) for alias in aliases]
    if None in removed:
        return None
    edits = [each[0] for each in removed if each is not None]
    comments = {alias.name: each[1] for alias, each in zip(aliases, removed, strict=True) if each is not None}
    text = module.text
    if len(edits) == 1 or all(text[edit.start - 1] == text[edit.end - 1] == "\n" for edit in edits):
        return tuple(sorted(edits, key=lambda edit: edit.start)), comments
    first, last = module.span(node.names[0])[0], module.span(node.names[-1])[1]
    if "\n" in text[first:last]:
        return None
    kept = [module.segment(alias) for alias in node.names if alias not in aliases]
    return (module.source.edit(first, last, ", ".join(kept)),), comments


def edit_unimport(node: ast.ImportFrom, alias: ast.alias, module: PythonModule) -> tuple[Edit, str] | None:
    """Take one name out of an import, and say which comment went with it; None where the statement does not stand alone
    on its lines. The import of a single name goes as a whole.
    """
    text = module.text
    start, end = module.span(node)
    behind = text[end : _line_end(text, end)].strip()
    if not _stands_alone(node, module):
        return None
    line_start = text.rfind("\n", 0, start) + 1
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


def _stands_alone(node: ast.ImportFrom, module: PythonModule) -> bool:
    """Whether nothing but a comment shares the lines of a statement."""
    text = module.text
    start, end = module.span(node)
    line_start = text.rfind("\n", 0, start) + 1
    behind = text[end : _line_end(text, end)].strip()
    return not text[line_start:start].strip() and behind[:1] in ("", "#") and "\\\n" not in text[start:end]


def _line_end(text: str, at: int) -> int:
    """The end of the text of a line, before what ends the line."""
    end = text.find("\n", at)
    if end < 0:
        return len(text)
    return end - 1 if text[end - 1] == "\r" else end
