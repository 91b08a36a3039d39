"""What the files of a package use of other packages when they are imported, and what guards each use."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Literal

from trl_lint.knowledge.refresher.extract import absolute, module_name
from trl_lint.knowledge.refresher.trees import parsed
from trl_lint.python.default_text import dotted, last_name
from trl_lint.records import NamedTuple

_CATCH_ALL = frozenset(("Exception", "BaseException"))

# What tests do not ask; a file of which it is kept would stay in memory as a whole.
_LONGEST_HELPER = 12  # statements
_LARGE = (ast.Dict, ast.List, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)

Failure = Literal["module", "name", "attribute"]
"""How a use fails: ModuleNotFoundError, ImportError or AttributeError."""


class Guard(NamedTuple):
    """What a statement stands under.

    `test`: it runs where the expression `node` comes to `wanted`. `try`, `suppress`: its failure may be caught by
    `node`. `handler`, `else`: it runs where the body of `node` fails, or does not. `open`: nobody can tell.
    """

    kind: Literal["test", "try", "handler", "else", "suppress", "open"]
    node: ast.AST
    wanted: bool = True


class Use(NamedTuple):
    """One use of a module: `import module`, `from module import name`, or, if `is_attribute`, `module.name` where
    `module` was imported and `name` is a dotted path.
    """

    module: str
    name: str
    line: int
    guards: tuple[Guard, ...]
    is_attribute: bool = False


class Code:
    """A file of a package as it is imported.

    `uses`: in the order of the file. `aliases`: name -> (module, name or ""). `constants`: name -> its values, each
    with its guards. `functions`: those that stand outside of classes and other functions.
    """

    def __init__(self, path: str, source: bytes) -> None:
        self.path = path
        self.name = module_name(path)
        self.package = self.name if path.endswith("/__init__.py") else self.name.rpartition(".")[0]
        self.uses: list[Use] = []
        self.aliases: dict[str, tuple[str, str]] = {}
        self.constants: dict[str, list[tuple[ast.expr, tuple[Guard, ...]]]] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        tree = parsed(source)
        if tree is not None:
            self._read(tree.body, ())

    def _read(self, body: Sequence[ast.stmt], guards: tuple[Guard, ...]) -> None:
        for node in body:
            self._read_statement(node, guards)
            # `if not is_x(): raise` or `return`: what follows in this block stands behind the test.
            if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], (ast.Raise, ast.Return)):
                guards = (*guards, Guard("test", node.test, False))

    def _read_statement(self, node: ast.stmt, guards: tuple[Guard, ...]) -> None:
        if isinstance(node, ast.Import):
            self._read_import(node, guards)
        elif isinstance(node, ast.ImportFrom):
            self._read_import_from(node, guards)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if isinstance(node, ast.FunctionDef) and len(node.body) <= _LONGEST_HELPER:
                self.functions[node.name] = node
            defaults = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]
            self._read_expressions((*node.decorator_list, *defaults), guards)
        elif isinstance(node, ast.ClassDef):
            self._read_expressions((*node.decorator_list, *node.bases), guards)
            self._read_class(node, guards)
        elif isinstance(node, ast.If):
            self._read_expressions((node.test,), guards)
            self._read(node.body, (*guards, Guard("test", node.test)))
            self._read(node.orelse, (*guards, Guard("test", node.test, False)))
        elif isinstance(node, ast.Try):
            self._read(node.body, (*guards, Guard("try", node)))
            for handler in node.handlers:
                self._read(handler.body, (*guards, Guard("handler", node)))
            self._read(node.orelse, (*guards, Guard("else", node)))
            self._read(node.finalbody, guards)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            expressions = [item.context_expr for item in node.items]
            self._read_expressions(expressions, guards)
            catches = any(isinstance(each, ast.Call) and last_name(each.func) == "suppress" for each in expressions)
            self._read(node.body, (*guards, Guard("suppress", node)) if catches else guards)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            self._read_expressions((node.test if isinstance(node, ast.While) else node.iter,), guards)
            self._read((*node.body, *node.orelse), (*guards, Guard("open", node)))
        else:
            self._read_plain(node, guards)

    def _read_class(self, node: ast.ClassDef, guards: tuple[Guard, ...]) -> None:
        """The body of a class runs when it is imported; its functions and names are not those of the module."""
        aliases, constants, functions = dict(self.aliases), dict(self.constants), dict(self.functions)
        self._read(node.body, guards)
        self.aliases, self.constants, self.functions = aliases, constants, functions

    def _read_import(self, node: ast.Import, guards: tuple[Guard, ...]) -> None:
        for each in node.names:
            root = each.name.partition(".")[0]
            self.aliases[each.asname or root] = (each.name if each.asname else root, "")
            self.uses.append(Use(each.name, "", node.lineno, guards))

    def _read_import_from(self, node: ast.ImportFrom, guards: tuple[Guard, ...]) -> None:
        module = absolute(node, self.package)
        for each in node.names:
            if each.name == "*":
                self.uses.append(Use(module, "", node.lineno, guards))
            else:
                self.aliases[each.asname or each.name] = (module, each.name)
                self.uses.append(Use(module, each.name, node.lineno, guards))

    def _read_plain(self, node: ast.stmt, guards: tuple[Guard, ...]) -> None:
        value = getattr(node, "value", None)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and not isinstance(value, _LARGE):
                    self.constants.setdefault(target.id, []).append((value, guards))
        if isinstance(value, ast.expr):
            self._read_expressions((value,), guards)

    def _read_expressions(self, expressions: Iterable[ast.expr], guards: tuple[Guard, ...]) -> None:
        """The attributes of imported modules in what is worked out at once."""
        waiting: list[tuple[ast.AST, tuple[Guard, ...]]] = [(each, guards) for each in expressions]
        while waiting:
            node, under = waiting.pop()
            if isinstance(node, ast.Lambda):
                continue
            if isinstance(node, ast.IfExp):
                waiting += [
                    (node.test, under),
                    (node.body, (*under, Guard("test", node.test))),
                    (node.orelse, (*under, Guard("test", node.test, False))),
                ]
            elif isinstance(node, ast.BoolOp):
                for value in node.values:
                    waiting.append((value, under))
                    under = (*under, Guard("test", value, isinstance(node.op, ast.And)))
            elif isinstance(node, ast.Attribute) and (text := dotted(node)):
                head, _, rest = text.partition(".")
                if isinstance(node.ctx, ast.Load) and head in self.aliases:
                    module, name = self.aliases[head]
                    path = f"{module}.{name}" if name else module
                    self.uses.append(Use(path, rest, node.lineno, under, is_attribute=True))
            else:
                waiting += [(child, under) for child in ast.iter_child_nodes(node)]


def is_caught(guards: Iterable[Guard], failure: Failure) -> bool:
    """Whether a statement that fails is caught, so that the import goes on."""
    return any(
        guard.kind == "suppress"
        or (isinstance(guard.node, ast.Try) and guard.kind == "try" and _catches(guard.node, failure))
        for guard in guards
    )


def _catches(node: ast.Try, failure: Failure) -> bool:
    """Whether a handler takes a failure and does not raise again."""
    wanted = {
        "module": {"ModuleNotFoundError", "ImportError"},
        "name": {"ImportError"},
        "attribute": {"AttributeError"},
    }[failure] | _CATCH_ALL
    for handler in node.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(kind is None or last_name(kind) in wanted for kind in kinds):
            return not _raises(handler.body)  # the first handler that fits takes it
    return False


def _raises(body: Iterable[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Raise)
        or (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and dotted(node.value.func) in ("sys.exit", "exit")
        )
        for node in body
    )
