"""Proving repaired Python: it parses, no name is loaded that nothing binds, and only edited code is different."""

from __future__ import annotations

import ast
import builtins
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from symtable import SymbolTable

from trl_lint.finding import Edit
from trl_lint.python.module import Places, parse
from trl_lint.sources import Source, SourceError

_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__package__", "__spec__", "__loader__"}
_TOKENS = (ast.expr_context, ast.operator, ast.boolop, ast.cmpop, ast.unaryop)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def text_objection(before: Source, after: Source) -> str | None:
    """Why new Python text is worse than the old: it does not parse, or loads a name that nothing binds."""
    return _objection(before, after, None)


def module_objection(before: Source, after: Source, edits: Sequence[Edit]) -> str | None:
    """The same for a whole file, whose offsets the edits have: what no edit touches must stay the same code."""
    return _objection(before, after, edits)


def _objection(before: Source, after: Source, edits: Sequence[Edit] | None) -> str | None:
    try:
        old = Code(before)
    except SourceError:
        return None  # newer than this interpreter: only the rules can tell whether it is repaired
    try:
        new = Code(after)
    except SourceError as error:
        return f"the file would not parse any more: {error.message}"
    if unbound := sorted(_unbound(after.text) - _unbound(before.text)):
        return f"the name `{unbound[0][1]}` is not bound where the new code uses it"
    if edits is not None and not _only_edited(old, new, edits):
        return "code beside the edited place would change as well"
    return None


# -- names ------------------------------------------------------------------------------------------------------------


