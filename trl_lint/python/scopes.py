"""Which names each scope of a module binds, and where: a name can be followed only where exactly one place binds it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.memos import per_module
from trl_lint.python.module import PythonModule, ancestors_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@per_module
def scopes(module: PythonModule) -> Scopes:
    """The scopes of a module, read when they are first asked for."""
    return Scopes(module)


class Scopes:
    """The bindings of every scope: assignments, parameters, imports, definitions, handlers, patterns, `del`."""

    def __init__(self, module: PythonModule) -> None:
        # Not the module itself: it holds this, and what holds each other stays until a collector comes.
        self._tree, self._parents = module.tree, module.parents
        self._sites: dict[str, list[ast.AST]] = {}  # by name; in which scope a site is, is asked for few of the names
        self._bound: dict[str, dict[ast.AST, list[ast.AST]]] = {}
        self._ordered: set[str] = set()
        for name, site in _sites(module):
            self._sites.setdefault(name, []).append(site)
        # `global` and `nonlocal`: bound in more scopes than one
        shared: list[ast.Global | ast.Nonlocal] = [*module.of(ast.Global), *module.of(ast.Nonlocal)]
        self._shared = {name for node in shared for name in node.names}

    def _bound_in(self, name: str) -> dict[ast.AST, list[ast.AST]]:
        """The places that bind a name, by their scope."""
        found = self._bound.get(name)
        if found is None:
            found = self._bound[name] = {}
            for site in self._sites.get(name, ()):
                found.setdefault(self.scope(site), []).append(site)
        return found

    def binds(self, name: str) -> bool:
        """Whether any scope binds a name."""
        return name in self._sites or name in self._shared

    def sites_of(self, name: str) -> dict[ast.AST, list[ast.AST]]:
        """The places that bind a name, by their scope, in the order of the text; none for one shared by several."""
        if name in self._shared:
            return {}
        bound = self._bound_in(name)
        if name not in self._ordered:
            self._ordered.add(name)
            for sites in bound.values():
                sites.sort(key=_place)
        return bound

    def scope(self, node: ast.AST) -> ast.AST:
        """The function, class, comprehension or module whose names a node uses and binds."""
        child = node
        for parent in ancestors_of(node, self._parents):
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
        return self._tree

    def binding(self, node: ast.Name) -> ast.AST | None:
        """The one place that binds the name as it is seen from `node`; None if there are several, or none.

        A place further down in the same scope is none: what the name is before it is not known.
        """
        if node.id in self._shared:
            return None
        bound = self._bound_in(node.id)
        if not bound:
            return None
        first = scope = self.scope(node)
        while True:
            found = bound.get(scope) if scope is first or not _is_class(scope) else None
            if found is not None:
                (only,) = found if len(found) == 1 else (None,)
                is_before = only is not None and (scope is not first or _place(only) < _place(node))
                return only if is_before else None
            if scope is self._tree:
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


def _is_declared(parent: ast.AST) -> bool:
    """Whether a name is given a type there (`args: TrainingArguments`) and nothing else."""
    return isinstance(parent, ast.AnnAssign) and parent.value is None


def _sites(module: PythonModule) -> Iterator[tuple[str, ast.AST]]:
    """Every place that binds a name, with the name."""
    for name in module.of(ast.Name):
        if type(name.ctx) is not ast.Load and not _is_declared(module.parents[name]):
            yield name.id, name
    for parameter in module.of(ast.arg):
        yield parameter.arg, parameter
    for definition in (*module.functions, *module.classes):
        yield definition.name, definition
    for statement in module.imports:
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0], statement
    naming: list[ast.ExceptHandler | ast.MatchAs | ast.MatchStar] = [
        *module.of(ast.ExceptHandler), *module.of(ast.MatchAs), *module.of(ast.MatchStar)
    ]  # fmt: skip
    for node in naming:
        if node.name is not None:
            yield node.name, node
    for mapping in module.of(ast.MatchMapping):
        if mapping.rest is not None:
            yield mapping.rest, mapping
