"""Statements in order, branches joined, loops run to a bounded fixed point. Expressions are the domain's business."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from operator import is_not
from typing import Generic, Protocol, TypeVar

from trl_lint import budget
from trl_lint.python.module import PythonModule, nodes_in

V = TypeVar("V")
Env = dict[str, V]

# Most loop bodies settle in two rounds. What still changes after these is given up, so that a long chain of names ends.
_LOOP_ROUNDS = 3
# Every branch and loop looks at every name, so a very long function would take the square of its length.
_MOST_NAMES = 5_000_000


def too_intricate(module: PythonModule, root: ast.AST, most: int) -> None:
    """Say that a function, or the statements of a module, could not be followed to the end."""
    start = module.location(root).start if isinstance(root, ast.stmt) else 0
    what = "what a function does with its tensors takes more than {} steps, and was not followed"
    budget.limit(most, what, module.path, start)


class Domain(Protocol[V]):
    """What an analysis brings: values, how they join, and what an expression evaluates to."""

    def evaluate(self, node: ast.expr, env: Env[V]) -> V: ...
    def join(self, left: V, right: V) -> V: ...
    def element(self, value: V) -> V:
        """The value of one item of an iterable value."""
        ...

    def part(self, value: V, index: int, count: int) -> V:
        """Item `index` of a value that is unpacked into `count` targets."""
        ...

    def unknown(self) -> V: ...
    def returns(self, node: ast.expr, value: V) -> None:
        """Called with the value of every `return`."""
        ...

    def assigned(self, target: ast.expr, value: V, env: Env[V]) -> None:
        """Called for every target that is no plain name (an item, an attribute), after it has got its value."""
        ...

    def enters(self, test: ast.expr) -> bool:
        """Whether the analysis wants to see the branches of this test; what they assign is unknown if not."""
        ...

    def opens(self, node: ast.With | ast.AsyncWith) -> object:
        """Called before the body of a `with`; what it returns is given to `closes` after the body."""
        ...

    def closes(self, state: object) -> None: ...
    def repeats(self, node: ast.For | ast.AsyncFor | ast.While, env: Env[V]) -> None:
        """Called before each round of a loop; what the round before left is in the environment."""
        ...


class Plain(Generic[V]):
    """The hooks that most analyses have no use for."""

    def returns(self, node: ast.expr, value: V) -> None:
        """Nothing is asked about results."""

    def opens(self, node: ast.With | ast.AsyncWith) -> object:
        return None

    def closes(self, state: object) -> None:
        """Nothing was opened."""

    def repeats(self, node: ast.For | ast.AsyncFor | ast.While, env: Env[V]) -> None:
        """A value is the same in every round."""


class Interpreter(Generic[V]):
    """Runs a function body over an environment that maps dotted names (`x`, `self.x`) to values."""

    def __init__(self, domain: Domain[V]) -> None:
        self.domain = domain
        # The names that may have attributes in an environment: only for those is it searched when they are assigned.
        self._owners: set[str] = {"self", "cls"}
        self._is_running = False
        self._names = 0  # that were looked at where branches meet

    def run(self, body: Sequence[ast.stmt], env: Env[V]) -> Env[V] | None:
        """Execute statements; the environment after them, or None where control cannot get past them."""
        if not self._is_running:
            self._is_running = True
            for name in env:
                self._owners.update(owners(name))
        current: Env[V] | None = env
        for statement in body:
            if current is None:
                return None
            current = self._statement(statement, current)
        return current

    def _statement(self, node: ast.stmt, env: Env[V]) -> Env[V] | None:
        evaluate = self.domain.evaluate
        if isinstance(node, ast.Assign):
            value = evaluate(node.value, env)
            for target in node.targets:
                self._assign(target, value, env)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign(node.target, evaluate(node.value, env), env)
        elif isinstance(node, ast.AugAssign):
            operation = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
            self._assign(node.target, evaluate(operation, env), env)
        elif isinstance(node, (ast.Expr, ast.Return)):
            result = evaluate(node.value, env) if node.value is not None else None
            if isinstance(node, ast.Return):
                if node.value is not None and result is not None:
                    self.domain.returns(node.value, result)
                return None
        elif isinstance(node, (ast.Raise, ast.Continue, ast.Break)):
            return None
        elif isinstance(node, ast.If):
            evaluate(node.test, env)
            return self._branches(node, env)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            value = evaluate(node.iter, env)
            items = self.items(value)
            return self._turns(node, env, items) if items else self._loop(node, env, self.domain.element(value))
        elif isinstance(node, ast.While):
            evaluate(node.test, env)
            return self._loop(node, env, None)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for entry in node.items:
                value = evaluate(entry.context_expr, env)
                if entry.optional_vars is not None:
                    self._assign(entry.optional_vars, value, env)
            opened = self.domain.opens(node)
            end = self.run(node.body, env)
            self.domain.closes(opened)
            return end
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self._try(node, env)  # type: ignore[arg-type]
        elif isinstance(node, ast.Match):
            evaluate(node.subject, env)
            ends = [self.run(case.body, self._without(env, captured(case.pattern))) for case in node.cases]
            return self._joined([env, *ends])
        elif isinstance(node, ast.Assert):
            evaluate(node.test, env)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                env.pop(dotted(target) or "", None)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
            return self._without(env, self.rebound(node))
        return env

    def _branches(self, node: ast.If, env: Env[V]) -> Env[V] | None:
        if not self.domain.enters(node.test):
            stored = [
                name for body in (node.body, node.orelse) for statement in body for name in self.rebound(statement)
            ]
            return self._without(env, stored)
        return self._joined([self.run(body, dict(env)) for body in (node.body, node.orelse)])

    def rebound(self, statement: ast.stmt) -> Iterable[str]:
        """The names that a statement may bind, whatever comes of it."""
        return rebound(statement)

    def items(self, value: V) -> Sequence[V]:
        """The items of an iterable whose items are known one by one; none where they are not."""
        return ()

    def _turns(self, node: ast.For | ast.AsyncFor, env: Env[V], items: Sequence[V]) -> Env[V] | None:
        """A loop over a literal: one turn for each item, each of which may have been cut short."""
        current = env
        is_cut = any(isinstance(inner, (ast.Break, ast.Continue)) for inner in ast.walk(node))
        for item in items:
            inside = dict(current)
            self._assign(node.target, item, inside)
            after = self.run(node.body, inside)
            if after is None or is_cut:
                after = self._joined([dict(current), after])
            current = after if after is not None else current
        return self.run(node.orelse, current)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, env: Env[V], item: V | None) -> Env[V] | None:
        current = env
        rounds = 0
        while True:
            inside = dict(current)
            self.domain.repeats(node, inside)
            if item is not None:
                self._assign(node.target, item, inside)  # type: ignore[union-attr]
            after = self._joined([dict(current), self.run(node.body, inside)])
            if after is None or after == current:
                break
            rounds += 1
            if rounds > _LOOP_ROUNDS:
                after = self._without(after, [name for name in after if after[name] != current.get(name)])
            current = after
        return self.run(node.orelse, current)

    def _try(self, node: ast.Try, env: Env[V]) -> Env[V] | None:
        before = dict(env)
        body = self.run([*node.body, *node.orelse], env)
        # A handler may be entered after any statement of the body: it sees the join of before and after.
        ends = [body]
        for handler in node.handlers:
            start = self._joined([dict(before), dict(body) if body is not None else None]) or dict(before)
            if handler.name is not None:
                start = self._without(start, [handler.name])
            ends.append(self.run(handler.body, start))
        joined = self._joined(ends)
        return joined if joined is None else self.run(node.finalbody, joined)

    def _without(self, env: Env[V], names: Iterable[str]) -> Env[V]:
        """The environment with these names, and what hangs on them, unknown."""
        found = dict(env)
        for name in names:
            self._drop_attributes(name, found)
            found[name] = self.domain.unknown()
        return found

    def _drop_attributes(self, name: str, env: Env[V]) -> None:
        """Forget what hangs on a name; most names have nothing, and a long function has many."""
        if name in self._owners:
            for key in [key for key in env if key.startswith(name + ".")]:
                del env[key]

    def _joined(self, ends: Sequence[Env[V] | None]) -> Env[V] | None:
        alive = [end for end in ends if end is not None]
        if not alive:
            return None
        self._names += sum(map(len, alive))
        if self._names > _MOST_NAMES:
            raise RecursionError("too many names")
        first, *rest = alive
        for other in rest:
            # What no branch touched is the same object in all of them, and found so without a comparison of values.
            changed = list(compress(other, map(is_not, map(first.get, other), other.values())))
            if len(first) + sum(name not in first for name in changed) != len(other):
                changed += first.keys() - other.keys()
            for name in changed:
                if name in first and name in other:
                    if first[name] != other[name]:
                        first[name] = self.domain.join(first[name], other[name])
                else:
                    first[name] = self.domain.unknown()
        return first

    def _assign(self, target: ast.expr, value: V, env: Env[V]) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            count = len(target.elts)
            is_starred = any(isinstance(item, ast.Starred) for item in target.elts)
            for index, item in enumerate(target.elts):
                if isinstance(item, ast.Starred):
                    self._assign(item.value, self.domain.unknown(), env)
                else:
                    part = self.domain.element(value) if is_starred else self.domain.part(value, index, count)
                    self._assign(item, part, env)
            return
        name = dotted(target)
        if name is None:
            self.domain.assigned(target, value, env)
            return
        self._drop_attributes(name, env)  # those of the object that had this name before
        self._owners.update(owners(name))
        env[name] = value
        if not isinstance(target, ast.Name):
            self.domain.assigned(target, value, env)


def owners(name: str) -> Iterator[str]:
    """The objects that a dotted name is an attribute of: `a` and `a.b` of `a.b.c`."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def rebound(statement: ast.stmt) -> Iterator[str]:
    """The dotted names a statement may bind: assigned anywhere in it, imported, defined, or shared with a closure."""
    is_scope = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    for node in nodes_in(statement):
        if isinstance(node, (ast.Nonlocal, ast.Global)):
            yield from node.names
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and not is_scope:
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            name = dotted(node)
            # A local name of an inner function is not ours, an attribute of a shared object is.
            if name is not None and not (is_scope and isinstance(node, ast.Name)):
                yield name.removesuffix(".data")


def captured(pattern: ast.pattern) -> Iterator[str]:
    """The names that a pattern of a `match` binds."""
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            yield name


def dotted(node: ast.expr) -> str | None:
    """The dotted name of `a.b.c`, None for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))
