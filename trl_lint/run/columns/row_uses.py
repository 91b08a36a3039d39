"""Whether a use of a row leaves its keys as they are: it is read, or handed to a function that only reads it."""

from __future__ import annotations

import ast

from trl_lint.memos import per_module
from trl_lint.python.guards import functions_named, key_of
from trl_lint.python.module import FunctionNode, PythonModule, nodes_in
from trl_lint.run.trainer.made import Stay

_DEEP = 3  # helpers of helpers
READING = frozenset({"get", "keys", "items", "values", "copy"})
CHANGING = frozenset({"update", "setdefault", "pop", "popitem", "clear"})
_READERS = frozenset(
    {
        "all", "any", "bool", "deepcopy", "dict", "enumerate", "format", "frozenset", "hash", "id", "isinstance",
        "iter", "len", "list", "pprint", "print", "repr", "set", "sorted", "str", "tuple", "type", "zip",
    }
)  # fmt: skip
# Names of loggers and of modules whose functions read what they are given.
_READING_OWNERS = frozenset({"copy", "json", "log", "logger", "logging", "pprint", "warnings"})


def leaves_keys(module: PythonModule, use: ast.expr, is_read_alone: bool = False, depth: int = 0) -> bool:
    """Whether a use of a row changes none of its keys, or in a way that its own statements show.

    `is_read_alone`: what sets or takes keys, binds another name to the row or gives it back counts as a change as well.
    """
    parent = module.parents[use]
    if isinstance(parent, ast.Subscript):
        return parent.slice is use or isinstance(parent.ctx, ast.Load) or not is_read_alone
    if isinstance(parent, ast.Attribute):
        call = module.parents[parent]
        is_called = isinstance(call, ast.Call) and call.func is parent
        return is_called and (parent.attr in READING or (parent.attr in CHANGING and not is_read_alone))
    if isinstance(parent, ast.Call):
        return parent.func is not use and _is_read_by(module, parent, use, depth)
    if isinstance(parent, ast.keyword):
        call = module.parents[parent]
        return parent.arg is None or (isinstance(call, ast.Call) and _is_read_by(module, call, use, depth))
    if isinstance(parent, ast.IfExp) and parent.test is not use:
        return leaves_keys(module, parent, is_read_alone, depth)
    if isinstance(parent, (ast.BoolOp, ast.Await)):
        return leaves_keys(module, parent, is_read_alone, depth)
    if isinstance(parent, ast.Dict):
        return any(key is None and value is use for key, value in zip(parent.keys, parent.values, strict=True))
    if isinstance(parent, ast.Assign):
        is_renamed = isinstance(use, ast.Name) and all(isinstance(target, ast.Name) for target in parent.targets)
        return is_renamed and not is_read_alone
    if isinstance(parent, (ast.Return, ast.Yield, ast.Lambda)):
        return not is_read_alone
    return isinstance(
        parent,
        (
            ast.Compare, ast.FormattedValue, ast.UnaryOp, ast.If, ast.IfExp, ast.While, ast.Assert, ast.For,
            ast.comprehension, ast.Starred, ast.Expr, ast.BinOp, ast.AugAssign,
        ),
    )  # fmt: skip


def leaves_rows(stay: Stay) -> bool:
    """Whether no loop over a list of rows, under a name that it has, changes the keys of one of them."""
    return stay.owner not in _loops_that_change(stay.frame.module)


@per_module
def _loops_that_change(module: PythonModule) -> frozenset[str]:
    """The names that stand behind `in` of a loop whose body may change a key of what it goes through."""
    found: set[str] = set()
    for loop in module.of(ast.For):
        targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
        uses = [
            node
            for statement in loop.body
            for node in nodes_in(statement)
            if isinstance(node, ast.Name) and node.id in targets
        ]
        if not all(isinstance(use.ctx, ast.Load) and leaves_keys(module, use, True) for use in uses):
            found |= {key_of(node) for node in ast.walk(loop.iter) if isinstance(node, (ast.Name, ast.Attribute))}
    return frozenset(found)


def _is_read_by(module: PythonModule, call: ast.Call, use: ast.expr, depth: int) -> bool:
    """Whether a call only reads one of its arguments."""
    name = key_of(call.func)
    if name in _READERS or ("." in name and name.partition(".")[0] in _READING_OWNERS):
        return True
    owner, _, short = name.rpartition(".")
    found = functions_named(module, short) if owner in ("", "self", "cls") else []
    if len(found) != 1 or depth >= _DEEP:
        return False
    parameter = _parameter(found[0], call, use, 1 if owner else 0)
    return parameter is not None and _only_reads(module, found[0], parameter, depth + 1)


def _parameter(function: FunctionNode, call: ast.Call, use: ast.expr, offset: int) -> str | None:
    """The name of the parameter that gets an argument; None where that is not certain."""
    spec = function.args
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    for index, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            return None
        if argument is use:
            return positional[index + offset] if index + offset < len(positional) else None
    names = [keyword.arg for keyword in call.keywords if keyword.value is use]
    named = {*positional, *(arg.arg for arg in spec.kwonlyargs)}
    return names[0] if len(names) == 1 and names[0] in named else None


@per_module
def _only_reads(module: PythonModule, function: FunctionNode, name: str, depth: int) -> bool:
    """Whether a function of the module leaves the keys of one parameter as they are, and keeps it nowhere."""
    return all(
        isinstance(node.ctx, ast.Load) and leaves_keys(module, node, True, depth)
        for statement in function.body
        for node in nodes_in(statement)
        if isinstance(node, ast.Name) and node.id == name
    )
