"""Which names each scope of a module binds, and where: a name can be followed only where exactly one place binds it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.python.module import PythonModule

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def scopes(module: PythonModule) -> Scopes:
    """The scopes of a module, read when they are first asked for."""
    cached = module.memo.get(("scopes", module.tree))
    if cached is None:
        cached = module.memo["scopes", module.tree] = Scopes(module)
    return cached  # type: ignore[return-value]


class Scopes:
    """The bindings of every scope: assignments, parameters, imports, definitions, handlers, patterns, `del`."""

    def __init__(self, module: PythonModule) -> None:
        self._module = module
        self._bound: dict[ast.AST, dict[str, list[ast.AST]]] = {}
        self._shared: set[str] = set()  # `global` and `nonlocal`: bound in more scopes than one
        for node in module.parents:
            for name in _bound_names(node):
                self._bound.setdefault(self.scope(node), {}).setdefault(name, []).append(node)
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                self._shared.update(node.names)

    def scope(self, node: ast.AST) -> ast.AST:
        """The function, class, comprehension or module whose names a node uses and binds."""
        child = node
        for parent in self._module.ancestors(node):
            if isinstance(parent, _FUNCTIONS):
                if isinstance(node, ast.arg) or not _is_around(parent, child):
                    return parent
            elif isinstance(parent, ast.ClassDef):
                if child not in (*parent.decorator_list, *parent.bases, *parent.keywords):
                    return parent
            elif isinstance(parent, _COMPREHENSIONS):
                if not isinstance(child, ast.NamedExpr) or child.target is not node:
                    return parent
                continue  # `[y := f(x) …]` binds outside, and so it stays the child
            child = parent
        return self._module.tree

    def binding(self, node: ast.Name) -> ast.AST | None:
        """The one place that binds the name as it is seen from `node`; None if there are several, or none.

        A place further down in the same scope is none: what the name is before it is not known.
        """
        if node.id in self._shared:
            return None
        first = scope = self.scope(node)
        while True:
            found = self._bound.get(scope, {}).get(node.id) if scope is first or not _is_class(scope) else None
            if found is not None:
                (only,) = found if len(found) == 1 else (None,)
                is_before = only is not None and (scope is not first or _place(only) < _place(node))
                return only if is_before else None
            if scope is self._module.tree:
                return None
            scope = self.scope(scope)


def _is_around(function: ast.AST, child: ast.AST) -> bool:
    """Whether a part of a function is read in the scope around it: defaults, annotations, decorators."""
    if isinstance(function, ast.Lambda):
        return child is function.args
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    return child is function.args or child is function.returns or child in function.decorator_list


def _is_class(scope: ast.AST) -> bool:
    return isinstance(scope, ast.ClassDef)


def _place(node: ast.AST) -> tuple[int, int]:
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def _bound_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        if node.name is not None:
            yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest is not None:
        yield node.rest
