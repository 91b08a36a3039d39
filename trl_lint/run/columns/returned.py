"""What the rows hold that a function of the project gives back: literal dicts, and those built key by key."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property

from trl_lint.memos import per_module
from trl_lint.missing import UNKNOWN
from trl_lint.python.module import FUNCTIONS, PythonModule, nodes_in
from trl_lint.python.values import is_none, literal
from trl_lint.records import NamedTuple
from trl_lint.run.columns.known import kind_of_node

_SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
_DEEP = 6  # expressions around a row; what stands further in is unknown

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Rows(NamedTuple):
    """The keys of rows: those of every row with their kinds, those of some, and whether there may be others.

    `dropped`: keys that a function takes out of the row that it is given; "*" for those that are not known.
    """

    certain: Mapping[str, str] = {}
    maybe: frozenset[str] = frozenset()
    complete: bool = True
    dropped: frozenset[str] = frozenset()


_OPEN = Rows(complete=False)


@per_module
def returned_rows(module: PythonModule, function: ast.AST, is_generator: bool) -> Rows:
    """The keys of what a function returns (or yields, if it `is_generator`), besides those of its first parameter.

    What `map` calls changes its row in place, too: `datasets` lays what is returned over the row as the function left
    it, and leaves the dataset alone where nothing is returned (`apply_function` in `arrow_dataset.py`, 2.14 and 5.0.1).
    """
    if not isinstance(function, Function):
        return _OPEN
    reader = _Reader(module, function)
    if is_generator:
        values = list(reader.yielded())
        return either([reader.keys(value, 0) for value in values]) if values else _OPEN
    dropped, in_place = reader.dropped(), reader.in_place()
    given = [value for value in reader.returned() if value is not None and not is_none(value)]
    if not given:
        return Rows({}, in_place.maybe.union(in_place.certain), in_place.complete, dropped)
    rows = either([reader.keys(value, 0) for value in reader.returned()])
    return _joined([in_place, rows])._replace(dropped=dropped)


def either(rows: list[Rows]) -> Rows:
    """What holds whichever of several it is."""
    certain = dict(rows[0].certain)
    for row in rows[1:]:
        certain = {
            name: kind if row.certain[name] == kind else "" for name, kind in certain.items() if name in row.certain
        }
    every = {name for row in rows for name in (*row.certain, *row.maybe)}
    dropped = frozenset(name for row in rows for name in row.dropped)
    return Rows(certain, frozenset(every.difference(certain)), all(row.complete for row in rows), dropped)


def keys_of_dict(node: ast.expr) -> Rows:
    """The keys of a dict that is written down: a literal or `dict(a=…)`."""
    return _Reader(None, ast.Lambda(ast.arguments([], [], None, [], [], None, []), node)).keys(node, 0)


class _Reader:
    """Reads what the names of one function hold. `given`: its first parameter, a row."""

    def __init__(self, module: PythonModule | None, function: Function) -> None:
        self.module = module
        self.function = function
        spec = function.args
        named = [arg.arg for arg in (*spec.posonlyargs, *spec.args) if arg.arg not in ("self", "cls")]
        self.given = named[0] if named else ""
        self._names: dict[str, Rows | None] = {}  # None as long as it is being read
        self._always = frozenset(function.body) if isinstance(function.body, list) else frozenset()

    def nodes(self) -> Iterator[ast.AST]:
        body = self.function.body
        for statement in body if isinstance(body, list) else [body]:
            yield from nodes_in(statement, _SCOPES)

    @cached_property
    def _about(self) -> dict[str, list[ast.AST]]:
        """What binds, changes or uses each name: statements, calls of its methods, and the name where it is used."""
        table: dict[str, list[ast.AST]] = {}
        for node in self.nodes():
            for name in dict.fromkeys(_names_of(node)):
                table.setdefault(name, []).append(node)
        return table

    def returned(self) -> Iterator[ast.expr | None]:
        if isinstance(self.function, ast.Lambda):
            yield self.function.body
            return
        for node in self.nodes():
            if isinstance(node, ast.Return):
                yield node.value

    def yielded(self) -> Iterator[ast.expr | None]:
        for node in self.nodes():
            if isinstance(node, ast.YieldFrom):
                yield None
            if isinstance(node, ast.Yield):
                yield node.value

    def in_place(self) -> Rows:
        """The keys that are set in the row itself, whatever is returned."""
        return _joined(self._later(self.given, 0)) if self.given else Rows()

    def dropped(self) -> frozenset[str]:
        """What is taken out of the row: `datasets` takes such a column away."""
        found: set[str] = set()
        for name in self._called_as(self.given):
            for node in self._about.get(name, ()):
                if isinstance(node, ast.Delete):
                    targets = [one for one in node.targets if isinstance(one, ast.Subscript)]
                    found |= {self._key(one.slice) for one in targets if _is_name(one.value, name)}
                elif isinstance(node, ast.Call) and _is_taking(node.func, name):
                    found.add(self._key(node.args[0]) if node.args else "*")
                elif isinstance(node, ast.Name) and not self._leaves_keys(node):
                    found.add("*")
        return frozenset(found)

    def _called_as(self, name: str) -> list[str]:
        """The names of one object: `row = example` gives it another."""
        found = [name]
        for one in found:
            for node in self._about.get(one, ()):
                if isinstance(node, ast.Assign) and _is_name(node.value, one):
                    found += [each.id for each in node.targets if isinstance(each, ast.Name) and each.id not in found]
        return found

    def _leaves_keys(self, use: ast.Name) -> bool:
        if self.module is None:
            return False
        if isinstance(self.module.parents[use], ast.Subscript):
            return True  # most uses: an item is read, or set by a statement that is read itself
        from trl_lint.run.columns.row_uses import leaves_keys

        return leaves_keys(self.module, use)

    def _key(self, node: ast.expr) -> str:
        name = self.module.value(node) if self.module is not None else literal(node)
        return name if isinstance(name, str) else "*"

    def keys(self, node: ast.expr | None, depth: int) -> Rows:
        if depth > _DEEP:
            return _OPEN
        if node is None or is_none(node):
            return Rows()
        if isinstance(node, ast.Dict):
            return self._of_literal(node, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            parts = [self.keys(each, depth + 1) for each in node.args]
            for keyword in node.keywords:
                one = {keyword.arg: kind_of_node(keyword.value)} if keyword.arg else None
                parts.append(Rows(one) if one is not None else self.keys(keyword.value, depth + 1))
            return _joined(parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return _joined([self.keys(node.left, depth + 1), self.keys(node.right, depth + 1)])
        if isinstance(node, ast.IfExp):
            return either([self.keys(node.body, depth + 1), self.keys(node.orelse, depth + 1)])
        if isinstance(node, ast.Name):
            return self._of_name(node.id, depth)
        return _OPEN

    def _of_literal(self, node: ast.Dict, depth: int) -> Rows:
        parts = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                parts.append(self.keys(value, depth + 1))
                continue
            name = self.module.value(key) if self.module is not None else literal(key)
            parts.append(Rows({name: kind_of_node(value)}) if isinstance(name, str) else _OPEN)
        return _joined(parts)

    def _of_name(self, name: str, depth: int) -> Rows:
        """A name is the parameter itself, or bound to dicts in the function; statements set more keys of it."""
        if name in self._names:
            return self._names[name] or _OPEN
        self._names[name] = None
        begun: list[Rows] = [Rows()] if name == self.given else []
        for node in self._about.get(name, ()):
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if _is_name(target, name):
                        begun.append(self._again(node.value, name, depth))
                    elif isinstance(target, (ast.Tuple, ast.List)) and any(_is_name(one, name) for one in target.elts):
                        begun.append(_OPEN)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.AugAssign)) and _is_name(node.target, name):
                begun.append(_OPEN)
        found = self._names[name] = _joined([either(begun), *self._later(name, depth)]) if begun else _OPEN
        return found

    def _later(self, name: str, depth: int) -> list[Rows]:
        """The keys that are set of an object after it was bound to a name, by that name or by others."""
        found: list[Rows] = []
        for one in self._called_as(name):
            rows = [row for node in self._about.get(one, ()) for row in self._changed(node, one, depth)]
            if one != name:
                rows = [Rows({}, row.maybe.union(row.certain), row.complete) for row in rows]
            found += rows
        return found

    def _changed(self, node: ast.AST, name: str, depth: int) -> list[Rows]:
        """What one statement or expression sets of what a name holds."""
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return [
                self._set(target.slice, node.value, node)
                for target in targets
                if isinstance(target, ast.Subscript) and _is_name(target.value, name)
            ]
        if isinstance(node, ast.Call):
            is_own = isinstance(node.func, ast.Attribute) and _is_name(node.func.value, name)
            return self._called(node, depth) if is_own else []
        return [_OPEN] if isinstance(node, ast.Name) and not self._leaves_keys(node) else []

    def _again(self, value: ast.expr | None, name: str, depth: int) -> Rows:
        """What a name is bound to: `x = dict(x)` is what it was."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "copy":
            value = value.func.value
        if (
            isinstance(value, ast.Call)
            and len(value.args) == 1
            and not value.keywords
            and _is_name(value.args[0], name)
        ):
            is_copy = isinstance(value.func, ast.Name) and value.func.id in ("dict", "copy", "deepcopy")
            return Rows() if is_copy else _OPEN
        return Rows() if value is not None and _is_name(value, name) else self.keys(value, depth + 1)

    def _set(self, key: ast.expr, value: ast.expr | None, statement: ast.stmt) -> Rows:
        name = self.module.value(key) if self.module is not None else UNKNOWN
        if not isinstance(name, str):
            return _OPEN
        is_always = statement in self._always
        return Rows({name: kind_of_node(value)}) if is_always else Rows(maybe=frozenset({name}))

    def _called(self, call: ast.Call, depth: int) -> list[Rows]:
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr == "update":
            parts = [self.keys(each, depth + 1) for each in call.args]
            parts += [Rows({each.arg: ""}) if each.arg else _OPEN for each in call.keywords]
            found = _joined(parts)
            return [Rows({}, found.maybe.union(found.certain), found.complete)]
        if call.func.attr == "setdefault" and call.args:
            name = literal(call.args[0])
            return [Rows(maybe=frozenset({name})) if isinstance(name, str) else _OPEN]
        return []


def _joined(parts: list[Rows]) -> Rows:
    """All of several, the later ones over the earlier."""
    certain: dict[str, str] = {}
    maybe: set[str] = set()
    for part in parts:
        certain.update(part.certain)
        maybe |= part.maybe
    return Rows(certain, frozenset(maybe.difference(certain)), all(part.complete for part in parts))


def _names_of(node: ast.AST) -> Iterator[str]:
    """The names that a node binds, changes by a subscript or a method, or uses."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.Delete, ast.For, ast.AsyncFor, ast.AugAssign)):
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
        for target in targets:
            for one in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                held = one.value if isinstance(one, ast.Subscript) else one
                if isinstance(held, ast.Name):
                    yield held.id
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            yield node.value.id
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        yield node.func.value.id


def _is_taking(callee: ast.expr, name: str) -> bool:
    is_method = isinstance(callee, ast.Attribute) and callee.attr in ("pop", "popitem", "clear")
    return is_method and isinstance(callee, ast.Attribute) and _is_name(callee.value, name)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
