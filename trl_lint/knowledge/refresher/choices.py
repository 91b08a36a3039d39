"""Which texts a function of a release knows of a field: an `if` chain over them whose last `else` raises.

    if self.loss_type in ["grpo", "sapo"]: …
    elif self.loss_type == "bnpo": …
    else: raise ValueError(…)

says that `loss_type` is one of three. Only chains that ask for one name throughout are read; what any chain of a
function refuses is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from trl_lint.records import NamedTuple


class Choice(NamedTuple):
    """What a function knows: `holder` is its class, or its own name; `name` the field; `when` the switches around."""

    holder: str
    name: str
    values: tuple[str, ...]
    method: str
    when: tuple[str, ...]


def choices_of(trees: Mapping[str, ast.Module]) -> list[Choice]:
    """The choices of the modules of a release, in the order of their names and of the text."""
    found: list[Choice] = []
    for name in sorted(trees):
        for node in trees[name].body:
            if isinstance(node, ast.ClassDef):
                for member in node.body:
                    if isinstance(member, ast.FunctionDef):
                        found += (Choice(node.name, *one) for one in _in_function(member))
            elif isinstance(node, ast.FunctionDef):
                found += (Choice(node.name, *one) for one in _in_function(node))
    return found


_Found = tuple[str, tuple[str, ...], str, tuple[str, ...]]


def _in_function(function: ast.FunctionDef) -> Iterator[_Found]:
    yield from _in_block(function.body, function.name, ())


def _in_block(block: list[ast.stmt], method: str, when: tuple[str, ...]) -> Iterator[_Found]:
    for statement in block:
        if isinstance(statement, ast.If):
            chain = _chain(statement)
            if chain is not None:
                yield (*chain, method, when)
                for branch in _branches(statement):
                    yield from _in_block(branch, method, (*when, "?"))
                continue
            switch = _name_of(statement.test) or "?"
            yield from _in_block(statement.body, method, (*when, switch))
            yield from _in_block(statement.orelse, method, (*when, "?"))
        elif isinstance(statement, (ast.For, ast.While, ast.With, ast.Try)):
            inner = "?" if isinstance(statement, (ast.Try, ast.While)) else ""
            yield from _in_block(statement.body, method, (*when, *[inner] * bool(inner)))


def _branches(statement: ast.If) -> Iterator[list[ast.stmt]]:
    yield statement.body
    rest = statement.orelse
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        yield rest[0].body
        rest = rest[0].orelse


def _chain(statement: ast.If) -> tuple[str, tuple[str, ...]] | None:
    """The name and the values of a chain that ends in a `raise`; None for any other statement."""
    name, values = "", []
    now: ast.If | None = statement
    while now is not None:
        link = _link(now.test)
        if link is None or (name and link[0] != name):
            return None
        name = link[0]
        values += link[1]
        rest = now.orelse
        if len(rest) == 1 and isinstance(rest[0], ast.If):
            now = rest[0]
            continue
        if not rest or not isinstance(rest[-1], ast.Raise):
            return None
        now = None
    return name, tuple(dict.fromkeys(values))


def _link(test: ast.expr) -> tuple[str, list[str]] | None:
    """The name and the values of `x == "a"`, `x in ["a", "b"]` or several of them with `or`; None for anything else."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        links = [_link(value) for value in test.values]
        if any(link is None for link in links):
            return None
        known = [link for link in links if link is not None]
        return (known[0][0], [v for _, vs in known for v in vs]) if len({n for n, _ in known}) == 1 else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    name = _name_of(test.left)
    right = test.comparators[0]
    items = [right] if isinstance(test.ops[0], ast.Eq) else None
    if isinstance(test.ops[0], ast.In) and isinstance(right, (ast.List, ast.Tuple, ast.Set)):
        items = right.elts
    if not name or items is None:
        return None
    texts = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return (name, texts) if len(texts) == len(items) else None


def _name_of(node: ast.expr) -> str:
    """The last name of `self.x`, `args.x`, `self.args.x` or `x`; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (isinstance(node.value, ast.Name) or _name_of(node.value)):
        return node.attr
    return ""
