"""Which names a condition rests on: those that it mentions, and those that decide it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from trl_lint.knowledge.condition_language import CRASH, Block, Evaluation, Mark, World, parse
from trl_lint.knowledge.condition_words import PLAIN
from trl_lint.regexes import regex

_BUILT_IN = frozenset({*PLAIN, "any", "all", "isinstance", "ver", "getattr", "hasattr"})
_WORD = regex(r"[A-Za-z_]\w*")


def deciding(text: str, world: World) -> frozenset[str]:
    """The names (`x`, `base.x`, `arg.x`, `fact()`, `env(NAME)`; `block.x` where a block has it) on which it rests that
    a condition is what it is.

    Of what is true because one of several is, the first that is; of what is true because all are, all; of a crash,
    those of the part that raises and of what leads there.
    """
    tree = parse(text)
    return frozenset() if tree is None else frozenset(_deciding(tree, Evaluation(world)))


@lru_cache(maxsize=4096)
def words_in(text: str) -> tuple[str, ...]:
    """All that looks like a name in a condition, in its order: more than it rests on, and found without parsing it."""
    return tuple(_WORD.findall(text))


def names_in(text: str) -> frozenset[str]:
    """The names that a condition mentions, as `deciding` writes them."""
    tree = parse(text)
    return frozenset() if tree is None else frozenset(_mentioned(tree))


@lru_cache(maxsize=1024)
def dotted_names(text: str) -> tuple[str, ...]:
    """The settings that a condition names, those of blocks by their dotted names (`a.b`, `arg.x`), in its order."""
    tree = parse(text)
    return () if tree is None else tuple(dict.fromkeys(names_of_node(tree)))


def names_of_node(node: ast.AST) -> Iterator[str]:
    """The same of a part of a condition."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            if inner.id not in ("_", "base"):
                yield ".".join((inner.id, *reversed(parts)))
            return
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield from names_of_node(node.func.value)
        is_instance = isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        for part in node.args[:1] if is_instance else node.args:
            yield from names_of_node(part)
        return
    generators = [each for each in getattr(node, "generators", ()) if isinstance(each.target, ast.Name)]
    bound = {each.target.id for each in generators}
    for child in ast.iter_child_nodes(node):
        yield from (name for name in names_of_node(child) if name.partition(".")[0] not in bound)


def _deciding(node: ast.expr, evaluation: Evaluation) -> set[str]:
    if isinstance(node, ast.BoolOp):
        decides = isinstance(node.op, ast.Or)
        for number, part in enumerate(node.values):
            truth = evaluation.truth(part)
            if truth is CRASH:
                return {name for each in node.values[: number + 1] for name in _deciding(each, evaluation)}
            if truth is decides:
                return _deciding(part, evaluation)
        return {name for part in node.values for name in _deciding(part, evaluation)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _deciding(node.operand, evaluation)
    if isinstance(node, ast.IfExp):
        condition = evaluation.truth(node.test)
        if condition is CRASH:
            return _deciding(node.test, evaluation)
        if isinstance(condition, Mark):
            return _deciding(node.body, evaluation) | _deciding(node.orelse, evaluation)
        return _deciding(node.test, evaluation) | _deciding(node.body if condition else node.orelse, evaluation)
    if isinstance(node, ast.Compare):
        if isinstance(node.comparators[0], ast.Name) and node.comparators[0].id == "root":
            return {str(node.left.value)} if isinstance(node.left, ast.Constant) else set()
        return _deciding(node.left, evaluation) | _deciding(node.comparators[0], evaluation)
    if isinstance(node, ast.BinOp):
        return _deciding(node.left, evaluation) | _deciding(node.right, evaluation)
    if isinstance(node, (ast.Attribute, ast.Call)):
        found = _in_block(node, evaluation)
        if found is not None:
            return found
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PLAIN:
            return {name for part in node.args for name in _deciding(part, evaluation)}
    return _mentioned(node)


def _in_block(node: ast.Attribute | ast.Call, evaluation: Evaluation) -> set[str] | None:
    """The dotted name of `block.x` or `block.get("x", …)`, None for other expressions."""
    if isinstance(node, ast.Attribute):
        name, owner = node.attr, node.value
    elif isinstance(node.func, ast.Attribute) and node.args and isinstance(node.args[0], ast.Constant):
        name, owner = str(node.args[0].value), node.func.value
        if node.func.attr != "get":
            return _in_block(owner, evaluation) if isinstance(owner, (ast.Attribute, ast.Call)) else None
    elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, (ast.Attribute, ast.Call)):
        return _in_block(node.func.value, evaluation)
    else:
        return None
    block = evaluation.value(owner)
    return {f"{block.path}.{name}".lstrip(".")} if isinstance(block, Block) else None


def _mentioned(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("base", "arg"):
        return {f"{node.value.id}.{node.attr}"}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        parts = node.args[:1] if node.func.id == "isinstance" else node.args
        return {name for part in parts for name in _mentioned(part)} | _fact(node.func.id, node.args)
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        bound = {each.target.id for each in node.generators if isinstance(each.target, ast.Name)}
        return {name for part in ast.iter_child_nodes(node) for name in _mentioned(part)} - bound
    return {name for part in ast.iter_child_nodes(node) for name in _mentioned(part)}


def _fact(name: str, arguments: list[ast.expr]) -> set[str]:
    if name in _BUILT_IN:
        return set()
    is_variable = name == "env" and arguments and isinstance(arguments[0], ast.Constant)
    return {f"env({ast.literal_eval(arguments[0])})" if is_variable else f"{name}()"}
