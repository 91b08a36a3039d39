"""One Python source with its syntax tree, walked once for all rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.finding import Location
from trl_lint.python.names import Names
from trl_lint.python.values import UNKNOWN, Missing, literal
from trl_lint.sources import Source, SourceError

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_REBINDERS = (ast.For, ast.AsyncFor, ast.comprehension, ast.AugAssign)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class PythonModule:
    """A parsed Python source: calls, imports and definitions in source order, the name table, positions, parents.

    Raises SourceError if the text is not Python that this interpreter can parse.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tree = parse(source.text)
        self.calls: list[ast.Call] = []
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.classes: list[ast.ClassDef] = []
        self.functions: list[FunctionNode] = []
        self.names = Names()
        self._constants: dict[str, list[ast.expr]] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.memo: dict[tuple[str, ast.AST], object] = {}  # what an analysis found out about a node, for all its rules
        self._ascii = source.text.isascii()
        self._walk()

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def text(self) -> str:
        return self.source.text

    def _walk(self) -> None:
        names, calls, parents = self.names, self.calls, self.parents
        stack: list[ast.AST] = [self.tree]
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is ast.Call:
                calls.append(node)  # type: ignore[arg-type]
            elif kind is ast.Import or kind is ast.ImportFrom:
                names.add_import(node)  # type: ignore[arg-type]
                self.imports.append(node)  # type: ignore[arg-type]
                continue
            elif kind is ast.Assign:
                for target in node.targets:  # type: ignore[attr-defined]
                    self._bind(target, node.value)  # type: ignore[attr-defined]
            elif kind is ast.AnnAssign:
                self._bind(node.target, node.value)  # type: ignore[attr-defined]
            elif kind in _FUNCTIONS:
                self.functions.append(node)  # type: ignore[arg-type]
                names.add_binding(node.name)  # type: ignore[attr-defined]
            elif kind is ast.ClassDef:
                self.classes.append(node)  # type: ignore[arg-type]
                names.add_binding(node.name)  # type: ignore[attr-defined]
            elif kind is ast.arg:
                names.add_binding(node.arg)  # type: ignore[attr-defined]
            elif kind in _REBINDERS:
                self._bind_loop(node.target)  # type: ignore[attr-defined]
            # Nodes without fields are not entered: operators are shared by all trees of a process, and what other tools
            # hang on them (pyflakes its parent links) would lead out of this tree.
            for value in node.__dict__.values():
                if isinstance(value, list):
                    for item in value:
                        if isinstance(item, ast.AST):
                            parents[item] = node
                            if item._fields:
                                stack.append(item)
                elif isinstance(value, ast.AST) and value._fields:
                    parents[value] = node
                    stack.append(value)
        calls.sort(key=_place)
        self.functions.sort(key=_place)
        self.imports.sort(key=_place)
        self.classes.sort(key=_place)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            self._bind_loop(target)
            return
        self.names.add_assignment(target, value)
        if isinstance(target, ast.Name) and value is not None:
            self._constants.setdefault(target.id, []).append(value)

    def _bind_loop(self, target: ast.expr) -> None:
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

    # -- places ---------------------------------------------------------------------------------------------------

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

    def location(self, node: ast.AST, message: str = "") -> Location:
        return self.source.location(*self.span(node), message)

    # -- surroundings ---------------------------------------------------------------------------------------------

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        parents = self.parents
        while (parent := parents.get(node)) is not None:
            node = parent
            yield node

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement a node stands in (the node itself if it is one)."""
        if isinstance(node, ast.stmt):
            return node
        return next((n for n in self.ancestors(node) if isinstance(n, ast.stmt)), None)

    def function(self, node: ast.AST) -> FunctionNode | None:
        """The innermost function around a node."""
        return next((n for n in self.ancestors(node) if isinstance(n, _FUNCTIONS)), None)

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around a node."""
        return next((n for n in self.ancestors(node) if isinstance(n, ast.ClassDef)), None)


def _place(node: ast.AST) -> tuple[int, int, int, int]:
    return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def parse(text: str) -> ast.Module:
    """`ast.parse` whose failures are SourceErrors with the offset of the fault; the parser's warnings are dropped."""
    import warnings

    if "\0" in text:  # Python versions differ in what they raise, and none says where
        raise SourceError("NUL byte in the source", text.index("\0"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        offset = 0
        if error.lineno:
            from trl_lint.sources.text import LineIndex

            offset = LineIndex(text).offset(error.lineno, max(1, error.offset or 1))
        raise SourceError(str(error.msg), min(offset, len(text))) from None
    except UnicodeEncodeError as error:  # half of a surrogate pair, which a notebook's JSON can spell
        raise SourceError("a lone surrogate, which is no character", error.start) from None
    except (RecursionError, MemoryError):
        raise SourceError("nested too deeply to be parsed") from None
