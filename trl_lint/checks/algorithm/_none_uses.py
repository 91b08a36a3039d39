"""What a reward function reads out of an answer, and uses as if it were always there: `extract(text).strip()`."""

from __future__ import annotations

import ast

from trl_lint.checks.algorithm._reward_functions import function_named, is_tested, made_once, returns_none
from trl_lint.memos import per_module
from trl_lint.project import Project
from trl_lint.python.guards import key_of, last_name
from trl_lint.python.module import FunctionNode, PythonModule, own_nodes
from trl_lint.records import NamedTuple

# What the frameworks call the answers that they pass.
_ANSWERS = frozenset({"completions", "completion", "queries", "solution_str", "solution_strs", "response", "responses"})
_MATCHES = frozenset({"re.search", "re.match", "re.fullmatch"})
_NUMBERS = frozenset({"float", "int", "len"})
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


class NoneUse(NamedTuple):
    """Where something that may be None is used: the place, what gives it and how it is used, as they are written."""

    place: ast.expr
    maker: str
    use: str
    error: str

    @property
    def message(self) -> str:
        return (
            f"stops the run ({self.error}) at the first answer for which `{self.maker}` gives None: {self.use} of "
            "that; ask for None first"
        )


@per_module
def none_use(module: PythonModule, function: FunctionNode, project: Project) -> NoneUse | None:
    """The first place where a function uses what may be None for an answer, without a test, outside of a `try`."""
    answers = _answers(function)
    if not answers:
        return None
    for node in own_nodes(function):
        for value, use, error in _uses(node):
            maker = _maker(value, module, function, project, answers)
            if maker and not _is_guarded(module, function, value):
                assert isinstance(node, ast.expr)
                return NoneUse(node, maker, use, error)
    return None


def _uses(node: ast.AST) -> list[tuple[ast.expr, str, str]]:
    """What a node needs to be no None, the way in which it does, and the error."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        return [(node.value, f".{node.attr}", "AttributeError")]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NUMBERS:
        return [(node.args[0], f"{node.func.id}()", "TypeError")] if len(node.args) == 1 else []
    if isinstance(node, ast.Subscript):
        return [(node.value, "[…]", "TypeError")]
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
        return [(side, "arithmetic", "TypeError") for side in (node.left, node.right)]
    return []


def _maker(value: ast.expr, module: PythonModule, function: FunctionNode, project: Project, answers: set[str]) -> str:
    """What makes a value that may be None for an answer, as it is called; "" where nothing certainly does."""
    if isinstance(value, ast.Name):
        made = made_once(function, value.id)
        return "" if made is None or is_tested(module, function, value.id) else _called(made, module, project, answers)
    return _called(value, module, project, answers)


def _called(value: ast.expr, module: PythonModule, project: Project, answers: set[str]) -> str:
    if not isinstance(value, ast.Call) or not any(_names(one) & answers for one in value.args):
        return ""
    name = key_of(value.func)
    if name in _MATCHES:
        return name
    helper = function_named(module, value.func, project)
    return name if helper is not None and returns_none(helper[1]) else ""


def _answers(function: FunctionNode) -> set[str]:
    """The names that hold answers of the model, or parts of them."""
    spec = function.args
    found = {arg.arg for arg in (*spec.args, *spec.kwonlyargs)} & _ANSWERS
    before = -1
    while found and len(found) != before:  # each round finds a name more, or is the last
        before = len(found)
        for node in own_nodes(function):
            if isinstance(node, ast.Assign):
                pairs = [(target, node.value) for target in node.targets]
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                pairs = _looped(node.target, node.iter)
            else:
                continue
            found |= {name for target, value in pairs if _names(value) & found for name in _stored(target)}
    return found


def _looped(target: ast.expr, source: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    is_zip = isinstance(source, ast.Call) and last_name(source.func) == "zip" and isinstance(target, ast.Tuple)
    if (
        is_zip
        and isinstance(target, ast.Tuple)
        and isinstance(source, ast.Call)
        and len(target.elts) == len(source.args)
    ):
        return list(zip(target.elts, source.args, strict=True))
    return [(target, source)]


def _names(node: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _stored(target: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _is_guarded(module: PythonModule, function: FunctionNode, node: ast.AST) -> bool:
    """Whether a test or a `try` stands around a use; what is used in the test itself is not guarded by it."""
    child = node
    for parent in module.ancestors(node):
        if parent is function:
            return False
        if isinstance(parent, (ast.If, ast.IfExp, ast.While)):
            is_around = child is not parent.test
        elif isinstance(parent, ast.BoolOp):
            is_around = child is not parent.values[0]
        elif isinstance(parent, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            is_around = any(one.ifs for one in parent.generators)
        else:
            is_around = isinstance(parent, (ast.Try, ast.Match, ast.With, ast.AsyncWith))
        if is_around:
            return True
        child = parent
    return True
