"""Proving a repaired text before anybody sees it: it parses, its names are bound, and nothing else has changed. The
commands that start training still start it.

Every check compares with the text before: what was broken or strange there is nobody's fault here.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from trl_lint.comments import language_of
from trl_lint.finding import Edit
from trl_lint.fixes.apply import moves
from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.files import open_file
from trl_lint.sources.nodes import Node


def objection(before: SourceFile, text: str, edits: Sequence[Edit]) -> str | None:
    """Why a file must not get this text (sorted edits of its own text made it), None if nothing speaks against it."""
    try:
        data = before.encode(text)
    except UnicodeError:
        return f"the encoding of the file ({before.encoding}) cannot hold the new text"
    after = open_file(before.path, data)
    try:
        if after.text != text:
            return "the file would not read back as written"
    except SourceError as error:
        return error.message
    language = language_of(before.path)
    if language == "python":
        from trl_lint.fixes.verify_python import module_objection

        return module_objection(Source(before, "python"), Source(after, "python"), edits)
    if language == "notebook":
        return _values_objection(before, after, edits, "json") or _notebook_objection(before, after)
    reason = None
    if language == "markdown":
        reason = _fences_objection(before, after)
    if language in ("yaml", "json", "toml"):
        reason = _values_objection(before, after, edits, language)
    elif language == "requirements" and os.path.splitext(before.path)[1] in (".txt", ".in"):
        reason = _requirements_objection(before.text, text, edits)
    return reason or _launches_objection(before, after)


def _launches_objection(before: SourceFile, after: SourceFile) -> str | None:
    from trl_lint.fixes.verify_launches import launches_objection

    return launches_objection(before, after)


def _notebook_objection(before: SourceFile, after: SourceFile) -> str | None:
    from trl_lint.fixes.verify_python import text_objection
    from trl_lint.sources.notebook import python_source

    return text_objection(python_source(before), python_source(after))


def _fences_objection(before: SourceFile, after: SourceFile) -> str | None:
    """As many blocks of Python and as many recipes can be read as before."""
    from trl_lint.project.documents import documents_shown
    from trl_lint.python.fences import modules_shown

    if len(modules_shown(before)) != len(modules_shown(after)):
        return "a block of Python could not be read any more"
    old, new = ([document.kind for document in documents_shown(file)] for file in (before, after))
    return "a recipe that is shown could not be read any more" if old != new else None


# -- YAML, JSON, TOML -------------------------------------------------------------------------------------------------


def _values_objection(before: SourceFile, after: SourceFile, edits: Sequence[Edit], language: str) -> str | None:
    """Only values that an edit touches may change, appear or go."""
    changes = moves(before.text, edits)
    spans, ranges = [(edit.start, edit.end) for edit in edits], changes.ranges()
    try:
        old = dict(_values(before, language, spans))
    except SourceError:
        return None  # a template, say: there is nothing to compare with
    try:
        new = dict(_values(after, language, ranges))
    except SourceError as error:
        return f"the file could not be parsed any more: {error.message}"
    for path, (value, start, end, is_below) in old.items():
        if not is_below and new.get(path, (None,))[0] != value and not _touches(start, end, spans):
            return f"`{_shown(path)}` would change as well"
    for path, (_, start, end, is_below) in new.items():
        if not is_below and path not in old and not _touches(start, end, ranges):
            return f"`{_shown(path)}` would appear as well"
    if _below(old, spans) - _below(new, ranges):
        return "what stands below a key would change as well"
    return None


def _below(values: dict[_Path, _Value], spans: Sequence[tuple[int, int]]) -> Counter[object]:
    """What stands below keys that edits touch, and is not touched itself."""
    return Counter(
        value for value, start, end, is_below in values.values() if is_below and not _touches(start, end, spans)
    )


def _touches(start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= stop and begin <= end for begin, stop in spans)


def _shown(path: tuple[object, ...]) -> str:
    return ".".join(str(part) for part in path[1:])


_Path = tuple[object, ...]
_Value = tuple[object, int, int, bool]


def _values(file: SourceFile, language: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[_Path, _Value]]:
    """Every scalar (and every empty list or mapping) by its path: its value, the span from key to value, and whether it
    stands below a key that one of the sorted `spans` touches.
    """
    from trl_lint.sources.trees import read_trees

    for number, root in enumerate(read_trees(Source(file, language))):
        yield from _walk((number,), root, root.start, spans)


def _walk(path: _Path, root: Node, start: int, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[_Path, _Value]]:
    from trl_lint.sources.nodes import Mapping, Scalar

    seen: set[int] = set()
    waiting: list[tuple[_Path, Node, int, bool, bool]] = [(path, root, start, False, False)]
    while waiting:
        place, node, begin, is_below, is_renamed = waiting.pop()
        if isinstance(node, Scalar):
            yield place, ((type(node.value).__name__, node.value, node.tag), begin, node.end, is_below)
            continue
        children = node.entries if isinstance(node, Mapping) else node.items
        yield (*place, "()"), (type(node).__name__, begin, node.end, is_below)
        is_below = is_below or is_renamed
        if id(children) in seen:  # a YAML alias: checked where its anchor stands
            continue
        seen.add(id(children))
        if isinstance(node, Mapping):
            count: Counter[object] = Counter()
            for entry in node.entries:
                key = entry.key.value
                count[key] += 1
                name = (key,) if count[key] == 1 else (key, f"#{count[key]}")
                is_renamed = _is_in(spans, entry.key.start, entry.key.end)
                waiting.append(((*place, *name), entry.value, entry.key.start, is_below, is_renamed))
        else:
            items = enumerate(node.items)
            waiting.extend(((*place, index), item, item.start, is_below, False) for index, item in items)


def _is_in(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether one of the sorted spans touches a range."""
    at = bisect_right(spans, (end, end))
    return at > 0 and spans[at - 1][1] >= start


# -- requirements -----------------------------------------------------------------------------------------------------


def _requirements_objection(before: str, after: str, edits: Sequence[Edit]) -> str | None:
    """pip reads as many lines as before, and those without an edit the same way."""
    from trl_lint.sources.requirements import read_requirements

    old, new = read_requirements(before), read_requirements(after)
    if len(new.problems) > len(old.problems):
        return f"pip would refuse the new text: {new.problems[-1][2]}"
    spans = [(edit.start, edit.end) for edit in edits]
    found = Counter((r.package, r.extras, r.specifier, r.url, r.marker) for r in new.requirements)
    for r in old.requirements:
        key = (r.package, r.extras, r.specifier, r.url, r.marker)
        if not _touches(r.start, r.end, spans):
            if not found[key]:
                return f"the requirement on {r.package} would change as well"
            found[key] -= 1
    return None
