"""One Python source with its syntax tree, walked once for all rules."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from trl_lint.finding import Location
from trl_lint.memos import Circle, Memo, per_module
from trl_lint.missing import UNKNOWN, Missing
from trl_lint.python.names import Names
from trl_lint.python.values import literal
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceError
from trl_lint.sources.text import TooLargeError

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

N = TypeVar("N", bound=ast.AST)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
# Fields that never hold a node worth a visit: names, numbers, and operators, which all trees of a process share, so
# that what other tools hang on them (pyflakes its parent links) would lead out of this tree.
_PLAIN = frozenset(
    ("ctx", "op", "ops", "id", "attr", "name", "kind", "level", "module", "type_comment", "type_ignores")
)
_PARTS = (ast.Constant, ast.FormattedValue, ast.JoinedStr)
_SHARED = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)


def _child_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    if kind in (ast.Constant, ast.Import, ast.ImportFrom):
        return ()
    return tuple(field for field in kind._fields if field not in _PLAIN)


# What the walk enters, by the type of a node; a value whose type is not here is no node.
_CHILDREN: dict[type, tuple[str, ...]] = {
    kind: _child_fields(kind)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and not issubclass(kind, _SHARED)
}


class Places:
    """Where the nodes of a Python source stand, in characters."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._ascii = source.text.isascii()

    def offset(self, line: int, byte_column: int) -> int:
        """The character offset of an `ast` position, whose columns count UTF-8 bytes."""
        start = self.source.lines.starts[line - 1]
        if self._ascii or byte_column == 0:
            return start + byte_column
        text = self.source.lines.line_text(line)
        return start + len(text.encode()[:byte_column].decode("utf-8", "replace"))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Start and end offset of a node in the text of its source."""
        return (
            self.offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self.offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def segment(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.source.text[start:end]


def _no_project() -> None:
    """The project of a module that was read for itself."""


class PythonModule(Places):
    """A parsed Python source: calls, imports and definitions in source order, the name table, positions, parents.

    Raises SourceError if the text is not Python that this interpreter can parse.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.memo: Memo = {}
        self.project: Callable[[], Any] = _no_project  # what the module is checked in; it does not keep that alive
        self.tree = tree_of(source)
        self.parents: dict[ast.AST, ast.AST] = {}
        self._index: defaultdict[type, list[Any]] = defaultdict(list)  # under each type, nodes of that type
        self._functions: dict[ast.AST, FunctionNode | None] = {}
        self._named: dict[str, list[ast.Name]] = {}
        self._walk()
        self.calls: list[ast.Call] = sorted(self.of(ast.Call), key=_place)
        self.imports: list[ast.Import | ast.ImportFrom] = sorted(
            [*self.of(ast.Import), *self.of(ast.ImportFrom)], key=_place
        )
        self.classes: list[ast.ClassDef] = sorted(self.of(ast.ClassDef), key=_place)
        self.functions: list[FunctionNode] = sorted(
            [*self.of(ast.FunctionDef), *self.of(ast.AsyncFunctionDef)], key=_place
        )
        self.names = Names()
        self._constants: dict[str, list[ast.expr]] = {}
        self._name_everything()

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def text(self) -> str:
        return self.source.text

    def of(self, kind: type[N]) -> list[N]:
        """All nodes of exactly this type, in the order of the walk (not of the source), at no cost."""
        return self._index.get(kind, [])

    def named(self, name: str) -> list[ast.Name]:
        """All uses of a name, bound or read, in the order of the walk: each node is looked at once for all of them."""
        if not self._named:
            for node in self.of(ast.Name):
                self._named.setdefault(node.id, []).append(node)
        return self._named.get(name, [])

    def _walk(self) -> None:
        """The only walk over the whole tree: what rules look for in it is in the index, what is around in `parents`."""
        parents, index, children = self.parents, self._index, _CHILDREN
        stack: list[ast.AST] = [self.tree]
        while stack:
            node = stack.pop()
            for field in children[node.__class__]:
                value = getattr(node, field)
                for item in value if value.__class__ is list else (value,):
                    kind = item.__class__
                    fields = children.get(kind)
                    if fields is not None:
                        parents[item] = node
                        index[kind].append(item)
                        if fields:
                            stack.append(item)

    def _name_everything(self) -> None:
        names = self.names
        for node in self.imports:
            names.add_import(node)
        for assignment in self.of(ast.Assign):
            for target in assignment.targets:
                self._bind(target, assignment.value)
        for annotated in self.of(ast.AnnAssign):
            self._bind(annotated.target, annotated.value)
        for definition in (*self.functions, *self.classes):
            if not (names.is_imported(definition.name) and self._is_stub(definition)):
                names.add_binding(definition.name)
        for parameter in self.of(ast.arg):
            names.add_binding(parameter.arg)
        loops: list[ast.For | ast.AsyncFor | ast.comprehension | ast.AugAssign] = [
            *self.of(ast.For), *self.of(ast.AsyncFor), *self.of(ast.comprehension), *self.of(ast.AugAssign)
        ]  # fmt: skip
        for loop in loops:
            self._bind_loop(loop.target)

    def _is_stub(self, definition: FunctionNode | ast.ClassDef) -> bool:
        """Whether a definition stands where an import failed, and does nothing but refuse."""
        return isinstance(self.parents.get(definition), ast.ExceptHandler) and _refuses(definition)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            self._bind_loop(target)
            return
        self.names.add_assignment(target, value)
        if isinstance(target, ast.Name) and value is not None:
            self._constants.setdefault(target.id, []).append(value)

    def _bind_loop(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.names.add_binding(target.id)
            return
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.names.add_binding(node.id)

    def value(self, node: ast.expr | Missing | None) -> object:
        """The literal value of an expression; a name that is assigned exactly one literal counts. Else UNKNOWN."""
        if isinstance(node, ast.Name):
            values = self._constants.get(node.id, ())
            if len(values) == 1 and self.names.is_literal_only(node.id):
                return literal(values[0])
            return UNKNOWN
        return literal(node)

    def release(self) -> None:
        """Drop what analyses found out: some of it refers to the module again, and would keep it in memory for good."""
        for kept in self.memo.values():
            if isinstance(kept, Circle):
                kept.cut()
        self.memo.clear()

    # -- places ---------------------------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Start and end offset of a node in the text of its source; for a part of an f-string those of the whole.

        That is where Python stands before 3.12; later ones tell the parts apart, and a report would be another.
        """
        while isinstance(node, _PARTS):
            parent = self.parents.get(node)
            is_part = isinstance(parent, ast.JoinedStr) or getattr(parent, "format_spec", None) is node
            if parent is None or not is_part:
                break
            node = parent
        return super().span(node)

    def location(self, node: ast.AST, message: str = "") -> Location:
        return self.source.location(*self.span(node), message)

    def name_location(self, function: FunctionNode, message: str = "") -> Location:
        """The name of a function where it is defined."""
        start, end = self.span(function)
        at = self.text.find(function.name, start, end)
        return self.source.location(at, at + len(function.name), message)

    # -- surroundings ---------------------------------------------------------------------------------------------

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        return ancestors_of(node, self.parents)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement a node stands in (the node itself if it is one)."""
        if isinstance(node, ast.stmt):
            return node
        return next((n for n in self.ancestors(node) if isinstance(n, ast.stmt)), None)

    def function(self, node: ast.AST) -> FunctionNode | None:
        """The innermost function around a node."""
        passed: list[ast.AST] = []
        around = self.parents.get(node)
        while around is not None and not isinstance(around, FUNCTIONS):
            if around in self._functions:
                around = self._functions[around]
                break
            passed.append(around)
            around = self.parents.get(around)
        self._functions.update(dict.fromkeys(passed, around))  # the arms of a long `elif` stand in each other
        return around

    def functions_around(self, node: ast.AST) -> Iterator[FunctionNode]:
        """The functions that a node stands in, from the inside."""
        return (n for n in self.ancestors(node) if isinstance(n, FUNCTIONS))

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around a node."""
        return next((n for n in self.ancestors(node) if isinstance(n, ast.ClassDef)), None)


@per_module
def mentions(module: PythonModule, pattern: re.Pattern[str]) -> bool:
    """Whether the text of a module holds a pattern anywhere: what it may do in a way that leaves no fact about it."""
    return pattern.search(module.text) is not None


def ancestors_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """The nodes around a node, innermost first."""
    while (parent := parents.get(node)) is not None:
        node = parent
        yield node


def nodes_in(node: ast.AST, closed: tuple[type[ast.AST], ...] = ()) -> Iterator[ast.AST]:
    """A node and all in it, in no order; what `ast.walk` gives but for names of imports and operators, and faster.

    Nodes of the types `closed` are given, and what is in them is not.
    """
    stack: list[Any] = [node]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, closed):
            continue
        for field in _CHILDREN[node.__class__]:
            value = getattr(node, field)
            if value.__class__ is list:
                stack.extend(item for item in value if item.__class__ in _CHILDREN)
            elif value.__class__ in _CHILDREN:
                stack.append(value)


def own_nodes(function: FunctionNode) -> list[ast.AST]:
    """What is in the body of a function, without what belongs to another function or class in it."""
    return [node for statement in function.body for node in nodes_in(statement, _SCOPES)]


def tree_of(source: Source) -> ast.Module:
    """The tree of a source, parsed unless somebody has done so already. Raises SourceError."""
    known = source.file.tree
    return known if known is not None and source.text is source.file.text else parse(source.text)


def repeated_keywords(module: PythonModule) -> Iterator[ast.keyword]:
    """The first keyword of each call or class that was given before: Python compiles no such file."""
    given = [node.keywords for node in module.calls] + [node.keywords for node in module.classes]
    for keywords in given:
        seen: set[str | None] = {None}
        for keyword in keywords:
            if keyword.arg in seen and keyword.arg is not None:
                yield keyword
                break
            seen.add(keyword.arg)


def _refuses(definition: FunctionNode | ast.ClassDef) -> bool:
    """Whether all that stands in a class or a function is `pass`, `...`, a text, a `raise`, or such a method."""
    return all(
        isinstance(one, (ast.Pass, ast.Raise))
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        or (isinstance(definition, ast.ClassDef) and isinstance(one, FUNCTIONS) and _refuses(one))
        for one in definition.body
    )


def _place(node: ast.expr | ast.stmt) -> tuple[int, int, int, int]:
    return (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)


# Before Python 3.12, `ast.parse` looks through all of an f-string for the place of each field of a field's format.
_FORMAT = regex(r"(?<!\w)(?:[fF][rR]?|[rR][fF])('{3}|\"{3}|['\"])")
_SINGLE = regex(r"(?:[^'\\\n]|\\.)*", re.DOTALL)
_DOUBLE = regex(r'(?:[^"\\\n]|\\.)*', re.DOTALL)
_LONG = 20_000  # characters; no shorter text takes long
_MOST_LOOKS = 1_000_000_000  # at characters, about half a second; more is refused, with its place
_HAS_SLOW_FORMATS = sys.version_info < (3, 12)


def _refuse_slow_formats(text: str) -> None:
    """Raises TooLargeError where the fields of f-strings, each times the length of its own one, are too many."""
    looks, at = 0, 0
    while (match := _FORMAT.search(text, at)) is not None:
        quote, start = match[1], match.end()
        if len(quote) == 3:
            end = text.find(quote, start) % (len(text) + 1)  # its last place where it has no end
        else:
            rest = _SINGLE.match(text, start) if quote == "'" else _DOUBLE.match(text, start)
            end = rest.end() if rest is not None else start
        looks += text.count("{", start, end) * (end - start)
        if looks > _MOST_LOOKS:
            size = f"{end - start:,} characters"
            raise TooLargeError(f"not checked: Python 3.12 and newer can parse an f-string of {size}", match.start())
        at = end + len(quote)


def parse(text: str) -> ast.Module:
    """`ast.parse` whose failures are SourceErrors with the offset of the fault; the parser's warnings are dropped.

    What is written for a newer Python gets a tree with the same places (`lowered.py`), where that can be made.
    """
    import warnings

    if "\0" in text:  # Python versions differ in what they raise, and none says where
        raise SourceError("NUL byte in the source", text.index("\0"))
    if _HAS_SLOW_FORMATS and len(text) > _LONG:
        _refuse_slow_formats(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        from trl_lint.python.lowered import lowered_tree

        tree = lowered_tree(text)
        if tree is not None:
            return tree
        offset = 0
        if error.lineno:
            from trl_lint.sources.text import LineIndex

            offset = LineIndex(text).offset(error.lineno, max(1, error.offset or 1))
        raise SourceError(str(error.msg), min(offset, len(text))) from None
    except UnicodeEncodeError as error:  # half of a surrogate pair, which a notebook's JSON can spell
        raise SourceError("a lone surrogate, which is no character", error.start) from None
    except (RecursionError, MemoryError):
        raise SourceError("nested too deeply to be parsed") from None
