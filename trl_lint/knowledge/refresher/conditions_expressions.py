"""Expressions of the source as terms."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from trl_lint.knowledge.refresher.conditions_calls import evaluate_call
from trl_lint.knowledge.refresher.conditions_objects import global_value, read_attribute
from trl_lint.knowledge.refresher.conditions_raw import has_key, is_data, read_key
from trl_lint.knowledge.refresher.conditions_terms import (
    FALSE,
    NO_VALUES,
    NONE,
    TRUE,
    Term,
    bounded,
    choice,
    compare,
    conjunction,
    const,
    disjunction,
    fold,
    is_boolean,
    is_const,
    literal,
    lost,
    negation,
    operation,
    reasons,
    render,
    unknown,
)

if TYPE_CHECKING:
    from trl_lint.knowledge.refresher.conditions_state import Frame

_COMPARISONS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitXor: "^", ast.BitOr: "|", ast.BitAnd: "&",
}  # fmt: skip
_LARGEST_HOLE = 40  # nodes of an expression in a sentence
_MOST_PICKED = 16  # items of a list that is written out, each of which may be in another or not
_DISPLAYS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


def evaluate(node: ast.expr, frame: Frame) -> Term:
    """The value of an expression; raises inside of functions that it calls are told to the machine."""
    known = literal(node)
    if known is not None:
        return known
    if isinstance(node, ast.Name):
        return _name(node.id, frame)
    if isinstance(node, ast.Attribute):
        return read_attribute(evaluate(node.value, frame), node.attr, frame)
    if isinstance(node, ast.BoolOp):
        return _bool_op(node, frame)
    if isinstance(node, ast.Compare):
        return _compare(node, frame)
    if isinstance(node, ast.UnaryOp):
        return _unary(node, frame)
    if isinstance(node, ast.BinOp):
        return _binary(node, frame)
    if isinstance(node, ast.IfExp):
        condition = truth(node.test, frame)
        first = under(condition, node.body, frame)
        return choice(condition, first, under(negation(condition), node.orelse, frame))
    if isinstance(node, ast.Call):
        return evaluate_call(node, frame, evaluate)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return _display(node, frame)
    if isinstance(node, ast.Dict):
        return _dict(node, frame)
    if isinstance(node, ast.Subscript):
        return _item(node, frame)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
        return _comprehension(node, frame)
    if isinstance(node, ast.JoinedStr):
        return text_of(node, frame)
    if isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name):
        frame.names[node.target.id] = value = evaluate(node.value, frame)
        return value
    return unknown(f"{type(node).__name__}")


def truth(node: ast.expr, frame: Frame) -> Term:
    """An expression of which only the truth matters."""
    found = evaluate(node, frame)
    if found.operator in ("object", "class", "function", "module"):
        return TRUE
    if found.operator == "picked":
        return disjunction(list(found.parts[::2]))
    return found


def under(condition: Term, node: ast.expr, frame: Frame) -> Term:
    """The value of what is only evaluated where a condition holds."""
    if is_const(condition) and not condition.parts[0]:
        return NONE
    frame.machine.path.append(condition)
    try:
        return evaluate(node, frame)
    finally:
        frame.machine.path.pop()


def _name(name: str, frame: Frame) -> Term:
    found = frame.names.get(name)
    return found if found is not None else global_value(frame.machine, frame.module, name)


def _bool_op(node: ast.BoolOp, frame: Frame) -> Term:
    is_and = isinstance(node.op, ast.And)
    found: list[Term] = []
    entered = len(frame.machine.path)
    for number, part in enumerate(node.values):
        term = evaluate(part, frame)
        if term.operator == "picked":
            term = disjunction(list(term.parts[::2]))
        if term.operator in ("object", "class", "function", "module"):
            if number == len(node.values) - 1 and not is_and and not found:
                break
            term = TRUE if is_and or number < len(node.values) - 1 else unknown("an object as a value")
        found.append(term)
        if is_const(term) and bool(term.parts[0]) is not is_and:
            break
        frame.machine.path.append(term if is_and else negation(term))
    del frame.machine.path[entered:]
    if all(map(is_boolean, found)):
        return conjunction(found) if is_and else disjunction(found)
    # The value is that of an operand: what decides nothing may go, but for the last.
    kept = [t for t in found[:-1] if not is_const(t)] + found[-1:]
    return kept[0] if len(kept) == 1 else bounded(Term("and" if is_and else "or", *kept))


def _compare(node: ast.Compare, frame: Frame) -> Term:
    left = evaluate(node.left, frame)
    found = []
    for operator, right_node in zip(node.ops, node.comparators, strict=True):
        right = evaluate(right_node, frame)
        found.append(_compared(operator, left, right, frame))
        left = right
    return conjunction(found) if len(found) > 1 else found[0]


def _compared(operator: ast.cmpop, left: Term, right: Term, frame: Frame) -> Term:
    if is_data(right, frame) and isinstance(operator, (ast.In, ast.NotIn)):
        found = has_key(frame.machine, left)
        return found if isinstance(operator, ast.In) else negation(found)
    words = _COMPARISONS[type(operator)]
    if frame.machine.reads_dict and is_const(right) and isinstance(right.parts[0], str):
        words = {"is": "==", "is not": "!="}.get(words, words)  # a member of an enum stands for its value
    return compare(words, left, right)


def _unary(node: ast.UnaryOp, frame: Frame) -> Term:
    if isinstance(node.op, ast.Not):
        return negation(truth(node.operand, frame))
    value = evaluate(node.operand, frame)
    if isinstance(node.op, ast.USub):
        if is_const(value) and isinstance(value.parts[0], (int, float)):
            return const(-value.parts[0])
        return operation("negative", value)
    return unknown("an operator")


def _binary(node: ast.BinOp, frame: Frame) -> Term:
    left, right = evaluate(node.left, frame), evaluate(node.right, frame)
    operator = _OPERATORS.get(type(node.op))
    if operator is None:
        return unknown("an operator")
    if operator == "|" and {left.operator, right.operator} <= {"class", "union"}:
        return Term("union", *(left.parts if left.operator == "union" else [left]), right)
    if "text" in (left.operator, right.operator) and operator == "+":
        return Term("text", left, right)
    if operator == "%" and is_const(left) and isinstance(left.parts[0], str):
        return Term("text", left)
    if is_const(left) and is_const(right):
        folded = fold(f"({left.parts[0]!r}) {operator} ({right.parts[0]!r})")
        if folded is not None:
            return folded
    return operation("binary", left, right, names=(operator,))


def _display(node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Term:
    if any(isinstance(item, ast.Starred) for item in node.elts):
        return unknown("a starred item")
    items = [evaluate(item, frame) for item in node.elts]
    kind = _DISPLAYS[type(node)]
    # A class in a tuple is what isinstance is asked with: the tuple is kept, and can be nothing else.
    return bounded(Term(kind, *items))


def _dict(node: ast.Dict, frame: Frame) -> Term:
    parts: list[Term] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            return unknown("a dict made of others")
        parts += [evaluate(key, frame), evaluate(value, frame)]
    return bounded(Term("dict", *parts))


def _item(node: ast.Subscript, frame: Frame) -> Term:
    value = evaluate(node.value, frame)
    if isinstance(node.slice, ast.Slice):
        return unknown("a slice")
    key = evaluate(node.slice, frame)
    if value == Term("fact", "environment"):
        return operation("fact", key, names=("env",))
    if is_data(value, frame):
        return read_key(frame.machine, key)
    if value.operator in ("list", "tuple") and is_const(key) and isinstance(key.parts[0], int):
        items = value.parts
        return items[key.parts[0]] if -len(items) <= key.parts[0] < len(items) else unknown("an item that is not there")
    if value.operator == "dict" and is_const(key):
        for name, item in zip(value.parts[::2], value.parts[1::2], strict=True):
            if name == key:
                return item  # type: ignore[no-any-return]
    return operation("item", value, key)


def _comprehension(node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> Term:
    first = node.generators[0]
    if len(node.generators) > 1 or not isinstance(first.target, ast.Name):
        return unknown("a comprehension over several names")
    items = evaluate(first.iter, frame)
    if frame.machine.reads_dict and items.operator in ("list", "tuple") and len(items.parts) <= _MOST_PICKED:
        return _picked(node, first, items, frame)
    outer = dict(frame.names)
    frame.variables += 1
    variable = f"e{frame.variables}"
    frame.names[first.target.id] = Term("variable", variable)
    condition = conjunction([truth(each, frame) for each in first.ifs])
    element = evaluate(node.elt, frame)
    frame.names = outer
    frame.variables -= 1
    return each_of("list", element, variable, items, condition)


def _picked(
    node: ast.ListComp | ast.GeneratorExp | ast.SetComp, first: ast.comprehension, items: Term, frame: Frame
) -> Term:
    """A comprehension over items that are written out: a list, or `picked` with the condition of each element."""
    assert isinstance(first.target, ast.Name)
    outer, found = dict(frame.names), []
    for item in items.terms:
        frame.names[first.target.id] = item
        condition = conjunction([truth(each, frame) for each in first.ifs])
        found += [condition, evaluate(node.elt, frame)]
    frame.names = outer
    if all(condition == TRUE for condition in found[::2]):
        return bounded(Term("list", *found[1::2]))
    return bounded(Term("picked", *found))


def each_of(shape: str, element: Term, variable: str, items: Term, condition: Term) -> Term:
    """`shape(element for variable in items if condition)`."""
    for part in (element, items, condition):
        if part.operator == "unknown":
            return lost(part)
        if part.operator in ("object", "class", "function", "module", "text"):
            return unknown("an object as a value")
    if shape == "any" and element == FALSE:
        return FALSE
    return bounded(Term("each", shape, element, variable, items, condition))


def text_of(node: ast.JoinedStr, frame: Frame) -> Term:
    parts: list[Term] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            parts.append(evaluate(part.value, frame))
        elif isinstance(part, ast.Constant):
            parts.append(const(part.value))
    if all(is_const(part) for part in parts):
        return const("".join(str(part.parts[0]) for part in parts))
    return Term("text", *parts)


def sentence_of(term: Term, computes: bool = False) -> str:
    """A text with `{field}` for what a field gives and `{}` for other values; braces of its own are doubled.

    `computes`: short expressions stand in it, too, for whoever knows the fields.
    """
    if is_const(term):
        return str(term.parts[0]).replace("{", "{{").replace("}", "}}")
    if term.operator == "text":
        return "".join(sentence_of(part, computes) for part in term.parts)
    if term.operator in ("field", "base"):
        return f"{{{term.parts[0]}}}"
    if computes and term.size <= _LARGEST_HOLE and term.operator not in NO_VALUES and not reasons(term):
        text = render(term)
        return f"{{{text}}}" if "{" not in text else "{}"
    return "{}"
