"""The keys that a dict certainly has where a call unpacks it: `Config(**DEFAULTS)`, `Config(**options(8))`.

Followed are names that one place binds, also in other modules of the project, what is put into them on the way, dicts
made of others, and functions that give a dict back. A key counts where nothing may have kept it out, or taken it away.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from trl_lint import budget
from trl_lint.checks.drift._classes import Argument
from trl_lint.project import Project
from trl_lint.project.modules import imported_name, is_in_one_place
from trl_lint.python.guards import functions_named, key_of
from trl_lint.python.module import FunctionNode, PythonModule, own_nodes
from trl_lint.python.reaching import block_around
from trl_lint.python.scopes import scopes
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError

_DEEP = 6  # dicts that are made of dicts
_MOST_USES = 500  # uses of one name
_MOST_STEPS = 1_000  # parts of what one call unpacks
_READS = frozenset({"get", "items", "keys", "values", "copy"})
_COPIES = frozenset({"copy.copy", "copy.deepcopy"})
# What gets a dict and leaves it as it is.
_LOOKS = frozenset({"print", "len", "dict", "sorted", "list", "set", "str", "repr", "isinstance", "type", "json.dumps"})


class Bound(NamedTuple):
    """What one place binds: the expression that makes it, its name there, and the module."""

    made: ast.expr
    bound: ast.Name
    home: PythonModule


class _Uses(NamedTuple):
    """What a module does with a dict: what it puts in, each with the statement that does so, and the keys it takes out.

    `readers`: the calls that unpack it.
    """

    added: list[tuple[ast.stmt, ast.expr | str, ast.expr]]
    removed: set[str]
    readers: list[ast.Call]


def held_arguments(call: ast.Call, module: PythonModule, project: Project) -> Iterator[Argument]:
    """The keywords that a call certainly gets out of dicts that are not written out in it.

    Of a dict with a name they are told once, at the first of the calls that unpack it, and only if all of these are of
    the same class.
    """
    for keyword in call.keywords:
        if keyword.arg is None:
            yield from _Reader(project, call, module).keys(keyword.value, module, 0).values()


class _Reader:
    """Reads what one call unpacks."""

    def __init__(self, project: Project, call: ast.Call, module: PythonModule) -> None:
        self.project, self.call, self.module = project, call, module
        self.class_of_call = module.names.origins(call.func)
        self.steps = 0

    def keys(self, node: ast.expr, module: PythonModule, depth: int) -> dict[str, Argument]:
        """The keys that a dict certainly has, each with the place that spells it."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            budget.limit(
                _MOST_STEPS, "calls that unpack dicts of more than {} parts were not read to their end", module.path
            )
            return {}
        if depth > _DEEP:
            budget.limit(_DEEP, "dicts that are made of more than {} others were not read", module.path)
            return {}
        if isinstance(node, ast.Dict):
            return self._display(node, module, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return {**self.keys(node.right, module, depth + 1), **self.keys(node.left, module, depth + 1)}
        if isinstance(node, ast.IfExp):
            return _common([self.keys(one, module, depth + 1) for one in (node.body, node.orelse)])
        if isinstance(node, ast.Call):
            return self._call(node, module, depth)
        found = bound_once(node, module, self.project)
        return self._named(found, node, module, depth) if found is not None else {}

    def _display(self, node: ast.Dict, module: PythonModule, depth: int) -> dict[str, Argument]:
        found: dict[str, Argument] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found.update(self.keys(value, module, depth + 1))
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                found[key.value] = self._argument(key.value, key, module)
        return found

    def _argument(self, name: str, node: ast.keyword | ast.expr, module: PythonModule) -> Argument:
        return Argument(name, node, None if module is self.module else module)

    def _call(self, node: ast.Call, module: PythonModule, depth: int) -> dict[str, Argument]:
        func, origins = node.func, module.names.origins(node.func)
        if isinstance(func, ast.Attribute) and func.attr == "copy" and not node.args:
            return self.keys(func.value, module, depth + 1)
        if (key_of(func) == "dict" or (origins and origins <= _COPIES)) and len(node.args) <= 1:
            found = self.keys(node.args[0], module, depth + 1) if node.args else {}
            return {**found, **self._keywords(node, module, depth)}
        function = self._function(node, module)
        return self._returned(*function, depth) if function is not None else {}

    def _keywords(self, node: ast.Call, module: PythonModule, depth: int) -> dict[str, Argument]:
        found: dict[str, Argument] = {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                found[keyword.arg] = self._argument(keyword.arg, keyword, module)
            else:
                found.update(self.keys(keyword.value, module, depth + 1))
        return found

    # -- functions ----------------------------------------------------------------------------------------------------

    def _function(self, call: ast.Call, module: PythonModule) -> tuple[FunctionNode, PythonModule] | None:
        """The one function of the project that a call certainly runs, if nothing is laid around it."""
        name, home = key_of(call.func), module
        first = name.partition(".")[0]
        if not name or not isinstance(call.func, (ast.Name, ast.Attribute)):
            return None
        if module.names.is_imported(first):
            found = imported_name(module, call.func, self.project) if self._is_clear(name, module) else None
            if found is None:
                return None
            home, name = found
        elif not isinstance(call.func, ast.Name) or not isinstance(scopes(module).binding(call.func), ast.FunctionDef):
            return None
        functions = functions_named(home, name)
        if len(functions) != 1 or not isinstance(home.parents.get(functions[0]), ast.Module):
            return None
        function = functions[0]
        is_plain = isinstance(function, ast.FunctionDef) and not function.decorator_list
        return (function, home) if is_plain and len(scopes(home).sites_of(name).get(home.tree, ())) == 1 else None

    def _is_clear(self, name: str, module: PythonModule) -> bool:
        return is_in_one_place(module, name, self.project)

    def _returned(self, function: FunctionNode, home: PythonModule, depth: int) -> dict[str, Argument]:
        """What every dict that a function gives back has."""
        nodes = list(own_nodes(function))
        if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
            return {}
        returns = [node.value for node in nodes if isinstance(node, ast.Return)]
        given = [self.keys(value, home, depth + 1) if value is not None else {} for value in returns]
        return _common(given)

    # -- dicts with a name --------------------------------------------------------------------------------------------

    def _named(self, found: Bound, use: ast.expr, module: PythonModule, depth: int) -> dict[str, Argument]:
        uses = _uses(found.bound, found.home)
        if uses is None:
            return {}
        removed, readers = uses.removed, uses.readers
        if module is not found.home:
            there = _uses_of_import(use, module)
            if there is None:
                return {}
            removed, readers = removed | there.removed, [*readers, *there.readers]
        if module is self.module and not self._is_first(readers):
            return {}
        keys = self.keys(found.made, found.home, depth + 1)
        at = use if module is found.home else None
        for statement, key, value in uses.added:
            if _is_before(found.bound, statement, at, found.home):
                more = {key: self._argument(key, value, found.home)} if isinstance(key, str) else None
                if more is None:
                    more = self._added(value, found.home, depth)
                for name, argument in more.items():
                    keys.setdefault(name, argument)
        return {name: argument for name, argument in keys.items() if name not in removed}

    def _added(self, update: ast.expr, home: PythonModule, depth: int) -> dict[str, Argument]:
        if not isinstance(update, ast.Call) or len(update.args) > 1:
            return {}
        found = self.keys(update.args[0], home, depth + 1) if update.args else {}
        return {**found, **self._keywords(update, home, depth)}

    def _is_first(self, readers: list[ast.Call]) -> bool:
        """Whether the call is the first of those that unpack a dict, all of the same class; others are none of them."""
        if self.call not in readers:
            return True
        names = self.module.names
        return readers[0] is self.call and all(
            names.origins(one.func) == self.class_of_call and names.is_certain(one.func) for one in readers
        )


def _common(found: list[dict[str, Argument]]) -> dict[str, Argument]:
    """What is in all of them."""
    if not found:
        return {}
    return {name: argument for name, argument in found[0].items() if all(name in one for one in found[1:])}


def bound_once(node: ast.expr, module: PythonModule, project: Project) -> Bound | None:
    """What a name stands for that one place of the project binds, and nothing binds again."""
    name, home = key_of(node), module
    site = scopes(module).binding(node) if isinstance(node, ast.Name) else None
    if not name:
        return None
    if not isinstance(site, ast.Name):
        if not module.names.is_imported(name.partition(".")[0]) or not is_in_one_place(module, name, project):
            return None
        with suppress(OSError, SourceError):
            found = imported_name(module, node, project)
            if found is not None:
                home, name = found
                sites = scopes(home).sites_of(name).get(home.tree, [])
                site = sites[0] if len(sites) == 1 else None
    statement = home.parents.get(site) if isinstance(site, ast.Name) else None
    is_plain = isinstance(statement, ast.AnnAssign) or (
        isinstance(statement, ast.Assign) and statement.targets == [site]
    )
    made = getattr(statement, "value", None) if is_plain else None
    return Bound(made, site, home) if made is not None and isinstance(site, ast.Name) else None


def _uses(bound: ast.Name, module: PythonModule) -> _Uses | None:
    """All that is done with a dict in the module that binds it; None where something may change it unseen."""
    table, uses = scopes(module), []
    for name in module.named(bound.id):
        if name is bound:
            continue
        site = table.binding(name)
        if site is bound:
            uses.append(name)
        elif site is None:
            return None
    scope = table.scope(bound)
    return _read_uses(uses, module, None if isinstance(scope, ast.Module) else scope)


def _uses_of_import(use: ast.expr, module: PythonModule) -> _Uses | None:
    """The same for a module that imports the dict."""
    name = key_of(use)
    uses: list[ast.expr] = [*module.named(name)] if "." not in name else []
    if "." in name:
        uses += [node for node in module.of(ast.Attribute) if key_of(node) == name]
    return _read_uses(uses, module, None)


def _read_uses(nodes: list[ast.Name] | list[ast.expr], module: PythonModule, scope: ast.AST | None) -> _Uses | None:
    found = _Uses([], set(), [])
    if len(nodes) > _MOST_USES:
        budget.note(module.path, f"a dict that is used more than {_MOST_USES} times was not read")
        return None
    for node in nodes:
        if not isinstance(getattr(node, "ctx", None), ast.Load) or not _read_use(node, found, module, scope):
            return None
    return found


def _read_use(node: ast.expr, found: _Uses, module: PythonModule, scope: ast.AST | None) -> bool:
    """Note what one use does; whether that is known."""
    parent = module.parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _read_item(parent, found, module)
    if isinstance(parent, ast.keyword):
        call = module.parents[parent]
        if parent.arg is None and isinstance(call, ast.Call):
            found.readers.append(call)
        return parent.arg is None
    if isinstance(parent, ast.Dict):
        return any(key is None and value is node for key, value in zip(parent.keys, parent.values, strict=True))
    if isinstance(parent, ast.Attribute):
        return _read_method(parent, found, module)
    if isinstance(parent, ast.Call):
        named = key_of(parent.func)
        is_copied = bool(origins := module.names.origins(parent.func)) and origins <= _COPIES
        return node is not parent.func and (named in _LOOKS or is_copied or named.endswith(".update"))
    if isinstance(parent, ast.Return):
        return scope is not None and module.function(parent) is scope
    is_read = isinstance(parent, (ast.Compare, ast.FormattedValue, ast.comprehension))
    return is_read or (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitOr)) or _is_looped(node, parent)


def _is_looped(node: ast.expr, parent: ast.AST) -> bool:
    return isinstance(parent, (ast.For, ast.AsyncFor)) and parent.iter is node


def _read_item(item: ast.Subscript, found: _Uses, module: PythonModule) -> bool:
    """`d["key"]`: put in, taken out or read. What stands under a key that nobody knows takes nothing away."""
    key = item.slice.value if isinstance(item.slice, ast.Constant) else None
    if isinstance(item.ctx, ast.Del):
        if isinstance(key, str):
            found.removed.add(key)
        return isinstance(key, str)
    statement = module.parents[item]
    is_put = isinstance(item.ctx, ast.Store) and isinstance(statement, ast.Assign) and statement.targets == [item]
    if is_put and isinstance(statement, ast.Assign) and isinstance(key, str):
        found.added.append((statement, key, item.slice))
    return True


def _read_method(method: ast.Attribute, found: _Uses, module: PythonModule) -> bool:
    call = module.parents[method]
    if not isinstance(call, ast.Call) or call.func is not method:
        return False
    first = call.args[0] if call.args else None
    key = first.value if isinstance(first, ast.Constant) else None
    if method.attr == "pop":
        if isinstance(key, str):
            found.removed.add(key)
        return isinstance(key, str)
    statement = module.parents[call]
    if method.attr == "update":
        if isinstance(statement, ast.Expr):
            found.added.append((statement, call, call))
        return isinstance(statement, ast.Expr)
    if method.attr == "setdefault" and isinstance(key, str) and isinstance(statement, ast.Expr) and first is not None:
        found.added.append((statement, key, first))
    return method.attr in (*_READS, "setdefault")


def _is_before(bound: ast.Name, statement: ast.stmt, use: ast.expr | None, module: PythonModule) -> bool:
    """Whether a statement has certainly run between the place that makes a dict and a use of it.

    All three stand in one row of statements, or in one of them. Without a `use` here: when all of the module has run.
    """
    made = module.parents[bound]
    row: dict[ast.AST, int] = {
        node: number for number, node in enumerate(block_around(module.parents[made], made) or ())
    }
    if statement not in row or made not in row:
        return False
    last = len(row)
    if use is not None:
        node: ast.AST = use
        while node not in row and not isinstance(node, ast.Module):
            node = module.parents[node]
        last = row.get(node, 0)
    return row[made] < row[statement] < last
