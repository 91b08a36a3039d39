"""Defaults as short text: a Python literal where the value is known, else the expression between backquotes.

`*` is a parameter without a default. A bar never occurs inside a value: the histories separate releases with it.
"""

from __future__ import annotations

import ast

REQUIRED = "*"
_LONGEST_LITERAL = 160  # characters; a longer value is one that is not known
_LONGEST_EXPRESSION = 60  # characters that are kept, with dots for the others
# Calls that give their argument back, in other clothes (DeepSpeed: an int that prints as 5e8).
_TRANSPARENT_CALLS = {"pp_int"}


def encode(value: object) -> str:
    """The text of a literal value."""
    text = repr(value)
    if len(text) > _LONGEST_LITERAL:
        return expression(text)
    return text.replace("|", "\\x7c") if "'" in text or '"' in text else text


def _is_stable(value: object) -> bool:
    """Whether repr gives the same text in every run: that of a set of strings does not."""
    if isinstance(value, dict):
        return all(map(_is_stable, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_stable, value))
    return not isinstance(value, (set, frozenset)) or len(value) < 2


def expression(text: str) -> str:
    """Source text between backquotes, cut where it is long: the text of a value that is not known."""
    text = " ".join(text.replace("|", "¦").replace("`", "'").split())
    return f"`{text[:_LONGEST_EXPRESSION]}…`" if len(text) > _LONGEST_EXPRESSION else f"`{text}`"


def encode_node(node: ast.expr | None, constants: dict[str, ast.expr]) -> str:
    """The text of a default; `constants` are the names a module assigns exactly once at its top level."""
    if node is None or (isinstance(node, ast.Constant) and node.value is ...):
        return REQUIRED
    try:
        value = ast.literal_eval(node)
        return encode(value) if _is_stable(value) else expression(ast.unparse(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    if isinstance(node, ast.Name) and node.id in constants:
        known = encode_node(constants[node.id], {})
        return known if is_literal(known) else expression(node.id)
    if isinstance(node, ast.Call) and last_name(node.func) in _TRANSPARENT_CALLS and len(node.args) == 1:
        return encode_node(node.args[0], constants)
    if isinstance(node, ast.Call) and last_name(node.func) == "get_field" and len(node.args) == 2:
        # vLLM's way to spell the default of another dataclass's field.
        owner, field = node.args
        if isinstance(owner, ast.Name) and isinstance(field, ast.Constant):
            return expression(f"{owner.id}.{read_string(field)}")
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Pow, ast.Add, ast.Sub)):
        left, right = (encode_node(side, constants) for side in (node.left, node.right))
        if is_number(left) and is_number(right):
            return encode(_arithmetic(node.op, ast.literal_eval(left), ast.literal_eval(right)))
    return expression(ast.unparse(node))


def _arithmetic(operator: ast.operator, left: float, right: float) -> float:
    if isinstance(operator, ast.Mult):
        return left * right
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    return float("nan") if abs(right) > 64 else left**right


def is_literal(text: str) -> bool:
    """Whether an encoded default is a known value."""
    return text != REQUIRED and not text.startswith("`")


def is_number(text: str) -> bool:
    return text[:1].isdigit() or (text[:1] == "-" and text[1:2].isdigit())


def read_string(node: ast.AST | None) -> str:
    """The text of a string constant, "" for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name, "" for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.expr) -> str:
    """A dotted name as text, "" for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""