def _unbound(text: str) -> set[tuple[str, str]]:
    """Names a module loads although no scope around binds them, each with the dotted name of its scope."""
    import symtable
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            top = symtable.symtable(text, "<fix>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return set()  # parsed but not compilable, before as after
    tables = list(_tables(top, ""))
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    for _, table in tables:
        bound |= {s.get_name() for s in table.get_symbols() if s.is_declared_global() and s.is_assigned()}
    found = set()
    for scope, table in tables:
        for symbol in table.get_symbols():
            name = symbol.get_name()
            free = symbol.is_global() or (table is top and name not in bound)
            if symbol.is_referenced() and free and name not in bound and name not in _BUILTINS:
                found.add((scope, name))
    return found


def _tables(table: SymbolTable, scope: str) -> Iterator[tuple[str, SymbolTable]]:
    yield scope, table
    for child in table.get_children():
        yield from _tables(child, f"{scope}.{child.get_name()}")


# -- what changed -----------------------------------------------------------------------------------------------------


class Code(Places):
    """A Python source with its tree; a node begins with its first decorator.

    Raises SourceError if the text is not Python that this interpreter can parse.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.tree = parse(source.text)

    def span(self, node: ast.AST) -> tuple[int, int]:
        start, end = super().span(node)
        for decorator in getattr(node, "decorator_list", ()):
            start = min(start, super().span(decorator)[0])
        return start, end


class _Comparison:
    """Two codes and the edits between them, which are sorted and do not overlap."""

    def __init__(self, old: Code, new: Code, edits: Sequence[Edit]) -> None:
        self.old = old
        self.new = new
        self.edits = edits
        self._starts = [edit.start for edit in edits]
        self._ends = [edit.end for edit in edits]

    def is_touched(self, node: ast.AST) -> bool:
        if not hasattr(node, "lineno"):
            return any(self.is_touched(child) for child in ast.iter_child_nodes(node))
        start, end = self.old.span(node)
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        return any(_reaches(edit, start, end) for edit in self.edits[first:last])

    def old_text(self, statement: ast.AST) -> str:
        return _text_of(statement, self.old)

    def new_text(self, statement: ast.AST) -> str:
        return _text_of(statement, self.new)


def _text_of(statement: ast.AST, code: Code) -> str:
    """The text of a statement; a case of a `match` has no place, and is told by its tree."""
    return code.segment(statement) if hasattr(statement, "lineno") else ast.dump(statement)


def _only_edited(old: Code, new: Code, edits: Sequence[Edit]) -> bool:
    return _same_block(old.tree.body, new.tree.body, _Comparison(old, new, edits))


def _reaches(edit: Edit, start: int, end: int) -> bool:
    """Whether an edit may change what stands from `start` to `end`; whole lines put in front of it must not."""
    if edit.start > end or edit.end < start:
        return False
    return edit.end > start or (edit.start == edit.end and "\n" not in edit.content)


def _same_block(old: Sequence[ast.AST], new: Sequence[ast.AST], both: _Comparison) -> bool:
    """Untouched statements are all there, in order; between two of them, touched ones pair up or are replaced."""
    touched_ones = [both.is_touched(node) for node in old]
    wanted = [node for node, is_touched in zip(old, touched_ones, strict=True) if not is_touched]
    gaps: list[list[ast.AST]] = [[]]
    for node, is_touched in zip(old, touched_ones, strict=True):
        if is_touched:
            gaps[-1].append(node)
        else:
            gaps.append([])
    # Two statements with one text are one piece of code, and comparing texts is cheap. Where that does not prove it,
    # the trees may.
    by_text = _anchors(map(both.old_text, wanted), map(both.new_text, new))
    if by_text is not None and _same_gaps(gaps, by_text, new, both):
        return True
    by_tree = _anchors(map(ast.dump, wanted), map(ast.dump, new))
    return by_tree is not None and by_tree != by_text and _same_gaps(gaps, by_tree, new, both)


def _same_gaps(gaps: list[list[ast.AST]], anchors: list[int], new: Sequence[ast.AST], both: _Comparison) -> bool:
    """Whether the touched statements between untouched ones pair up with what stands there now, or are replaced."""
    for touched, (before, after) in zip(gaps, pairwise(anchors), strict=True):
        fresh = new[before + 1 : after]
        if len(touched) == len(fresh):
            pairs = zip(touched, fresh, strict=True)
            if not all(_same_statement(a, b, both) for a, b in pairs):
                return False
    return True


def _anchors(wanted: Iterable[str], present: Iterable[str]) -> list[int] | None:
    """The places at which each of the wanted is present, in order, between the place before the first and that after
    the last; None if one is not there."""
    found = [-1]
    there = list(present)
    for text in wanted:
        try:
            found.append(there.index(text, found[-1] + 1))
        except ValueError:
            return None
    return [*found, len(there)]


def _same_statement(old: ast.AST, new: ast.AST, both: _Comparison) -> bool:
    blocks = [name for name in _BLOCKS if isinstance(getattr(old, name, None), list)]
    if type(old) is type(new):
        for name in blocks:
            if not _same_block(getattr(old, name), getattr(new, name), both):
                return False
    elif blocks:
        return False  # a compound statement never turns into another kind
    # Every largest piece that no edit touches must be in the new statement, wherever it went.
    inside = {id(child) for name in blocks for child in getattr(old, name)}
    kept = Counter(ast.dump(node) for node in _untouched(old, inside, both.is_touched))
    return not kept or not kept - Counter(ast.dump(node) for node in _outside_blocks(new))


def _outside_blocks(node: ast.AST) -> Iterator[ast.AST]:
    """A statement's own pieces, without the statements inside it."""
    inside = {id(child) for name in _BLOCKS for child in _items(getattr(node, name, None))}
    for child in ast.iter_child_nodes(node):
        if id(child) not in inside:
            yield from ast.walk(child)


def _items(value: object) -> list[ast.AST]:
    return value if isinstance(value, list) else []  # the body of a lambda is no list


def _untouched(node: ast.AST, inside: set[int], is_touched: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if id(child) in inside or isinstance(child, _TOKENS):
            continue
        if is_touched(child):
            yield from _untouched(child, inside, is_touched)
        elif hasattr(child, "lineno"):
            yield child
